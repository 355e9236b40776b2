"""The forms of a chat model's reading."""

from __future__ import annotations

import re
from typing import get_args

from graph.models.json_replies import REASONING, StrictReply
from graph.state import Reason

_UNKNOWN = re.compile(r"\A\s*\**UNKNOWN:\**\s*([^\n]*)\n?(.*)\Z", re.DOTALL | re.IGNORECASE)

REASONS: tuple[Reason, ...] = get_args(Reason)


class CitationReply(StrictReply):
    """A memory by its number in the prompt, and words of it."""

    memory: int
    quote: str


class NoteReply(CitationReply):
    """The same, and what the words tell."""

    note: str


class NotesReply(StrictReply):
    """The first reply of "con-separate"."""

    notes: list[NoteReply]


class ReadingReply(NotesReply):
    """The only reply of "con"."""

    answer: str
    citations: list[CitationReply]
    reason: Reason | None


def parse_words(reply: str) -> tuple[str, Reason | None]:
    """Parse a reply in words: the answer, and the reason if it abstains."""
    bare = REASONING.sub("", reply).strip()
    match = _UNKNOWN.match(bare)
    if match is None:
        return bare, None
    named = match[1].strip().strip("\"'.").casefold()
    reason: Reason = next((r for r in REASONS if r in named), "found but does not say")
    return match[2].strip(), reason
