"""Store facts that were stated or learned (memories that are not an utterance), and decide which of them holds when.

A learned memory quotes its turns, or is refused. Stated again while it holds, it stays one memory with both turns as
its sources. A later fact closes the earlier one, and both are kept; a correction replaces what was wrong. A fact that
was wrong or withdrawn is retracted: what it had closed then holds as if the fact had never been stated.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from sqlite_utils import Database

from memory import named_queries
from memory.bank import rows
from memory.bank.queries.memories import known_to
from memory.bank.rows import clean_draft, insert, link, memory_row, next_id
from memory.search.quotes import find_quote
from memory.types import SEMANTIC, LearnedMemory, MemoryDraft, Turn, TurnDraft, WriteCounts

SQL = named_queries(__file__)

Numbered = Sequence[tuple[int, TurnDraft | Turn]]
"""Turns with their ids."""


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
    db: Database, persona_id: int, session_id: int, turns: Numbered, items: Sequence[LearnedMemory]
) -> WriteCounts:
    """Store what was learned from turns, given with their ids; an item without a quote from them is refused."""
    stored = WriteCounts()
    ids: list[int | None] = []
    for item in items:
        if item.earlier:
            replaced, closed = (None if place is None else ids[place] for place in (item.replaces, item.closes))
            item = replace(item, replaces=replaced, closes=closed)
        quotes = [
            (turns[q.turn][0], words, q.alone)
            for q in item.quotes
            if 0 <= q.turn < len(turns) and (words := find_quote(q.words, turns[q.turn][1].text))
        ]
        if not quotes:
            ids.append(None)
            stored += WriteCounts(refused=1)
            continue
        if item.ends:
            ids.append(None)
            for (statement,) in db.conn.execute(SQL["statement_of_turn"], (quotes[0][0],)).fetchall():
                _close(db, persona_id, item, statement)
            continue
        memory_id, new = _learn(db, persona_id, session_id, item, quotes)
        if new and item.closes is not None:
            _close(db, persona_id, item, memory_id)
        ids.append(memory_id)
        stored += WriteCounts(memories=1) if new else WriteCounts(known_memories=1)
        earlier = {ids[place] for place in item.depends_on if 0 <= place < len(ids)} - {memory_id}
        rows.link(db, "rests_on", [(memory_id, basis) for basis in earlier if basis is not None])
    return stored


def _learn(
    db: Database, persona_id: int, session_id: int, item: LearnedMemory, quotes: Sequence[tuple[int, str, bool]]
) -> tuple[int, bool]:
    """The id of a learned memory, and whether it is new; one stated again while it holds gets one more source."""
    draft = clean_draft(item.memory)
    since = rows.format_time(draft.valid_from or draft.said_at) or ""
    turn_ids = {turn_id for turn_id, _, _ in quotes}
    for period in count():
        identity = rows.learned_identity(draft, period)
        values = {"since": since, "persona": persona_id, "identity": identity}
        row = db.conn.execute(SQL["told_before"], values).fetchone()
        if row is None:
            break
        memory_id, holds, sources = row
        if holds or turn_ids & {int(i) for i in (sources or "").split(",") if i}:
            link(db, "sources", [(memory_id, *quote) for quote in quotes])
            return int(memory_id), False
    closed: list[tuple[object, ...]] = []
    if item.replaces is not None:
        # What it closed by its number, and not by an attribute, the new one cannot find again.
        closed = db.conn.execute(SQL["closed_by_number"], (item.replaces, draft.attribute)).fetchall()
        is_statement = draft.store == "dialogue"
        retract(db, persona_id, item.replaces, rows.format_time(draft.said_at), is_statement=is_statement)
    memory_id = _add(db, persona_id, session_id, identity, draft)
    link(db, "sources", [(memory_id, *quote) for quote in quotes])
    reassert(db, memory_id)
    if item.replaces is not None:
        db.conn.executemany(SQL["end"], [(memory_id, *each) for each in closed])
        db.conn.execute("UPDATE memories SET superseded_by = ? WHERE id = ?", (memory_id, item.replaces))
        # A correction is drawn from the first statement and from the one that corrects it.
        rows.copy_sources(db, item.replaces, memory_id, alone=False)
    return memory_id, True


# --- validity


def _close(db: Database, persona_id: int, item: LearnedMemory, by: int) -> None:
    """Let the fact that an item closes, or the one of its words, hold until the memory `by` begins to."""
    fact = item.memory
    values = {**rows.draft_columns(fact), "since": rows.format_time(fact.valid_from or fact.said_at)}
    statement = SQL["close_by_words" if item.closes is None else "close"].format(known=known_to(db, persona_id))
    db.conn.execute(statement, {**values, "by": by, "closes": item.closes})
    reassert(db, by)


def retract(db: Database, persona_id: int, memory_id: int, at: str | None, *, is_statement: bool = True) -> None:
    """Stop recalling a memory that a persona knows from `at` on; what it had closed holds as if it was never stated.

    If it `is_statement`, or is corrected by hand, the summaries of its sessions go, as they may repeat it.
    """
    known = known_to(db, persona_id, "+m.persona_id")
    taken = db.conn.execute(SQL["retract"].format(known=known), (at, memory_id))
    if taken.rowcount:
        db.conn.execute(SQL["reopen_closed"], {"id": memory_id})
        if is_statement:
            db.conn.execute(SQL["delete_summaries"], (memory_id,))


def undo_effects(db: Database, memory_id: int) -> None:
    """Undo what a memory that is being deleted did to others: what it closed or corrected holds again."""
    corrected = db.conn.execute(SQL["corrected"], (memory_id,)).fetchall()
    db.conn.execute(SQL["reopen_closed"], {"id": memory_id})
    for (corrected_id,) in corrected:
        reinstate(db, corrected_id)


def reinstate(db: Database, memory_id: int) -> None:
    """Recall a retracted memory again."""
    db.conn.execute("UPDATE memories SET taken_back = NULL, superseded_by = NULL WHERE id = ?", (memory_id,))
    supersede(db, memory_id)


def supersede(db: Database, new_id: int) -> None:
    """Close the earlier of two facts about one attribute of one person when the later one begins to hold."""
    new = next(db.query(SQL["fact"], [new_id]))
    if new["since"] is None or not new["attribute"] or new["store"] not in SEMANTIC:
        return
    db.conn.execute(SQL["close_earlier"], new)
    later = db.conn.execute(SQL["next_later"], new).fetchall()
    db.conn.executemany(SQL["end"], [(*each, new_id) for each in later])


def reassert(db: Database, new_id: int) -> None:
    """Let a fact that was stated again after the new one began to hold, hold again from then on.

    Stated twice, it was one memory; a different fact about the time between makes it two.
    """
    closed = "SELECT * FROM memories WHERE superseded_by = ? AND taken_back IS NULL"
    for row in list(db.query(closed, [new_id])):
        statements = db.conn.execute(SQL["later_statements"], (row["id"],)).fetchall()
        if not statements:
            continue
        identities = (rows.learned_identity(rows.memory_draft(row), period) for period in count(1))
        identity = next(i for i in identities if rows.find_by_identity(db, "memories", row["persona_id"], i) is None)
        again = {**row, "id": next_id(db, "memories"), "identity": identity, "valid_to": None, "superseded_by": None}
        again["said_at"] = again["valid_from"] = statements[0][1]
        insert(db, "memories", [again])
        db.conn.executemany(SQL["move_source"], [(again["id"], row["id"], turn_id) for turn_id, _ in statements])
        supersede(db, again["id"])
