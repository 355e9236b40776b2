"""The classifier by a chat model: P(store | question), by instruction alone or with a few examples (PerLTQA)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated

from langchain_core.language_models import BaseChatModel
from pydantic import Field

from graph.models.calls import Completion, Messages, ModelFailed, stream_reply
from graph.models.json_replies import StrictReply, UnusableReply, parse_json, quoted
from graph.understanding.classifier import read_rows
from memory import read_table
from memory.types import STORES, Store

INSTRUCTION: str = read_table(__file__)["instruction"]

EXAMPLES_PER_STORE = 2

MAX_QUESTION = 1_000
"""Most characters of a question that are shown to the model."""

MAX_TOKENS = 96
"""Most tokens of a reply: five names and five numbers take some 45."""

Weight = Annotated[float, Field(ge=0, strict=False, json_schema_extra={"type": "integer", "maximum": 100})]


class StoresReply(StrictReply):
    """The reply: how likely each store holds the answer; one that is left out does not."""

    profile: Weight = 0
    relationship: Weight = 0
    world: Weight = 0
    event: Weight = 0
    dialogue: Weight = 0


@dataclass(frozen=True, slots=True)
class JudgedStores:
    """P(store | question) by a chat model, and its reply; None, with the reason in `fault`, if it gave none."""

    stores: Mapping[Store, float] | None
    fault: str = ""
    reply: Completion = field(default_factory=lambda: Completion(""))


async def judge_stores(question: str, model: BaseChatModel, *, examples: bool = False) -> JudgedStores:
    """Ask a chat model for P(store | question)."""
    talk, schema = prompt(question, examples=examples), StoresReply.model_json_schema()
    try:
        reply = await stream_reply(model, talk, schema=schema, max_tokens=MAX_TOKENS)
    except ModelFailed as fault:
        return JudgedStores(None, str(fault))
    stores = read_stores(reply.text)
    if stores is None:
        return JudgedStores(None, "the model's reply could not be read", reply)
    # What small models reply; it would only replace what the learned classifier knows.
    is_even = len({*stores.values()}) == 1
    return JudgedStores(None, "the model rates all stores alike", reply) if is_even else JudgedStores(stores, "", reply)


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
    """The probabilities in a reply, normalised; None if it is not of the form, or all are zero."""
    try:
        weights = parse_json(reply, StoresReply).model_dump()
    except UnusableReply:
        return None
    total = sum(weights.values())
    return {store: weights[store] / total for store in STORES} if 0 < total < float("inf") else None


@cache
def _examples() -> tuple[tuple[Store, str], ...]:
    """The first questions of each store among our own."""
    rows = read_rows("questions.jsonl")
    asked = {s: [str(row["text"]) for row in rows if (row["kind"], row["store"]) == ("question", s)] for s in STORES}
    return tuple((store, text) for store, texts in asked.items() for text in texts[:EXAMPLES_PER_STORE])
