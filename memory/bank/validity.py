"""Decide which of several facts holds when: a later fact closes the earlier one, and both are kept.

A fact that was wrong or withdrawn is retracted: what it had closed then holds as if the fact had never been stated.
"""

from __future__ import annotations

from itertools import count

from sqlite_utils import Database

from memory.bank import rows
from memory.bank.rows import insert, next_id
from memory.types import SEMANTIC, MemoryDraft


def end_fact(db: Database, persona_id: int, fact: MemoryDraft, turn_id: int) -> None:
    """Close a known fact because a turn says that it no longer holds."""
    values: dict[str, object] = {"persona": persona_id, "store": fact.store, "text": fact.text, "speaker": fact.speaker}
    values |= {"attribute": fact.attribute, "turn": turn_id, "since": rows.format_time(fact.valid_from or fact.said_at)}
    said = "SELECT o.memory_id FROM sources o JOIN memories d ON d.id = o.memory_id WHERE o.turn_id = :turn"
    found = db.conn.execute(f"{said} AND d.store = 'dialogue'", values).fetchone()
    if found is None:
        return
    # By the attribute, which has an index; the text has none.
    db.conn.execute(
        "UPDATE memories SET valid_to = :since, superseded_by = :by WHERE persona_id = :persona AND "
        "attribute = :attribute AND attribute <> '' AND store = :store AND text = :text AND speaker = :speaker "
        "AND taken_back IS NULL AND valid_from <= :since AND (valid_to IS NULL OR valid_to > :since)",
        {**values, "by": found[0]},
    )
    reassert(db, persona_id, found[0])


def retract(db: Database, persona_id: int, memory_id: int, at: str | None) -> None:
    """Stop recalling a memory from `at` on; what it had closed holds as if it had never been stated."""
    values = {"persona": persona_id, "id": memory_id, "at": at}
    taken = db.conn.execute(
        "UPDATE memories SET taken_back = :at WHERE persona_id = :persona AND id = :id AND taken_back IS NULL", values
    )
    if taken.rowcount:
        _reopen_closed(db, memory_id)
        # The summaries of its sessions have to be made again, without it.
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


def reassert(db: Database, persona_id: int, new_id: int) -> None:
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
            "identity": next(i for i in identities if rows.find_by_identity(db, "memories", persona_id, i) is None),
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
