"""What a chat model's reading may look like, and how it is read: strictly, or not at all."""

from __future__ import annotations

import re
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from graph.state import Reason

_REASONING = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.DOTALL)
_UNKNOWN = re.compile(r"\A\s*\**UNKNOWN:\**\s*([^\n]*)\n?(.*)\Z", re.DOTALL | re.IGNORECASE)

PROBLEM = 80
"""Characters of what is said of a reply that cannot be read, and of where it goes wrong."""

REASONS: tuple[Reason, ...] = (
    "nothing found",
    "found but does not say",
    "premise contradicted",
    "outside the known time",
)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Cited(_Strict):
    """A memory by its number in the prompt, and words of it."""

    memory: int
    quote: str


class Noted(Cited):
    """The same, and what they tell."""

    note: str


class Notes(_Strict):
    """The first reply of "con-separate"."""

    notes: list[Noted]


class Read(Notes):
    """The only reply of "con"."""

    answer: str
    citations: list[Cited]
    reason: Reason | None


Shape = TypeVar("Shape", bound=BaseModel)


class Unreadable(Exception):  # a reply to be asked for again, not a fault of the program
    """A reply that is not of the form it was to have; the message says where it is not, in a line."""


def read_json(reply: str, shape: type[Shape]) -> Shape:
    """The one JSON object of a reply; what stands around it (reasoning, a code fence) is passed over.

    Raises:
        Unreadable: there is none, or it is not of this shape.
    """
    bare = _REASONING.sub("", reply)
    begin, end = bare.find("{"), bare.rfind("}")
    if begin < 0 or end < begin:
        raise Unreadable("it holds no JSON object")
    try:
        return shape.model_validate_json(bare[begin : end + 1])
    except ValidationError as fault:
        first = fault.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        # A field may be of the model's own making, and as long as it likes.
        raise Unreadable(f"{where[:PROBLEM]}: {first['msg'][:PROBLEM]}" if where else first["msg"][:PROBLEM]) from None


def read_words(reply: str) -> tuple[str, Reason | None]:
    """A reply in words: the answer, and the reason if it says that it knows none."""
    bare = _REASONING.sub("", reply).strip()
    found = _UNKNOWN.match(bare)
    if found is None:
        return bare, None
    named = found[1].strip().strip("\"'.").casefold()
    reason: Reason = next((r for r in REASONS if r in named), "found but does not say")
    return found[2].strip(), reason
