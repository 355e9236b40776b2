"""Find the rows that must be deleted along with a selection: memories without another source, repeating replies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlite_utils import Database

from memory.bank import deletion
from memory.forgetting.selection import Selection

MIN_PROOF_CHARACTERS = 12
"""A shorter text may occur in a file, or in another text, by chance: finding it proves nothing."""

PREVIEW_LINES = 5
"""Lines that a preview shows of what would be deleted."""


def add_dependants(db: Database, persona_id: int, selected: Selection) -> Selection:
    """Add to a selection the memories that lose their last source, the replies that repeat it and emptied sessions."""
    memories = sorted({*selected.memories, *deletion.orphaned_memories(db, selected.turns)})
    turns = sorted({*selected.turns, *_repeating_replies(db, persona_id, memories, selected.turns)})
    sessions = sorted({*selected.sessions, *deletion.emptied_sessions(db, turns)})
    return Selection(memories, turns, sessions, selected.titles)


def preview_lines(db: Database, selected: Selection) -> tuple[str, ...]:
    """The first selected turns, followed by selected memories that have no source turn."""
    texts = deletion.first_texts(db, selected.memories, selected.turns, PREVIEW_LINES)
    return tuple(f"{speaker}: {text}" if speaker else text for speaker, text in texts)


def _repeating_replies(db: Database, persona_id: int, memories: Sequence[int], turns: Sequence[int]) -> list[int]:
    """The persona's chat turns that cite one of the memories, answer one of the turns, or contain a text of either."""
    by_start: dict[str, list[str]] = {}
    for text in deletion.texts_of(db, memories, turns):
        if len(text) >= MIN_PROOF_CHARACTERS:
            by_start.setdefault(text[:MIN_PROOF_CHARACTERS], []).append(text)
    replies = deletion.other_replies(db, persona_id, memories, turns)
    return [turn_id for turn_id, text, refers in replies if refers or _contains_any(text, by_start)]


def _contains_any(reply: str, by_start: Mapping[str, Sequence[str]]) -> bool:
    """Whether a reply contains one of the texts, which are grouped by their first characters: one pass for all."""
    return any(
        reply.startswith(text, place)
        for place in range(len(reply) - MIN_PROOF_CHARACTERS + 1)
        for text in by_start.get(reply[place : place + MIN_PROOF_CHARACTERS], ())
    )
