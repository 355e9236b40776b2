"""Which of several facts holds when: a later one closes the earlier, and both are kept.

What was wrong or retracted is taken back: what it had closed holds as long as if it had not been told.
"""

from __future__ import annotations

from itertools import count

from sqlite_utils import Database

from memory.bank import rows
from memory.bank.rows import insert, next_id
from memory.types import SEMANTIC, MemoryDraft


def end_fact(db: Database, persona_id: int, fact: MemoryDraft, turn_id: int) -> None:
    """Close a fact, if it is held, by what the turn said."""
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
    """Let a memory be recalled no more from `at` on; what it had closed holds as long as if it had not been told."""
    values = {"persona": persona_id, "id": memory_id, "at": at}
    taken = db.conn.execute(
        "UPDATE memories SET taken_back = :at WHERE persona_id = :persona AND id = :id AND taken_back IS NULL", values
    )
    if taken.rowcount:
        _reopen_closed(db, memory_id)
        # Its sessions are to be summed up anew, without it.
        db.conn.execute(
            "UPDATE sessions SET learned = 0 WHERE id IN "
            "(SELECT t.session_id FROM turns t JOIN sources o ON o.turn_id = t.id WHERE o.memory_id = ?)",
            (memory_id,),
        )


def undo_effects(db: Database, memory_id: int) -> None:
    """Undo what a memory did to others, for it is forgotten: what it closed or corrected holds on."""
    corrected = db.conn.execute(
        "SELECT id FROM memories WHERE superseded_by = ? AND taken_back IS NOT NULL", (memory_id,)
    ).fetchall()
    _reopen_closed(db, memory_id)
    for (held,) in corrected:
        reinstate(db, held)


def reinstate(db: Database, memory_id: int) -> None:
    """Let what was taken back be recalled again."""
    db.conn.execute("UPDATE memories SET taken_back = NULL, superseded_by = NULL WHERE id = ?", (memory_id,))
    supersede(db, memory_id)


def _reopen_closed(db: Database, memory_id: int) -> None:
    """Let what a memory closed hold as long as that one was to; what it corrected stays wrong."""
    db.conn.execute(
        "UPDATE memories SET (valid_to, superseded_by) = (SELECT valid_to, superseded_by FROM memories WHERE id = :id) "
        "WHERE superseded_by = :id AND taken_back IS NULL",
        {"id": memory_id},
    )


def supersede(db: Database, new_id: int) -> None:
    """Of two facts about one attribute of one person, let the later said hold from then on and close the earlier."""
    persona_id, store, attribute, speaker, since = db.conn.execute(
        "SELECT persona_id, store, attribute, speaker, valid_from FROM memories WHERE id = ?", (new_id,)
    ).fetchone()
    if since is None or not attribute or store not in SEMANTIC:
        return
    # That the attribute is not empty is said again, for that alone lets SQLite use its index.
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
    """Let a fact that was told again after the new one came to hold hold again from then on.

    Told twice, it was one memory; what is told of the time between makes it two.
    """
    later = (
        "SELECT o.turn_id, t.said_at FROM sources o JOIN turns t ON t.id = o.turn_id JOIN memories m ON m.id = "
        "o.memory_id WHERE m.id = ? AND t.said_at > m.valid_to ORDER BY t.said_at"
    )
    closed = "SELECT * FROM memories WHERE superseded_by = ? AND taken_back IS NULL"
    for row in list(db.query(closed, [new_id])):
        tellings = db.conn.execute(later, (row["id"],)).fetchall()
        if not tellings:
            continue
        known = "SELECT 1 FROM memories WHERE persona_id = ? AND identity = ?"
        identities = (rows.learned_identity(rows.memory_draft(row), period) for period in count(1))
        again = {
            **row,
            "id": next_id(db, "memories"),
            "identity": next(i for i in identities if not db.conn.execute(known, (persona_id, i)).fetchone()),
            "said_at": tellings[0][1],
            "valid_from": tellings[0][1],
            "valid_to": None,
            "superseded_by": None,
        }
        insert(db, "memories", [again])
        db.conn.executemany(
            "UPDATE sources SET memory_id = ? WHERE memory_id = ? AND turn_id = ?",
            [(again["id"], row["id"], turn_id) for turn_id, _ in tellings],
        )
        supersede(db, again["id"])
