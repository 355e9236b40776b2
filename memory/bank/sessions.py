"""Store personas and sessions, inside a transaction that the bank opened.

A session that comes again is found by its identity and gets only the turns it lacks.
"""

import operator
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sqlite_utils import Database

from memory import named_queries
from memory.bank import journal, rows
from memory.bank.facts import add_learned, retract
from memory.bank.rows import clean_draft, draft_columns, insert, link, memory_row, next_id
from memory.errors import MemoirError
from memory.types import QUESTION, MemoryDraft, Persona, PersonaDraft, SessionDraft, TurnDraft, WriteCounts

SQL = named_queries(__file__)

LONG, PART = 1_500, 1_000
"""Characters of a message from which it is remembered in parts, and of a part: an encoder reads some thousand."""

_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？])|\n+")

EarlierTurns = Sequence[tuple[str, str, str]]
"""Turns by what equal ones are counted by: their source's name for them, the speaker, and the words."""


def find_or_create_persona(db: Database, draft: PersonaDraft, created_at: str | None = None) -> Persona:
    """The persona of a draft; created, now or as of `created_at`, if the bank has none."""
    draft = clean_draft(draft)
    name = " ".join(draft.name.split())
    if not name:
        raise MemoirError("a persona needs a name")
    query = "SELECT * FROM personas WHERE CASE WHEN :id <> '' THEN external_id = :id ELSE name = :name END"
    matches = list(db.query(query, {"id": draft.external_id, "name": name}))
    if matches:
        return rows.read(Persona, matches[0])
    if db.table("personas").count_where("name = ?", [name]):
        name = f"{name} ({draft.external_id})"
    new = {**draft_columns(draft), "id": next_id(db, "personas"), "name": name, "created_at": created_at or rows.now()}
    insert(db, "personas", [new])
    made = rows.read(Persona, next(db.query("SELECT * FROM personas WHERE id = ?", [new["id"]])))
    journal.record(db, "created", made.id, {"personas": 1})
    return made


def store_session(db: Database, persona_id: int, draft: SessionDraft) -> WriteCounts:
    """Store a session, its turns, a dialogue memory for each, and what was learned from it."""
    draft = clean_draft(replace(draft, turns=tuple(t for t in draft.turns if _cites_nothing_lost(db, t))))
    session_id, before, new = _session(db, persona_id, draft)
    turn_ids, fresh = _turns(db, session_id, draft, before)
    stored = WriteCounts(sessions=int(new), turns=len(fresh), known_turns=len(draft.turns) - len(fresh))
    said = [(draft.turns[place], turn_ids[place], identity) for place, identity in fresh]
    stored += _dialogue(db, persona_id, session_id, draft, said)
    stored += add_learned(db, persona_id, session_id, list(zip(turn_ids, draft.turns, strict=True)), draft.learned)
    if draft.retracts:
        at = rows.format_time(draft.turns[-1].said_at or draft.started_at or datetime.now(UTC))
        for memory_id in draft.retracts:
            retract(db, persona_id, memory_id, at)
    if fresh:
        heard_at, title = (rows.now(), draft.title) if draft.source == "chat" else (None, "")
        db.conn.execute(SQL["hear"], (heard_at, title, session_id))
    return stored


def _cites_nothing_lost(db: Database, turn: TurnDraft) -> bool:
    """Whether all memories that an answer cites are there.

    One may be forgotten while the answer is written. Forgetting deletes the answers that cite it; this one comes late.
    """
    query = "SELECT count(*) FROM memories WHERE id IN (SELECT value FROM json_each(?))"
    cites = set(turn.cites)
    return not cites or db.conn.execute(query, (rows.json_list(cites),)).fetchone()[0] == len(cites)


def record_sessions(db: Database, persona_id: int, sessions: Sequence[SessionDraft], stored: WriteCounts) -> None:
    """Record sessions in the journal: an exchange of a chat with what it recalled, or a batch of an import."""
    if not stored.turns:
        return
    chats = [s.external_id for s in sessions if s.source == "chat"]
    recalled = {i for s in sessions for t in s.turns for i in t.cites}
    counts = {**stored.added, "recalled": len(recalled), "taken back": sum(len(s.retracts) for s in sessions)}
    is_one_chat = len(chats) == len(sessions) and len(set(chats)) == 1
    action, by = ("talked", f"chat {chats[0]}") if is_one_chat else ("imported", "")
    journal.record(db, action, persona_id, counts, recalled, by)


def _session(db: Database, persona_id: int, draft: SessionDraft) -> tuple[int, EarlierTurns, bool]:
    """The session of a draft, its turns before those of the draft, and whether it is new."""
    first = draft.turns[0] if draft.turns else TurnDraft("", "other", "")
    identity = rows.digest(
        draft.external_id or (draft.started_text, rows.format_time(draft.started_at), first.speaker, first.text)
    )
    existing = rows.find_by_identity(db, "sessions", persona_id, identity)
    if existing is None and draft.source == "chat":
        values = {"persona": persona_id, "chat": draft.external_id}
        existing = next((int(i) for (i,) in db.conn.execute(SQL["continue_imported"], values).fetchall()), None)
    if existing is not None:
        return existing, (), False
    if draft.source == "import" and (overlap := _find_overlap(db, persona_id, draft)):
        return *overlap, False
    session_id = next_id(db, "sessions")
    new = {"id": session_id, **draft_columns(draft), "persona_id": persona_id, "identity": identity}
    insert(db, "sessions", [new])
    return session_id, (), True


