"""Store facts that were stated or learned (memories that are not an utterance), and decide which of them holds when.

A learned memory quotes its turns, or is refused. Stated again while it holds, it stays one memory with both turns as
its sources. A later fact closes the earlier one, and both are kept; a correction replaces what was wrong. A fact that
was wrong or withdrawn is retracted: what it had closed then holds as if the fact had never been stated.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from sqlite_utils import Database

from memory.bank import rows
from memory.bank.queries.memories import known_to
from memory.bank.rows import clean_draft, insert, link, memory_row, next_id
from memory.search.quotes import find_quote
from memory.types import SEMANTIC, LearnedMemory, MemoryDraft, Turn, TurnDraft, WriteCounts


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
            end_fact(db, persona_id, item, quotes[0][0])
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
            link(db, "sources", [(memory_id, *quote) for quote in quotes])
            return int(memory_id), False
    closed: list[tuple[object, ...]] = []
    if item.replaces is not None:
        # What it closed by its number, and not by an attribute, the new one cannot find again.
        query = (
            "SELECT valid_to, id FROM memories WHERE superseded_by = ? AND taken_back IS NULL "
            "AND (attribute = '' OR attribute <> ?)"
        )
        closed = db.conn.execute(query, (item.replaces, draft.attribute)).fetchall()
        is_line = draft.store == "dialogue"
        retract(db, persona_id, item.replaces, rows.format_time(draft.said_at), learn_again=is_line)
    memory_id = _add(db, persona_id, session_id, identity, draft)
    link(db, "sources", [(memory_id, *quote) for quote in quotes])
    reassert(db, memory_id)
    if item.replaces is not None:
        by = "UPDATE memories SET superseded_by = ?, valid_to = ? WHERE id = ?"
        db.conn.executemany(by, [(memory_id, *each) for each in closed])
        db.conn.execute("UPDATE memories SET superseded_by = ? WHERE id = ?", (memory_id, item.replaces))
        # A correction is drawn from the first statement and from the one that corrects it.
        rows.copy_sources(db, item.replaces, memory_id, alone=False)
    return memory_id, True


# --- validity


def end_fact(db: Database, persona_id: int, item: LearnedMemory, turn_id: int) -> None:
    """Close a known fact because a turn says that it no longer holds."""
    query = "SELECT o.memory_id FROM sources o JOIN memories d ON d.id = o.memory_id WHERE o.turn_id = ?"
    statement = db.conn.execute(f"{query} AND d.store = 'dialogue'", (turn_id,)).fetchone()
    if statement is not None:
        _close(db, persona_id, item, statement[0])


def _close(db: Database, persona_id: int, item: LearnedMemory, by: int) -> None:
    """Let the fact that an item closes, or the one of its words, hold until the memory `by` begins to."""
    fact = item.memory
    values: dict[str, object] = {"store": fact.store, "text": fact.text, "speaker": fact.speaker}
    values |= {"attribute": fact.attribute, "since": rows.format_time(fact.valid_from or fact.said_at)}
    # By the attribute, which has an index; the text has none.
    which = "attribute = :attribute AND attribute <> '' AND store = :store AND text = :text AND speaker = :speaker"
    begun = "valid_from <= :since"
    if item.closes is not None:
        which, begun = "id = :closes AND id <> :by", "coalesce(valid_from, '') <= :since"
    db.conn.execute(
        f"UPDATE memories AS m SET valid_to = :since, superseded_by = :by WHERE {known_to(db, persona_id)} AND {which} "
        f"AND taken_back IS NULL AND {begun} AND (valid_to IS NULL OR valid_to > :since)",
        {**values, "by": by, "closes": item.closes},
    )
    reassert(db, by)


def retract(db: Database, persona_id: int, memory_id: int, at: str | None, *, learn_again: bool = True) -> None:
    """Stop recalling a memory that a persona knows from `at` on; what it had closed holds as if it was never stated.

    Its sessions are to be learned from again, as their summaries may repeat it.
    """
    known = known_to(db, persona_id, "+m.persona_id")
    taken = db.conn.execute(
        f"UPDATE memories AS m SET taken_back = ? WHERE {known} AND m.id = ? AND taken_back IS NULL", (at, memory_id)
    )
    if taken.rowcount:
        _reopen_closed(db, memory_id)
    if taken.rowcount and learn_again:
        db.conn.execute(
            "UPDATE sessions SET learned = 0 WHERE id IN "
            "(SELECT t.session_id FROM turns t JOIN sources o ON o.turn_id = t.id WHERE o.memory_id = ?)",
            (memory_id,),
        )


def undo_effects(db: Database, memory_id: int) -> None:
    """Undo what a memory that is being deleted did to others: what it closed or corrected holds again."""
    corrected = db.conn.execute(
        "SELECT id FROM memories WHERE superseded_by = ? AND taken_back IS NOT NULL", (memory_id,)
    ).fetchall()
    _reopen_closed(db, memory_id)
    for (corrected_id,) in corrected:
        reinstate(db, corrected_id)


def reinstate(db: Database, memory_id: int) -> None:
    """Recall a retracted memory again."""
    db.conn.execute("UPDATE memories SET taken_back = NULL, superseded_by = NULL WHERE id = ?", (memory_id,))
    supersede(db, memory_id)


def _reopen_closed(db: Database, memory_id: int) -> None:
    """Let what a memory closed hold until that memory's own end; what it corrected stays wrong."""
    db.conn.execute(
        "UPDATE memories SET (valid_to, superseded_by) = (SELECT valid_to, superseded_by FROM memories WHERE id = :id) "
        "WHERE superseded_by = :id AND taken_back IS NULL",
        {"id": memory_id},
    )


