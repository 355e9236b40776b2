"""Try out a chat model: how fast it answers, the length of its context, and whether it keeps to a schema."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graph.models.calls import ModelFailed, stream_reply
from graph.models.json_replies import StrictReply
from graph.models.tokens import context_length

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

SPEED_PROMPT = "Count from one to forty in English words, separated by commas. Write nothing else."
SCHEMA_PROMPT = (
    'Where was Ada born, if all you know is: "Ada was born in London in 1815"? Reply with one JSON object of this form '
    'and nothing else: {"place": "...", "year": 0}'
)


class _Place(StrictReply):
    place: str
    year: int


@dataclass(frozen=True, slots=True)
class Trial:
    """The results of a trial.

    Seconds until the first piece of a reply (with loading, for a local model) and tokens per second after it; pieces
    count as tokens where the model reports none. `context` is in tokens, None if unknown.
    """

    first_token_s: float
    tokens_per_s: float
    context: int | None
    keeps_schema: bool


def try_out(model: BaseChatModel) -> Trial:
    """Ask a model twice: once for its speed, once for a reply of a given schema.

    Raises:
        ModelFailed: it does not reply.
    """
    arrivals: list[float] = []
    started = time.perf_counter()

    reply = asyncio.run(
        stream_reply(model, [("human", SPEED_PROMPT)], on_piece=lambda piece: arrivals.append(time.perf_counter()))
    )
    ended = time.perf_counter()
    # A reply may come in one piece: a local model delivers whole words, and the noise of a synthetic one has none.
    seconds = ended - (arrivals[0] if len(arrivals) > 1 else started)
    rate = (reply.tokens_out or len(arrivals)) / seconds
    first = arrivals[0] - started
    return Trial(round(first, 3), round(rate, 1), context_length(model), _keeps_schema(model))


def _keeps_schema(model: BaseChatModel) -> bool:
    try:
        reply = asyncio.run(stream_reply(model, [("human", SCHEMA_PROMPT)], schema=_Place.model_json_schema()))
        _Place.model_validate_json(reply.text)
    except (ModelFailed, ValueError):
        return False
    return True
