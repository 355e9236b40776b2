"""How drafts become rows, inside a transaction that the bank opened.

A session that comes again is found by its identity and given only the turns it lacks. What is learned from turns quotes
them, or is refused; told again while it holds, it is one memory with both tellings as its sources. A fact that differs
from the one held for the same attribute closes it from the day it was said, and both are kept; a correction takes the
wrong one back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from itertools import count
from typing import Any, TypeVar

from sqlite_utils import Database

from memory import lexical, rows
from memory.quotes import quoted
from memory.types import SEMANTIC, Learned, MemoryDraft, PersonaDraft, Quote, SessionDraft, Stored, Turn, TurnDraft

Draft = TypeVar("Draft", PersonaDraft, SessionDraft, TurnDraft, MemoryDraft)


def session(db: Database, persona_id: int, draft: SessionDraft) -> Stored:
    """Store one session, its turns, a dialogue memory a turn, and what was learned from it."""
    draft = replace(storable(draft), turns=tuple(storable(t) for t in draft.turns))
    session_id, new = _session_id(db, persona_id, draft)
    turn_ids, fresh = _turns(db, session_id, draft)
    stored = Stored(sessions=int(new), turns=len(fresh), known_turns=len(draft.turns) - len(fresh))
    stored += _dialogue(db, persona_id, session_id, [(draft.turns[i], turn_ids[i], identity) for i, identity in fresh])
    stored += learned(db, persona_id, session_id, list(zip(turn_ids, draft.turns, strict=True)), draft.learned)
    if draft.taken_back:
        at = rows.stamp(draft.turns[-1].said_at or draft.started_at or datetime.now(UTC))
        for memory_id in draft.taken_back:
            take_back(db, persona_id, memory_id, at)
    if fresh:
        heard = rows.stamp(datetime.now(UTC)) if draft.source == "chat" else None
        db.conn.execute("UPDATE sessions SET learned = 0, heard_at = ? WHERE id = ?", (heard, session_id))
    return stored


def memory(db: Database, persona_id: int, draft: MemoryDraft) -> Stored:
    """Store one memory that no turn said, unless it is known, and settle which of two facts holds now."""
    draft = storable(draft)
    identity = rows.memory_identity(draft)
    known = "SELECT 1 FROM memories WHERE persona_id = ? AND identity = ?"
    if db.conn.execute(known, (persona_id, identity)).fetchone():
        return Stored(known_memories=1)
    _add(db, persona_id, None, identity, draft)
    return Stored(memories=1)


def learned(
    db: Database,
    persona_id: int,
    session_id: int,
    turns: Sequence[tuple[int, TurnDraft | Turn]],
    items: Sequence[Learned],
) -> Stored:
    """Store what was learned from turns, given with their ids; what quotes nothing of them is refused."""
    stored = Stored()
    ids: list[int | None] = []
    for item in items:
        quotes = [(turns[q.turn][0], said, q.alone) for q in item.quotes if (said := _said(q, turns))]
        if not quotes:
            ids.append(None)
            stored += Stored(refused=1)
            continue
        if item.ends:
            ids.append(None)
            _end(db, persona_id, item.memory, quotes[0][0])
            continue
        memory_id, new = _learn(db, persona_id, session_id, item, quotes)
        ids.append(memory_id)
        stored += Stored(memories=1) if new else Stored(known_memories=1)
        earlier = {ids[place] for place in item.rests_on if 0 <= place < len(ids)} - {None, memory_id}
        bases = [(memory_id, basis) for basis in earlier]
        db.conn.executemany("INSERT OR IGNORE INTO rests_on (memory_id, basis_id) VALUES (?, ?)", bases)
    return stored


def take_back(db: Database, persona_id: int, memory_id: int, at: str | None) -> None:
    """Let a memory be recalled no more from `at` on; what it had closed holds as long as if it had not been told."""
    values = {"persona": persona_id, "id": memory_id, "at": at}
    taken = db.conn.execute(
        "UPDATE memories SET taken_back = :at WHERE persona_id = :persona AND id = :id AND taken_back IS NULL", values
    )
    if taken.rowcount:
        reopen(db, memory_id)
        # Its sessions are to be summed up anew, without it.
        db.conn.execute(
            "UPDATE sessions SET learned = 0 WHERE id IN "
            "(SELECT t.session_id FROM turns t JOIN sources o ON o.turn_id = t.id WHERE o.memory_id = ?)",
            (memory_id,),
        )


def reopen(db: Database, memory_id: int) -> None:
    """Undo what a memory did to others: what it closed holds on, what it corrected is no longer taken back."""
    corrected = db.conn.execute(
        "SELECT id FROM memories WHERE superseded_by = ? AND taken_back IS NOT NULL", (memory_id,)
    ).fetchall()
    db.conn.execute(
        "UPDATE memories SET (valid_to, superseded_by) = (SELECT valid_to, superseded_by FROM memories WHERE id = :id) "
        "WHERE superseded_by = :id AND taken_back IS NULL",
        {"id": memory_id},
    )
    for (held,) in corrected:
        db.conn.execute("UPDATE memories SET taken_back = NULL, superseded_by = NULL WHERE id = ?", (held,))
        _settle(db, held)


def _said(quote: Quote, turns: Sequence[tuple[int, TurnDraft | Turn]]) -> str:
    """The quoted words as they stand in their turn, or nothing."""
    return quoted(quote.words, turns[quote.turn][1].text) if 0 <= quote.turn < len(turns) else ""


def _end(db: Database, persona_id: int, fact: MemoryDraft, turn_id: int) -> None:
    """Close a fact, if it is held, by what the turn said."""
    values: dict[str, object] = {"persona": persona_id, "store": fact.store, "text": fact.text, "speaker": fact.speaker}
    values |= {"attribute": fact.attribute, "turn": turn_id, "since": rows.stamp(fact.valid_from or fact.said_at)}
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
    _tell_again(db, persona_id, found[0])


def _learn(
    db: Database, persona_id: int, session_id: int, item: Learned, quotes: Sequence[tuple[int, str, bool]]
) -> tuple[int, bool]:
    """The id of a learned memory, and whether it is new: told again while it holds, it has one more source."""
    draft = storable(item.memory)
    since = rows.stamp(draft.valid_from or draft.said_at) or ""
    turn_ids = {turn_id for turn_id, _, _ in quotes}
    for period in count():
        identity = rows.learned_identity(draft, period)
        held = db.conn.execute(
            "SELECT id, coalesce(valid_from, '') <= :since AND coalesce(valid_to, '9') > :since "
            "AND taken_back IS NULL, (SELECT group_concat(turn_id) FROM sources WHERE memory_id = m.id) "
            "FROM memories m WHERE persona_id = :persona AND identity = :identity",
            {"since": since, "persona": persona_id, "identity": identity},
        ).fetchone()
        if held is None:
            break
        memory_id, holds, sources = held
        if holds or turn_ids & {int(i) for i in (sources or "").split(",") if i}:
            _point_to(db, [(memory_id, *quote) for quote in quotes])
            return int(memory_id), False
    if item.replaces is not None:
        take_back(db, persona_id, item.replaces, rows.stamp(draft.said_at))
    memory_id = _add(db, persona_id, session_id, identity, draft)
    _point_to(db, [(memory_id, *quote) for quote in quotes])
    _tell_again(db, persona_id, memory_id)
    if item.replaces is not None:
        db.conn.execute("UPDATE memories SET superseded_by = ? WHERE id = ?", (memory_id, item.replaces))
        # A correction is put together of what was said first and what was said of it.
        db.conn.execute(
            "INSERT OR IGNORE INTO sources (memory_id, turn_id, quote, alone) "
            "SELECT ?, turn_id, quote, 0 FROM sources WHERE memory_id = ?",
            (memory_id, item.replaces),
        )
    return memory_id, True


def _tell_again(db: Database, persona_id: int, new_id: int) -> None:
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
        identities = (rows.learned_identity(rows.draft(row), period) for period in count(1))
        again = {
            **row,
            "id": _next_id(db, "memories"),
            "identity": next(i for i in identities if not db.conn.execute(known, (persona_id, i)).fetchone()),
            "said_at": tellings[0][1],
            "valid_from": tellings[0][1],
            "valid_to": None,
            "superseded_by": None,
        }
        _insert(db, "memories", [again])
        db.conn.executemany(
            "UPDATE sources SET memory_id = ? WHERE memory_id = ? AND turn_id = ?",
            [(again["id"], row["id"], turn_id) for turn_id, _ in tellings],
        )
        _settle(db, again["id"])


def _add(db: Database, persona_id: int, session_id: int | None, identity: str, draft: MemoryDraft) -> int:
    memory_id = _next_id(db, "memories")
    _insert(db, "memories", [_memory_row(memory_id, persona_id, session_id, identity, draft)])
    _settle(db, memory_id)
    return memory_id


def storable(draft: Draft) -> Draft:
    """The draft with texts that a bank can hold (see `rows.clean`), whoever wrote them."""
    texts = {f.name: text for f in fields(draft) if isinstance(text := getattr(draft, f.name), str)}
    unfit: dict[str, Any] = {name: clean for name, text in texts.items() if (clean := rows.clean(text)) != text}
    return replace(draft, **unfit) if unfit else draft


def _session_id(db: Database, persona_id: int, draft: SessionDraft) -> tuple[int, bool]:
    first = draft.turns[0] if draft.turns else TurnDraft("", "other", "")
    identity = rows.digest(
        draft.external_id or (draft.started_text, rows.stamp(draft.started_at), first.speaker, first.text)
    )
    held = db.conn.execute(
        "SELECT id FROM sessions WHERE persona_id = ? AND identity = ?", (persona_id, identity)
    ).fetchone()
    if held is not None:
        return int(held[0]), False
    table = db.table("sessions").insert(
        {
            "persona_id": persona_id,
            "identity": identity,
            "external_id": draft.external_id,
            "title": draft.title,
            "source": draft.source,
            "started_at": rows.stamp(draft.started_at),
            "started_text": draft.started_text,
        }
    )
    assert isinstance(table.last_pk, int)
    return table.last_pk, True


def _turns(db: Database, session_id: int, draft: SessionDraft) -> tuple[list[int], list[tuple[int, str]]]:
    """Insert the turns that are new; the ids of all, and the places in the draft (with identity) of the new ones."""
    known = {
        str(identity): int(i)
        for i, identity in db.conn.execute("SELECT id, identity FROM turns WHERE session_id = ?", (session_id,))
    }
    position = db.conn.execute(
        "SELECT coalesce(max(position), -1) FROM turns WHERE session_id = ?", (session_id,)
    ).fetchone()[0]
    next_id = _next_id(db, "turns")
    seen: Counter[tuple[str, str, str]] = Counter()
    ids: list[int] = []
    fresh: list[tuple[int, str]] = []
    new_rows: list[dict[str, Any]] = []
    for place, turn in enumerate(draft.turns):
        same = (turn.external_id, turn.speaker, turn.text)
        identity = rows.turn_identity(turn, seen[same])
        seen[same] += 1
        if identity in known:
            ids.append(known[identity])
            continue
        ids.append(next_id + len(new_rows))
        fresh.append((place, identity))
        new_rows.append(
            {
                "id": ids[-1],
                "session_id": session_id,
                "position": position + 1 + len(new_rows),
                "identity": identity,
                "speaker": turn.speaker,
                "role": turn.role,
                "text": turn.text,
                "said_at": rows.stamp(turn.said_at or draft.started_at),
                "said_text": turn.said_text or draft.started_text,
                "external_id": turn.external_id,
            }
        )
    _insert(db, "turns", new_rows)
    return ids, fresh


def _dialogue(db: Database, persona_id: int, session_id: int, said: Sequence[tuple[TurnDraft, int, str]]) -> Stored:
    next_id = _next_id(db, "memories")
    new_rows: list[dict[str, Any]] = []
    links: list[tuple[int, int, str, bool]] = []
    times = {
        int(i): at for i, at in db.conn.execute("SELECT id, said_at FROM turns WHERE session_id = ?", (session_id,))
    }
    for turn, turn_id, identity in said:
        if not turn.recallable or not turn.text.strip():
            continue
        memory_id = next_id + len(new_rows)
        draft = MemoryDraft(
            "dialogue",
            turn.text,
            key=turn.key,
            event=turn.event,
            event_text=turn.event_text,
            speaker=turn.speaker,
            external_id=turn.external_id,
        )
        row = _memory_row(memory_id, persona_id, session_id, rows.digest(session_id, identity), draft)
        new_rows.append({**row, "said_at": times[turn_id], "valid_from": times[turn_id]})
        links.append((memory_id, turn_id, "", True))
    _insert(db, "memories", new_rows)
    _point_to(db, links)
    return Stored(memories=len(new_rows))


def _memory_row(
    memory_id: int, persona_id: int, session_id: int | None, identity: str, draft: MemoryDraft
) -> dict[str, Any]:
    key = draft.key or draft.text
    return {
        "id": memory_id,
        "persona_id": persona_id,
        "session_id": session_id,
        "store": draft.store,
        "identity": identity,
        "text": draft.text,
        "key": key,
        "key_hash": rows.digest(key),
        "terms": indexed_terms(draft.speaker, key),
        "speaker": draft.speaker,
        "attribute": draft.attribute,
        "event_start": rows.stamp(draft.event.start) if draft.event else None,
        "event_end": rows.stamp(draft.event.end) if draft.event else None,
        "event_text": draft.event_text,
        "said_at": rows.stamp(draft.said_at),
        "recorded_at": rows.stamp(datetime.now(UTC)),
        "valid_from": rows.stamp(draft.valid_from or draft.said_at),
        "valid_to": rows.stamp(draft.valid_to),
        "superseded_by": None,
        "emotion": draft.emotion,
        "scene": draft.scene,
        "external_id": draft.external_id,
    }


def indexed_terms(speaker: str, key: str) -> str:
    """The words under which a memory is found: who said it and what."""
    return " ".join(lexical.terms(f"{speaker} {key}"))


def _settle(db: Database, new_id: int) -> None:
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


def _insert(db: Database, table: str, new_rows: Sequence[dict[str, Any]]) -> None:
    # Not through sqlite-utils: it takes six times as long, and an import does little else.
    if new_rows:
        names = new_rows[0].keys()
        statement = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({', '.join(f':{name}' for name in names)})"
        db.conn.executemany(statement, new_rows)


def _point_to(db: Database, links: Sequence[tuple[int, int, str, bool]]) -> None:
    """Let memories point to turns: (memory, turn, the words quoted, whether they carry it alone)."""
    # Not through sqlite-utils: where a link is known, it looks for a rowid, which this table does not have.
    db.conn.executemany("INSERT OR IGNORE INTO sources (memory_id, turn_id, quote, alone) VALUES (?, ?, ?, ?)", links)


def _next_id(db: Database, table: str) -> int:
    """The next number that no row of the table ever had: an old citation must not come to mean a new memory."""
    held = db.conn.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).fetchone()
    return 1 + (int(held[0]) if held else 0)
