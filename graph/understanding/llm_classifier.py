"""The classifier by a chat model: P(store | question), by instruction alone or with a few examples (PerLTQA)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from langchain_core.language_models import BaseChatModel
from pydantic import NonNegativeFloat, TypeAdapter, ValidationError

from graph.models.calls import Messages, ModelFailed, stream_reply
from graph.models.json_replies import REASONING, quoted
from graph.understanding.classifier import read_rows
from memory.types import STORES, Store

# The form has "N" where an example would have numbers: a small model copies them, whatever the question.
INSTRUCTION = """\
Which kind of memory holds the answer to the question?
- profile: facts about a person (age, job, home, likes, health)
- relationship: who someone is to someone (family, friends, pets)
- world: general facts and how to do something
- event: what happened or is planned, and when
- dialogue: what someone said, asked or promised

Give each kind a number N from 0 (unlikely) to 100 (certain). Reply with JSON only:
{"profile": N, "relationship": N, "world": N, "event": N, "dialogue": N}"""

EXAMPLES_PER_STORE = 2

MAX_QUESTION = 1_000
"""Most characters of a question that are shown to the model."""

MAX_TOKENS = 96
"""Most tokens of a reply: five names and five numbers take some 45."""

SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {store: {"type": "integer", "minimum": 0, "maximum": 100} for store in STORES},
    "required": list(STORES),
    "additionalProperties": False,
}

_REPLY = TypeAdapter(dict[Store, NonNegativeFloat])


@dataclass(frozen=True, slots=True)
class JudgedStores:
    """P(store | question) by a chat model and its cost in tokens; None, with the reason in `fault`, if it gave none."""

    stores: Mapping[Store, float] | None
    fault: str = ""
    tokens_in: int = 0
    tokens_out: int = 0


async def judge_stores(question: str, model: BaseChatModel, *, examples: bool = False) -> JudgedStores:
    """Ask a chat model for P(store | question)."""
    messages = prompt(question, examples=examples)
    try:
        reply = await stream_reply(model, messages, schema=SCHEMA, max_tokens=MAX_TOKENS)
    except ModelFailed as fault:
        return JudgedStores(None, str(fault))
    stores = read_stores(reply.text)
    if stores is None:
        return JudgedStores(None, "the model's reply could not be read", reply.tokens_in, reply.tokens_out)
    # What small models reply; it would only replace what the learned classifier knows.
    if len({*stores.values()}) == 1:
        return JudgedStores(None, "the model rates all stores alike", reply.tokens_in, reply.tokens_out)
    return JudgedStores(stores, "", reply.tokens_in, reply.tokens_out)


def prompt(question: str, *, examples: bool) -> Messages:
    """The question as a JSON string, then the instruction; examples are questions and replies of an earlier talk."""
    asked = ("human", f"Question: {quoted(question[:MAX_QUESTION])}\n\n{INSTRUCTION}")
    if not examples:
        return [asked]
    talk = [("system", INSTRUCTION)]
    for store, text in _examples():
        reply = json.dumps({each: 100 * (each == store) for each in STORES})
        talk += [("human", f"Question: {quoted(text)}"), ("ai", reply)]
    return [*talk, asked]


def read_stores(reply: str) -> dict[Store, float] | None:
    """The probabilities in a reply, normalised; None if it is no such object. A store that is left out gets 0."""
    bare = REASONING.sub("", reply)
    begin, end = bare.find("{"), bare.rfind("}")
    try:
        weights = _REPLY.validate_json(bare[begin : end + 1])
    except ValidationError:
        return None
    total = sum(weights.values())
    return {store: weights.get(store, 0.0) / total for store in STORES} if 0 < total < float("inf") else None


@cache
def _examples() -> tuple[tuple[Store, str], ...]:
    """The first questions of each store among our own."""
    rows = read_rows("questions.jsonl")
    asked = {s: [str(row["text"]) for row in rows if (row["kind"], row["store"]) == ("question", s)] for s in STORES}
    return tuple((store, text) for store, texts in asked.items() for text in texts[:EXAMPLES_PER_STORE])
