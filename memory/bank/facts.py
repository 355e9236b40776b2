"""Store facts that were stated or learned: memories that are not an utterance.

A learned memory quotes its turns, or is refused. Stated again while it holds, it stays one memory with both turns as
its sources; a correction replaces what was wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from sqlite_utils import Database

from memory.bank import rows
from memory.bank.rows import clean_draft, insert, link_sources, memory_row, next_id
from memory.bank.validity import end_fact, reassert, retract, supersede
from memory.quotes import find_quote
from memory.types import LearnedMemory, MemoryDraft, Quote, Turn, TurnDraft, WriteCounts


def add_memory(db: Database, persona_id: int, draft: MemoryDraft) -> WriteCounts:
    """Store a memory that no turn said, unless it is known, and close the fact that it supersedes."""
    draft = clean_draft(draft)
    identity = rows.memory_identity(draft)
    if rows.find_by_identity(db, "memories", persona_id, identity) is not None:
        return WriteCounts(known_memories=1)
    _add(db, persona_id, None, identity, draft)
    return WriteCounts(memories=1)


def _add(db: Database, persona_id: int, session_id: int | None, identity: str, draft: MemoryDraft) -> int:
    memory_id = next_id(db, "memories")
    insert(db, "memories", [memory_row(memory_id, persona_id, session_id, identity, draft)])
    supersede(db, memory_id)
    return memory_id


def add_learned(
    db: Database,
    persona_id: int,
    session_id: int,
    turns: Sequence[tuple[int, TurnDraft | Turn]],
    items: Sequence[LearnedMemory],
) -> WriteCounts:
    """Store what was learned from turns, given with their ids; an item without a quote from them is refused."""
    stored = WriteCounts()
    ids: list[int | None] = []
    for item in items:
        quotes = [(turns[q.turn][0], words, q.alone) for q in item.quotes if (words := _find_words(q, turns))]
        if not quotes:
            ids.append(None)
            stored += WriteCounts(refused=1)
            continue
        if item.ends:
            ids.append(None)
            end_fact(db, persona_id, item.memory, quotes[0][0])
            continue
        memory_id, new = _learn(db, persona_id, session_id, item, quotes)
        ids.append(memory_id)
        stored += WriteCounts(memories=1) if new else WriteCounts(known_memories=1)
        earlier = {ids[place] for place in item.depends_on if 0 <= place < len(ids)} - {memory_id}
        rows.link_bases(db, [(memory_id, basis) for basis in earlier if basis is not None])
    return stored


def _find_words(quote: Quote, turns: Sequence[tuple[int, TurnDraft | Turn]]) -> str:
    """The quoted words as their turn spells them, or "" if it lacks them."""
    return find_quote(quote.words, turns[quote.turn][1].text) if 0 <= quote.turn < len(turns) else ""


def _learn(
    db: Database, persona_id: int, session_id: int, item: LearnedMemory, quotes: Sequence[tuple[int, str, bool]]
) -> tuple[int, bool]:
    """The id of a learned memory, and whether it is new; one stated again while it holds gets one more source."""
    draft = clean_draft(item.memory)
    since = rows.format_time(draft.valid_from or draft.said_at) or ""
    turn_ids = {turn_id for turn_id, _, _ in quotes}
    for period in count():
        identity = rows.learned_identity(draft, period)
        row = db.conn.execute(
            "SELECT id, coalesce(valid_from, '') <= :since AND coalesce(valid_to, '9') > :since "
            "AND taken_back IS NULL, (SELECT group_concat(turn_id) FROM sources WHERE memory_id = m.id) "
            "FROM memories m WHERE persona_id = :persona AND identity = :identity",
            {"since": since, "persona": persona_id, "identity": identity},
        ).fetchone()
        if row is None:
            break
        memory_id, holds, sources = row
        if holds or turn_ids & {int(i) for i in (sources or "").split(",") if i}:
            link_sources(db, [(memory_id, *quote) for quote in quotes])
            return int(memory_id), False
    if item.replaces is not None:
        retract(db, persona_id, item.replaces, rows.format_time(draft.said_at))
    memory_id = _add(db, persona_id, session_id, identity, draft)
    link_sources(db, [(memory_id, *quote) for quote in quotes])
    reassert(db, persona_id, memory_id)
    if item.replaces is not None:
        db.conn.execute("UPDATE memories SET superseded_by = ? WHERE id = ?", (memory_id, item.replaces))
        # A correction is drawn from the first statement and from the one that corrects it.
        db.conn.execute(
            "INSERT OR IGNORE INTO sources (memory_id, turn_id, quote, alone) "
            "SELECT ?, turn_id, quote, 0 FROM sources WHERE memory_id = ?",
            (memory_id, item.replaces),
        )
    return memory_id, True