def _find_overlap(db: Database, persona_id: int, draft: SessionDraft) -> tuple[int, EarlierTurns] | None:
    """The session whose later turns a log repeats, and its turns before those.

    A log that is exported again may begin anywhere, though it was cut at the same pauses. From where it begins, it must
    agree with the known session line by line; then a message of the same words in the same minute is neither lost nor
    stored twice.
    """
    first = draft.turns[0] if draft.turns else None
    # What its source gives a name of its own is no other; a log's session is named after its first message, if at all.
    if first is None or first.said_at is None or draft.external_id != first.external_id:
        return None
    at = rows.format_time(first.said_at)
    # What distinguishes one message of a log from another.
    new_signatures = [
        t.external_id or (t.speaker, t.text, rows.format_time(t.said_at or draft.started_at)) for t in draft.turns
    ]
    for (session_id,) in db.conn.execute(SQL["imported_with_turn_at"], (persona_id, at)).fetchall():
        stored_turns = db.conn.execute(SQL["turns"], (session_id,)).fetchall()
        signatures = [external_id or tuple(others) for external_id, *others in stored_turns]
        for place, signature in enumerate(signatures):
            if signature == new_signatures[0] and all(map(operator.eq, signatures[place:], new_signatures)):
                return session_id, [row[:3] for row in stored_turns[:place]]
    return None


def insert_turns(
    db: Database, session_id: int, turns: Sequence[rows.Row], *, in_place: bool = False
) -> tuple[list[int], list[int]]:
    """Insert the rows of turns that a session lacks, behind those it has, or `in_place` at the positions in them.

    Returns the ids of all the turns, and the places among them of those that are new.
    """
    query = "SELECT identity, id, position FROM turns WHERE session_id = ?"
    known = {identity: (turn_id, position) for identity, turn_id, position in db.conn.execute(query, (session_id,))}
    behind = 1 + max((position for _, position in known.values()), default=-1)
    new_id = next_id(db, "turns")
    ids: list[int] = []
    new: dict[int, dict[str, Any]] = {}
    for place, turn in enumerate(turns):
        if turn["identity"] in known:
            ids.append(known[turn["identity"]][0])
            continue
        ids.append(new_id + len(new))
        position = turn["position"] if in_place else behind + len(new)
        new[place] = {**turn, "id": ids[-1], "session_id": session_id, "position": position}
    insert(db, "turns", list(new.values()))
    return ids, list(new)


def _turns(
    db: Database, session_id: int, draft: SessionDraft, before: EarlierTurns
) -> tuple[list[int], list[tuple[int, str]]]:
    """Insert the new turns; returns the ids of all turns, and the position and identity of each new one."""
    seen = Counter(before)
    found: list[dict[str, Any]] = []
    for turn in draft.turns:
        same = (turn.external_id, turn.speaker, turn.text)
        said_at, said_text = turn.said_at or draft.started_at, turn.said_text or draft.started_text
        own = {"identity": rows.turn_identity(turn, seen[same]), "said_at": rows.format_time(said_at)}
        found.append({**draft_columns(turn), **own, "said_text": said_text})
        seen[same] += 1
    ids, fresh = insert_turns(db, session_id, found)
    cites = ((ids[place], draft.turns[place].cites) for place in fresh)
    link(db, "cites", ((turn_id, memory, n) for turn_id, cited in cites for n, memory in enumerate(cited, start=1)))
    return ids, [(place, found[place]["identity"]) for place in fresh]


def _dialogue(
    db: Database, persona_id: int, session_id: int, session: SessionDraft, turns: Sequence[tuple[TurnDraft, int, str]]
) -> WriteCounts:
    """A memory for each turn, or for each part of a long message."""
    first_id = next_id(db, "memories")
    new_rows: list[dict[str, Any]] = []
    links: list[tuple[int, int, str, bool]] = []
    for turn, turn_id, identity in turns:
        if not turn.recallable or not turn.text.strip():
            continue
        texts = parts_of(turn.text) if session.source == "chat" else [turn.text]
        for place, text in enumerate(texts):
            is_dated = turn.event is not None and (len(texts) == 1 or turn.event_text in text)
            draft = MemoryDraft(
                "dialogue",
                text,
                key=turn.key,
                event=turn.event if is_dated else None,
                event_text=turn.event_text if is_dated else "",
                said_at=turn.said_at or session.started_at,
                speaker=turn.speaker,
                attribute=QUESTION if turn.asks else "",
                external_id=turn.external_id,
            )
            memory_id, own = first_id + len(new_rows), rows.part_identity(session_id, identity, place)
            new_rows.append(memory_row(memory_id, persona_id, session_id, own, draft))
            links.append((memory_id, turn_id, text if len(texts) > 1 else "", True))
    insert(db, "memories", new_rows)
    link(db, "sources", links)
    return WriteCounts(memories=len(new_rows))


def parts_of(text: str) -> list[str]:
    """A text of a chat as it is remembered: whole, or a long one in parts, each as it stands there.

    A part ends with a sentence or a line, if one ends in it.
    """
    if len(text) <= LONG:
        return [text]
    parts, begin = [], 0
    while begin < len(text):
        end = begin + PART
        if end < len(text):
            end = max((m.end() for m in _SENTENCE_END.finditer(text, begin + 1, end)), default=end)
        parts.append(text[begin:end].strip())
        begin = end
    return [part for part in parts if part]