def supersede(db: Database, new_id: int) -> None:
    """Close the earlier of two facts about one attribute of one person when the later one begins to hold."""
    persona_id, store, attribute, speaker, since = db.conn.execute(
        "SELECT persona_id, store, attribute, speaker, valid_from FROM memories WHERE id = ?", (new_id,)
    ).fetchone()
    if since is None or not attribute or store not in SEMANTIC:
        return
    # SQLite uses the partial index only if the query, too, says that the attribute is not empty.
    same = (
        "persona_id = :persona AND store = :store AND attribute = :attribute AND attribute <> '' "
        "AND speaker = :speaker AND id <> :new AND valid_from IS NOT NULL AND taken_back IS NULL"
    )
    values = {"persona": persona_id, "store": store, "attribute": attribute, "speaker": speaker}
    values |= {"new": new_id, "since": since}
    db.conn.execute(
        f"UPDATE memories SET valid_to = :since, superseded_by = :new WHERE {same} AND valid_from <= :since "
        "AND (valid_to IS NULL OR valid_to > :since)",
        values,
    )
    later = db.conn.execute(
        f"SELECT id, valid_from FROM memories WHERE {same} AND valid_from > :since ORDER BY valid_from LIMIT 1", values
    ).fetchone()
    if later is not None:
        db.conn.execute(
            "UPDATE memories SET valid_to = ?, superseded_by = ? WHERE id = ?", (later[1], later[0], new_id)
        )


def reassert(db: Database, new_id: int) -> None:
    """Let a fact that was stated again after the new one began to hold, hold again from then on.

    Stated twice, it was one memory; a different fact about the time between makes it two.
    """
    later = (
        "SELECT o.turn_id, t.said_at FROM sources o JOIN turns t ON t.id = o.turn_id JOIN memories m ON m.id = "
        "o.memory_id WHERE m.id = ? AND t.said_at > m.valid_to ORDER BY t.said_at"
    )
    closed = "SELECT * FROM memories WHERE superseded_by = ? AND taken_back IS NULL"
    for row in list(db.query(closed, [new_id])):
        statements = db.conn.execute(later, (row["id"],)).fetchall()
        if not statements:
            continue
        identities = (rows.learned_identity(rows.memory_draft(row), period) for period in count(1))
        again = {
            **row,
            "id": next_id(db, "memories"),
            "identity": next(
                i for i in identities if rows.find_by_identity(db, "memories", row["persona_id"], i) is None
            ),
            "said_at": statements[0][1],
            "valid_from": statements[0][1],
            "valid_to": None,
            "superseded_by": None,
        }
        insert(db, "memories", [again])
        db.conn.executemany(
            "UPDATE sources SET memory_id = ? WHERE memory_id = ? AND turn_id = ?",
            [(again["id"], row["id"], turn_id) for turn_id, _ in statements],
        )
        supersede(db, again["id"])
