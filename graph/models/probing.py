"""Try out a chat model: how fast it answers, how much it can read, and whether it keeps to a form."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from graph.models.calls import ModelFailed, converse
from graph.models.tokens import context_of

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

COUNTING = "Count from one to forty in English words, separated by commas. Write nothing else."
FORM = (
    'Where was Ada born, if all you know is: "Ada was born in London in 1815"? Reply with one JSON object of this form '
    'and nothing else: {"place": "...", "year": 0}'
)


class _Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    place: str
    year: int


@dataclass(frozen=True, slots=True)
class Probed:
    """What a trial showed.

    Seconds until the first piece of a reply (of a local model, loading included) and tokens a second after it; tokens
    are those the model counted, or pieces where it counts none. `context` is in tokens, None where nobody says.
    """

    first_token_s: float
    tokens_per_s: float
    context: int | None
    keeps_schema: bool


def probe(model: BaseChatModel) -> Probed:
    """Ask a model twice: once for its speed, once for a form.

    Raises:
        ModelFailed: it does not reply at all.
    """
    came: list[float] = []
    started = time.perf_counter()

    reply = asyncio.run(converse(model, [("human", COUNTING)], on_piece=lambda piece: came.append(time.perf_counter())))
    ended = time.perf_counter()
    # A reply may come in one piece: a local model's words are told when they are whole, and noise has no words.
    took = ended - (came[0] if len(came) > 1 else started)
    rate = (reply.tokens_out or len(came)) / took
    first = came[0] - started
    return Probed(round(first, 3), round(rate, 1), context_of(model), _keeps(model))


def _keeps(model: BaseChatModel) -> bool:
    try:
        reply = asyncio.run(converse(model, [("human", FORM)], schema=_Form.model_json_schema()))
        _Form.model_validate(json.loads(reply.text))
    except (ModelFailed, ValidationError, ValueError):
        return False
    return True
