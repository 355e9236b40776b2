"""The forms of a chat model's reading, and how they are parsed: strictly, or not at all."""

from __future__ import annotations

import re
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from graph.state import Reason

_REASONING = re.compile(r"\A\s*<think>.*?(?:</think>|\Z)", re.DOTALL)
_UNKNOWN = re.compile(r"\A\s*\**UNKNOWN:\**\s*([^\n]*)\n?(.*)\Z", re.DOTALL | re.IGNORECASE)

PROBLEM = 80
"""Characters of a problem report and of the place that it names."""

REASONS: tuple[Reason, ...] = (
    "nothing found",
    "found but does not say",
    "premise contradicted",
    "outside the known time",
)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class CitationReply(_Strict):
    """A memory by its number in the prompt, and words of it."""

    memory: int
    quote: str


class NoteReply(CitationReply):
    """The same, and what the words tell."""

    note: str


class NotesReply(_Strict):
    """The first reply of "con-separate"."""

    notes: list[NoteReply]


class ReadingReply(NotesReply):
    """The only reply of "con"."""

    answer: str
    citations: list[CitationReply]
    reason: Reason | None


Shape = TypeVar("Shape", bound=BaseModel)


class UnusableReply(Exception):  # to be requested again, not an error of the program
    """A reply without the requested form; the message says in a line where it differs."""


def parse_json(reply: str, shape: type[Shape]) -> Shape:
    """Parse the one JSON object of a reply; text around it (reasoning, a code fence) is ignored.

    Raises:
        UnusableReply: there is no object, or it does not have this shape.
    """
    bare = _REASONING.sub("", reply)
    begin, end = bare.find("{"), bare.rfind("}")
    if begin < 0 or end < begin:
        raise UnusableReply("it holds no JSON object")
    try:
        return shape.model_validate_json(bare[begin : end + 1])
    except ValidationError as fault:
        first = fault.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        # A field may be of the model's own making, and as long as it likes.
        raise UnusableReply(
            f"{where[:PROBLEM]}: {first['msg'][:PROBLEM]}" if where else first["msg"][:PROBLEM]
        ) from None


def parse_words(reply: str) -> tuple[str, Reason | None]:
    """Parse a reply in words: the answer, and the reason if it abstains."""
    bare = _REASONING.sub("", reply).strip()
    match = _UNKNOWN.match(bare)
    if match is None:
        return bare, None
    named = match[1].strip().strip("\"'.").casefold()
    reason: Reason = next((r for r in REASONS if r in named), "found but does not say")
    return match[2].strip(), reason
