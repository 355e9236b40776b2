"""Find the rows that must be deleted along with a selection: memories without another source, repeating replies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from memory.bank.rows import json_list
from memory.forgetting.selection import Selection, query_ids

if TYPE_CHECKING:
    from sqlite_utils import Database

MIN_PROOF_CHARACTERS = 12
"""A shorter text may occur in a file, or in another text, by chance: finding it proves nothing."""

PREVIEW_LINES = 5
"""Lines that a preview shows of what would be deleted."""


def add_dependants(db: Database, persona_id: int, selected: Selection) -> Selection:
    """Add to a selection the memories that lose their last source, the replies that repeat it and emptied sessions."""
    memories = sorted({*selected.memories, *_orphaned_memories(db, selected.turns)})
    turns = sorted({*selected.turns, *_repeating_replies(db, persona_id, memories, selected.turns)})
    sessions = sorted({*selected.sessions, *_emptied_sessions(db, turns)})
    return Selection(memories, turns, sessions, selected.titles)


def preview_lines(db: Database, selected: Selection) -> tuple[str, ...]:
    """The first selected turns, followed by selected memories that have no source turn."""
    query = """
        SELECT * FROM (SELECT speaker, text FROM turns WHERE id IN (SELECT value FROM json_each(:turns)) ORDER BY id)
        UNION ALL SELECT speaker, text FROM memories m WHERE id IN (SELECT value FROM json_each(:memories))
            AND NOT EXISTS (SELECT 1 FROM sources WHERE memory_id = m.id) LIMIT :shown
    """
    values = {"turns": json_list(selected.turns), "memories": json_list(selected.memories), "shown": PREVIEW_LINES}
    return tuple(f"{speaker}: {text}" if speaker else text for speaker, text in db.conn.execute(query, values))


def texts_of(db: Database, memories: Sequence[int], turns: Sequence[int]) -> set[str]:
    """Every text that the bank stores for these memories and turns."""
    query = """
        SELECT text FROM memories WHERE id IN (SELECT value FROM json_each(:memories))
        UNION SELECT key FROM memories WHERE id IN (SELECT value FROM json_each(:memories))
        UNION SELECT text FROM turns WHERE id IN (SELECT value FROM json_each(:turns))
        UNION SELECT quote FROM sources WHERE turn_id IN (SELECT value FROM json_each(:turns))
    """
    values = {"memories": json_list(memories), "turns": json_list(turns)}
    return {str(t) for (t,) in db.conn.execute(query, values)}


def _repeating_replies(db: Database, persona_id: int, memories: Sequence[int], turns: Sequence[int]) -> list[int]:
    """The persona's chat turns that cite one of the memories, answer one of the turns, or contain a text of either."""
    query = """
        SELECT t.id, t.text,
            EXISTS (SELECT 1 FROM cites WHERE turn_id = t.id AND memory_id IN (SELECT value FROM json_each(:memories)))
            OR EXISTS (SELECT 1 FROM turns b WHERE b.session_id = t.session_id AND b.position = t.position - 1
                AND b.id IN (SELECT value FROM json_each(:turns)))
        FROM turns t JOIN sessions s ON s.id = t.session_id
        WHERE s.persona_id = :persona AND s.source = 'chat' AND t.role = 'assistant'
            AND t.id NOT IN (SELECT value FROM json_each(:turns))
    """
    by_start: dict[str, list[str]] = {}
    for text in texts_of(db, memories, turns):
        if len(text) >= MIN_PROOF_CHARACTERS:
            by_start.setdefault(text[:MIN_PROOF_CHARACTERS], []).append(text)
    values = {"persona": persona_id, "turns": json_list(turns), "memories": json_list(memories)}
    replies = db.conn.execute(query, values)
    return [int(turn_id) for turn_id, text, refers in replies if refers or _contains_any(text, by_start)]


def _contains_any(reply: str, by_start: Mapping[str, Sequence[str]]) -> bool:
    """Whether a reply contains one of the texts, which are grouped by their first characters: one pass for all."""
    return any(
        reply.startswith(text, place)
        for place in range(len(reply) - MIN_PROOF_CHARACTERS + 1)
        for text in by_start.get(reply[place : place + MIN_PROOF_CHARACTERS], ())
    )


def _orphaned_memories(db: Database, turns: Iterable[int]) -> list[int]:
    """The memories that would keep no turn that supports them on its own."""
    query = """
        SELECT memory_id FROM sources
        WHERE memory_id IN (SELECT memory_id FROM sources WHERE turn_id IN (SELECT value FROM json_each(:turns)))
        GROUP BY memory_id HAVING sum(alone AND turn_id NOT IN (SELECT value FROM json_each(:turns))) = 0
    """
    return [int(i) for (i,) in db.conn.execute(query, {"turns": json_list(turns)})]


def _emptied_sessions(db: Database, turns: Iterable[int]) -> list[int]:
    """The sessions that would keep no turn."""
    query = """
        SELECT session_id FROM turns WHERE id IN (SELECT value FROM json_each(?)) GROUP BY session_id
        HAVING count(*) = (SELECT count(*) FROM turns t WHERE t.session_id = turns.session_id)
    """
    return query_ids(db, query, json_list(turns))
