"""A chat model as one more rater: it fills in a sheet, which is then read like anybody's."""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Annotated, Any, TypeVar

from pydantic import Field, create_model

from eval.judging.judge import Spent
from eval.judging.rubric import fill_in
from eval.rating.sheet import CRITERIA, HIGHEST, SCORES, Rating, Reply, by_question
from eval.types import ChatModel
from graph.models.calls import Completion, ModelFailed
from graph.models.json_replies import StrictReply, UnusableReply, ask_for_json
from memory import read_table

MAX_TOKENS = 200
"""Of a reply; the JSON takes about 60."""

PROMPTS: Mapping[str, str] = read_table(__file__, "prompts.toml")

_SCORE: Any = (Annotated[float, Field(ge=0, le=HIGHEST)], ...)
Scores = create_model("Scores", __base__=StrictReply, **dict.fromkeys(SCORES, _SCORE), remembers=(bool, ...))
"""A score for each criterion, and whether the reply uses a memory."""


class Choice(StrictReply):
    """The letter of the reply that feels closest; "tie" where none does."""

    closest: str


def rate(
    replies: Sequence[Reply], model: ChatModel, watch: Callable[[int, int], None]
) -> tuple[dict[str, Rating], Spent]:
    """Rate these replies by id, and choose the closest where a question has several, in random order.

    What the model does not say in the form that is asked for stays empty, and counts as unreadable.
    """
    counts, shuffled, done = Spent(), random.Random(0), count(1)
    ratings: dict[str, Rating] = {}
    for own in by_question(replies).values():
        own = shuffled.sample(own, len(own))
        marks = _choose(own, model, counts) if len(own) > 1 else {}
        for reply in own:
            example = {**dict.fromkeys(SCORES, 1.5), "remembers": False}
            about = {"criteria": CRITERIA, "highest": f"{HIGHEST:g}", "reply": reply, "example": example}
            scores = _ask(model, fill_in(PROMPTS["score"], **about), Scores, counts)
            if rating := (scores.model_dump() if scores else {}) | marks.get(reply.id, {}):
                ratings[reply.id] = rating
            watch(next(done), len(replies))
    return ratings, counts


def _choose(replies: Sequence[Reply], model: ChatModel, counts: Spent) -> dict[str, dict[str, str]]:
    letters = {chr(ord("A") + n): reply for n, reply in enumerate(replies)}
    choice = _ask(model, fill_in(PROMPTS["choose"], said=replies[0].said, replies=letters), Choice, counts)
    chosen = choice.closest.strip() if choice else ""
    if chosen in letters:
        return {letters[chosen].id: {"closest": "x"}}
    if chosen.casefold() == "tie":
        return {replies[0].id: {"closest": "tie"}}
    counts.unreadable += choice is not None
    return {}


Shape = TypeVar("Shape", bound=StrictReply)


def _ask(model: ChatModel, prompt: str, shape: type[Shape], counts: Spent) -> Shape | None:
    replies: list[Completion] = []
    try:
        return asyncio.run(ask_for_json(model, [("human", prompt)], shape, replies, max_tokens=MAX_TOKENS))
    except UnusableReply:
        counts.unreadable += 1
    except ModelFailed:
        counts.failed += 1
    finally:
        counts.asked += max(1, len(replies))
        counts.tokens_in += sum(reply.tokens_in for reply in replies)
        counts.tokens_out += sum(reply.tokens_out for reply in replies)
    return None
