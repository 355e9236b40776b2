"""Read the questions of a LongDialQA session as probes; the adapter's docstring says how fields are mapped."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from itertools import zip_longest
from typing import Any

from eval.play.simulation.choices import dont_know
from eval.play.simulation.names import DEFAULT
from eval.types import Gold, Probe
from memory.bank.rows import clean
from memory.importers.reading.fields import number_text, parse_moment
from memory.types import SessionDraft, Skip

MOST_OF_A_TYPE = 8
"""Most questions of one type that are kept in a session."""

ORACLES = ("tkg", "fan")
_PARTS = (("hard_q", "hard", "tkg"), ("easy_q", "easy", "fan"))


def read_probes(
    session: SessionDraft,
    found: Mapping[str, Any],
    evidence: Mapping[str, object],
    of_day: Mapping[str, Sequence[str]],
    skips: list[Skip],
    where: str,
) -> Iterator[Probe]:
    """Yield the questions in a session's `hard_q` and `easy_q`; none of a session without a date.

    `evidence` is what the two oracles (`ORACLES`) have of this session, `of_day` the sessions of each day so far.
    Unusable questions are added to `skips`.
    """
    if session.started_at is None:
        return
    for part, population, oracle in _PARTS:
        for ability, items in entries(found.get(part)):
            name = named(ability)
            dates = look_up(evidence.get(oracle), ability)
            probes = _of_type(session, session.started_at, (population, name), items, skips, f"{where}, {name}")
            for number, probe in probes:
                days = _days(look_up(dates, number, probe.question)) if probe.gold.answerable else ()
                sessions = dict.fromkeys(each for day in days for each in of_day.get(day, ()))
                yield replace(probe, gold=replace(probe.gold, sessions=tuple(sessions)))


def in_rounds(probes: Sequence[Probe], sessions: Sequence[SessionDraft]) -> Iterator[Probe]:
    """Order probes in rounds: one question of each session at a time, of mixed types."""
    of_session: defaultdict[str, list[Probe]] = defaultdict(list)
    for probe in sorted(probes, key=lambda p: sha256(p.id.encode()).digest()):
        of_session[probe.asked_in].append(probe)
    rounds = zip_longest(*(of_session[session.external_id] for session in sessions))
    return (probe for asked in rounds for probe in asked if probe)


def entries(value: object) -> Iterator[tuple[Any, Any]]:
    """The entries of a dict or list, with key or index; none of anything else."""
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list | tuple):
        yield from enumerate(value)


def look_up(value: object, *keys: object) -> Any:  # noqa: ANN401  # whatever it holds
    """The value of the first key that exists; None if none does."""
    for key in keys:
        if isinstance(value, dict) and isinstance(key, str | int) and key in value:
            return value[key]
        if isinstance(value, list | tuple) and isinstance(key, int) and 0 <= key < len(value):
            return value[key]
    return None


def named(key: object) -> str:
    """Write a key as a part of an id."""
    return clean(number_text(key))


def _of_type(
    session: SessionDraft, asked_at: datetime, kind: tuple[str, str], items: object, skips: list[Skip], place: str
) -> list[tuple[object, Probe]]:
    """Choose questions of one type, with their numbers, in an order that depends on their words."""
    read = [(number, _probe(session, asked_at, *kind, number, item)) for number, item in entries(items)]
    usable = [(number, probe) for number, probe in read if probe is not None]
    usable.sort(key=lambda pair: sha256(f"{pair[1].question}\0{pair[0]}".encode()).digest())
    if len(usable) < len(read):
        skips.append(Skip(place, f"{len(read) - len(usable)} questions without wording, options or answer among them"))
    if len(usable) > MOST_OF_A_TYPE:
        skips.append(Skip(place, f"{len(usable)} questions, {MOST_OF_A_TYPE} kept: one is asked in a session"))
    return usable[:MOST_OF_A_TYPE]


def _probe(
    session: SessionDraft, asked_at: datetime, population: str, ability: str, number: object, item: object
) -> Probe | None:
    """Read one question; None if it cannot be asked or its answer is not among its options."""
    if not isinstance(item, dict):
        return None
    given, options, answer = item.get("questions"), item.get("options"), item.get("answer")
    given = {DEFAULT: given} if isinstance(given, str) else given
    if not isinstance(given, dict) or not isinstance(options, list | tuple) or not isinstance(answer, str):
        return None
    spoken = {named(who): clean(text).strip() for who, text in given.items() if isinstance(text, str)}
    wordings = {who: text for who, text in spoken.items() if text}
    choices = tuple(named(option).strip() for option in options)
    right = [n for n, choice in enumerate(choices) if choice.casefold() == clean(answer).strip().casefold()]
    if not wordings or len(choices) < 2 or not right:
        return None
    has_no_answer = not {"fu", "unans"}.isdisjoint(ability.casefold().split("_"))
    answerable = not has_no_answer and right[0] != dont_know(choices)
    return Probe(
        f"{session.external_id}/{population}/{ability}/{named(number)}",
        wordings.get(DEFAULT) or next(iter(wordings.values())),
        asked_at,
        Gold((choices[right[0]],), choice=right[0], answerable=answerable),
        ability,
        populations=(population,),
        choices=choices,
        asked_in=session.external_id,
        askers=wordings,
    )


def _days(value: object) -> Iterator[str]:
    """The dates of evidence, as ISO dates; "past" and "fu..." are not dates."""
    if isinstance(value, str):
        if moment := parse_moment(value, "%B %d, %Y"):
            yield f"{moment:%Y-%m-%d}"
        return
    for _, each in entries(value):
        yield from _days(each)
