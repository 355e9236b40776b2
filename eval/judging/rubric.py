"""Score an answer by the points of a rubric or the order of what it tells (BEAM, Tavakoli et al. 2025), or by criteria.

A judge gives each point 0, .5 or 1, and the score is their mean. Where events are to be told in order, a judge says
which event each line of the answer tells of; the score is the F1 of lines and events, times Kendall's tau-b of the two
orders brought to 0..1 (`final_score` of `event_ordering_score` in the authors' `evaluation.py`, without blank lines).
What they report is that tau-b alone, with blank lines: `tau_norm`. Their script cuts .5 off to 0 in
most abilities; here it counts. A benchmark's own criteria get 0, .5 or 1 each, all in one reply. The prompts are our
own.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from jinja2 import Environment, StrictUndefined

from eval.types import Prediction, Probe
from graph.models.json_replies import REASONING, UnusableReply, quoted
from memory import read_table

TEXTS: Mapping[str, Any] = read_table(__file__, "prompts.toml")
NO_ANSWER = "(no answer was given)"

SCORES = (0, 0.5, 1)

_SCORE: Mapping[str, Any] = {"type": "number", "enum": list(SCORES)}
POINT_SCHEMA: Mapping[str, Any] = {"type": "object", "properties": {"score": _SCORE}}

OBJECT = re.compile(r"\{.*\}", re.DOTALL)

POINT_TOKENS, LINE_TOKENS = 64, 6
"""Most tokens of a reply about a point, and so many more for each line of an answer; a number takes 3."""

CRITERION_TOKENS = 32
"""Most tokens of a reply for each criterion; a name and a number take some 10."""

Ask = Callable[[str, Mapping[str, Any], int], str]
"""Sends a prompt with the schema of the reply and its most tokens; returns the reply."""


_TEMPLATES = Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
_TEMPLATES.filters["quoted"] = quoted


def fill_in(prompt: str, **values: object) -> str:
    """A prompt from its template, whose filter `quoted` keeps a text from ending its line."""
    return _TEMPLATES.from_string(prompt).render(values)


def score(probe: Probe, prediction: Prediction, ask: Ask) -> tuple[float, str, dict[str, float | None]]:
    """The score of an answer, in 0..1, the judge's replies in a line, and what its authors report of an order.

    Raises `UnusableReply` at the first reply that cannot be read; its message is the reply.
    """
    if probe.gold.in_order:
        return _score_order(probe, prediction, ask)
    answer = prediction.answer.strip() or NO_ANSWER
    scores = []
    for point in probe.gold.rubric:
        prompt = fill_in(TEXTS["point"], probe=probe, answer=answer, point=point)
        reply = ask(prompt, POINT_SCHEMA, POINT_TOKENS)
        value = _read_score(read_object(reply).get("score"))
        if value is None:
            raise UnusableReply(reply)
        scores.append(value)
    return sum(scores) / len(scores), f"points: {', '.join(f'{each:g}' for each in scores)}", {}


def _score_order(probe: Probe, prediction: Prediction, ask: Ask) -> tuple[float, str, dict[str, float | None]]:
    events, lines = probe.gold.rubric, [line.strip() for line in prediction.answer.split("\n") if line.strip()]
    if not lines:
        return 0.0, "no line", {"tau_norm": tau_norm(len(events), prediction.answer, [])}
    prompt = fill_in(TEXTS["order"], probe=probe, lines=lines, numbered=lambda texts: dict(enumerate(texts, start=1)))
    # Without these bounds, an array of a reply is cut off at 20.
    numbers = {"type": "array", "items": {"type": "integer"}, "minItems": len(lines), "maxItems": len(lines)}
    schema = {"type": "object", "properties": {"events": numbers}}
    reply = ask(prompt, schema, POINT_TOKENS + LINE_TOKENS * len(lines))
    told = read_object(reply).get("events")
    if not isinstance(told, list) or len(told) != len(lines):
        raise UnusableReply(reply)
    if any(type(number) is not int or not 0 <= number <= len(events) for number in told):
        raise UnusableReply(reply)
    reported: dict[str, float | None] = {"tau_norm": tau_norm(len(events), prediction.answer, told)}
    return order_score(len(events), told), f"events: {', '.join(map(str, told))}", reported


def order_score(events: int, told: Sequence[int]) -> float:
    """The score of lines that tell of these events (numbered from 1; 0 for none) in this order, in 0..1.

    A line that tells of an event a second time counts as telling of none.
    """
    # Each item is an event, or a line that tells of none, under a number of its own.
    items = [n if n and n not in told[:place] else -place - 1 for place, n in enumerate(told)]
    found = sum(item > 0 for item in items)
    f1 = 2 * found / (events + len(items))
    return f1 * _tau(events, items) if found and events + len(items) - found > 1 else f1


def tau_norm(events: int, answer: str, told: Sequence[int]) -> float:
    """Kendall's tau-b of the events and of the lines of an answer, brought to 0..1, as the authors report it.

    `told` has the event of each line that is not blank. Blank lines count as a line that tells of nothing; equal lines
    are one, with the place of the last. It may be above 0 where no event is told, and is 0 where tau-b is not defined.
    """
    items: list[int | str] = []
    numbers = iter(told)
    for line in answer.split("\n"):
        number = next(numbers) if line.strip() else 0
        items.append(number if number and number not in items else line)
    return _tau(events, items)


def _tau(events: int, items: Sequence[int | str]) -> float:
    """Tau-b of the order of the events, from 1, and of the items; what either lacks comes last in it."""
    union = list(dict.fromkeys([*range(1, events + 1), *items]))
    if len(union) < 2:
        return 0.0
    from scipy.stats import kendalltau  # takes a second to import, and only this needs it

    last, places = len(union) + 1, {item: place for place, item in enumerate(items, start=1)}
    theirs = [min(place, events + 1) for place in range(1, last)]
    tau = float(kendalltau(theirs, [places.get(item, last) for item in union], variant="b").statistic)
    return (tau + 1) / 2 if tau == tau else 0.0


def score_criteria(
    probe: Probe, prediction: Prediction, criteria: Mapping[str, str], ask: Ask
) -> tuple[dict[str, float | None], str]:
    """The score of each criterion, in 0..1, None where it cannot be read; and the judge's reply."""
    answer = prediction.answer.strip() or NO_ANSWER
    prompt = fill_in(TEXTS["criteria"], probe=probe, answer=answer, criteria=criteria)
    schema = {"type": "object", "properties": dict.fromkeys(criteria, _SCORE)}
    reply = ask(prompt, schema, CRITERION_TOKENS * len(criteria))
    given = read_object(reply)
    return {name: _read_score(given.get(name)) for name in criteria}, reply


def read_object(reply: str) -> dict[str, Any]:
    """Parse the one JSON object in a reply; empty if there is none, or more than one."""
    bare = REASONING.sub("", reply)
    try:
        value, end = json.JSONDecoder().raw_decode(bare, bare.index("{"))
    except (ValueError, RecursionError):
        return {}
    return {} if OBJECT.search(bare, end) else value


def _read_score(value: object) -> float | None:
    return None if isinstance(value, bool) or value not in SCORES else float(value)
