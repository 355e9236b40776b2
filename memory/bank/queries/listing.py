"""List and count what a persona knows, for the Memory tab.

The list has facts, people and events in groups: each once, and only what can be understood on its own. The bank keeps
more than a person wants to read: what an import states and a conversation repeats, sentences that mean nothing without
the one before them, summaries, and what was retracted. All of it stays searchable.

For the plots SQLite does the counting: queries return rows by month, or up to a limit, never all of them.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from memory import named_queries, read_table
from memory.bank import rows
from memory.bank.bank import NEWEST_FIRST, Bank
from memory.bank.queries.memories import IS_PLAN
from memory.bank.queries.told import relationships
from memory.bank.relations import YOU
from memory.dates.phrases import TIME_WORDS
from memory.search.tokens import content, terms, words
from memory.types import SEMANTIC, Memory, Relation, Store, TimeSpan

SQL = named_queries(__file__)

_WORDS = read_table(__file__, "groups.toml")

GROUPS = ("You", "People", "Places", "Work", "Health", "Plans", "Likes", "Other facts", "Events")
"""What a persona knows, in the order in which it is listed."""

_GROUP_OF = {term: group for group in GROUPS for term in terms(_WORDS.get(group, ""))}

MIN_CONTENT = 2
"""Words that a sentence out of a longer message must have, besides those of time, to be understood without it."""

_OWN, _REFERRING, _NEGATIONS, _DAYS = (frozenset(listed.split()) for listed in _WORDS["sentences"].values())
_CALENDAR = frozenset(terms(" ".join(TIME_WORDS | _DAYS)))
_BEGINS_WITH_PLACE, _DAY = (re.compile(pattern, re.IGNORECASE) for pattern in _WORDS["patterns"].values())

OTHER_KINDS = ("dialogue", "summary", "retracted")
"""What is not listed with the facts, people and events."""

_NAMELESS = frozenset({"you", "user", "me", "i", "human", ""})
"""Names that say only that it is the user who speaks."""

FACTS, RELATIONS, PEOPLE = 30, 400, 40
"""Facts and people that a plot has room for, and relations that are read for it."""

Months = dict[str, dict[int, int]]
"""For each kind, its counts by month; months are numbered from the year 0."""


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A memory that may be listed: what it says as a set of terms, and when it holds or happened."""

    id: int
    is_fact: bool
    negated: bool
    content: frozenset[str]
    start: str
    end: str


def list_memories(bank: Bank, persona_id: int, during: TimeSpan | None = None) -> dict[int, str]:
    """The facts, people and events to list, by id, each with its group; of all times, or of one.

    Pinned ones come first, then group by group what holds, the newest first; plans have the next first; a line
    from which nothing was learned may be one.
    """
    query = SQL["listed"].format(during=SQL["during"], is_plan=IS_PLAN, order=NEWEST_FIRST)
    now = rows.now()
    with bank.reading() as db:
        found = list(db.query(query, {**_values(persona_id, during), "at": now}))
    kept = [row for row in found if row["pinned"] or _is_understandable(row)]
    repeated = _repeated(row for row in kept if not row["pinned"])
    groups = {row["id"]: group_of(row) for row in kept if row["inside"] and row["id"] not in repeated}

    def place(row: rows.Row) -> tuple[bool, int, bool, str]:
        group = groups[row["id"]]
        ended = row["valid_to"] is not None and row["valid_to"] <= now
        return not row["pinned"], GROUPS.index(group), ended, row["event_start"] if group == "Plans" else ""

    return {row["id"]: groups[row["id"]] for row in sorted((r for r in kept if r["id"] in groups), key=place)}


def group_of(row: rows.Row) -> str:
    """The group of a memory's row: by its store, or by the first word of its attribute, relation or text that tells.

    A fact of somebody else is filed with the people.
    """
    if row["is_plan"] or row["store"] == "event":
        return "Plans" if row["is_plan"] else "Events"
    is_of_other = row["relation_head"] not in ("", YOU, row["speaker"]) or row["role"] == "assistant"
    if row["store"] == "relationship" or (row["store"] == "profile" and is_of_other):
        return "People"
    telling = terms(f"{row['attribute']} {row['relation_name']} {row['text']}")
    default = "You" if row["store"] == "profile" else "Other facts"
    return next((_GROUP_OF[term] for term in telling if term in _GROUP_OF), default)


def list_other(bank: Bank, persona_id: int, kind: str, during: TimeSpan | None = None) -> list[int]:
    """The ids of a persona's memories of one of the `OTHER_KINDS`, the newest first; of all times, or of one."""
    query = f"SELECT m.id FROM memories m WHERE m.persona_id = :persona AND {SQL[kind]} AND {SQL['during']}"
    with bank.reading() as db:
        found = db.conn.execute(f"{query} {NEWEST_FIRST}", _values(persona_id, during))
        return [memory_id for (memory_id,) in found]


def _values(persona_id: int, during: TimeSpan | None) -> dict[str, object]:
    start, end = (rows.format_time(during.start), rows.format_time(during.end)) if during else (None, None)
    return {"persona": persona_id, "start": start, "end": end}


def _is_understandable(row: rows.Row) -> bool:
    """Whether a memory says what it is about; only a sentence out of a conversation may not."""
    if row["store"] != "event" or row["session_id"] is None:
        return True
    whole = row["message_length"] is not None and row["message_length"] <= len(row["text"]) + 2
    return stands_alone(row["text"], whole_message=whole)


def stands_alone(sentence: str, *, whole_message: bool = False) -> bool:
    """Whether a sentence can be understood without those around it; a short one only if it is the whole message."""
    if _BEGINS_WITH_PLACE.match(sentence) or _refers_back(sentence):
        return False
    return len(content(sentence) - _CALENDAR) >= (1 if whole_message else MIN_CONTENT)


def _refers_back(sentence: str) -> bool:
    """Whether a sentence comes to a "she" or an "it" before it has named anybody or anything."""
    said = words(sentence)
    for place, word in enumerate(said):
        subject = word.split("'")[0]
        if subject in _REFERRING:
            return not (subject in {"this", "that"} and said[place + 1 : place + 2] and said[place + 1] in TIME_WORDS)
        if subject in _OWN or content(word) - _CALENDAR:
            return False
    return False


def _candidate(row: rows.Row) -> _Candidate:
    is_fact = row["store"] in SEMANTIC
    said = words(row["text"])
    # A fact learned from a chat leaves out whose it is ("Lives in Porto"); an event is told in the first person.
    told = content(f"{row['speaker']} {row['text']}") if is_fact else content(_DAY.sub("", row["text"])) - _CALENDAR
    start, end = ("valid_from", "valid_to") if is_fact else ("event_start", "event_end")
    since = row[start] or ("" if is_fact else row["said_at"] or "")
    negated = any(word in _NEGATIONS or word.endswith("n't") for word in said)
    return _Candidate(row["id"], is_fact, negated, told, since, row[end] or "9")


def _repeated(found: Iterable[rows.Row]) -> set[int]:
    """The ids of the rows that say nothing that another does not say, of an overlapping time."""
    # The fullest first: each is compared with those only that have its rarest term.
    fullest = sorted(map(_candidate, found), key=lambda each: (-len(each.content), each.id))
    with_term: dict[tuple[bool, bool, str], list[_Candidate]] = defaultdict(list)
    repeated: set[int] = set()
    for each in fullest:
        keys = [(each.is_fact, each.negated, term) for term in each.content]
        rarest: Sequence[_Candidate] = min((with_term.get(key, ()) for key in keys), key=len, default=())
        overlapping = (other for other in rarest if each.start < other.end and other.start < each.end)
        if len(keys) >= MIN_CONTENT and any(each.content <= other.content for other in overlapping):
            repeated.add(each.id)
            continue
        for key in keys:
            with_term[key].append(each)
    return repeated


# --- for the plots


@dataclass(frozen=True, slots=True)
class Tie(Relation):
    """A relation as a memory's `text` says it."""

    text: str


def count_by_month(bank: Bank, persona_id: int, *kinds: Store | Literal["session"]) -> Months:
    """The number of sessions, or of memories of a store by the month in which they happened, were said or began."""
    with bank.reading() as db:
        counts = db.conn.execute(SQL["by_month"], {"persona": persona_id}).fetchall()
    return {kind: {month: n for counted, month, n in counts if counted == kind and month} for kind in kinds}


def dated_facts(bank: Bank, persona_id: int) -> list[Memory]:
    """The facts with a known beginning: those that ended first, then the newest."""
    return bank.read_memories(SQL["dated_facts"], {"persona": persona_id, "limit": FACTS})


def relations(bank: Bank, persona_id: int, as_of: datetime) -> tuple[str, list[Tie]]:
    """The user's name, and the relationships at a moment, by the memories that held then, of the `PEOPLE` with most.

    The name is the one that the user told, or else under which they speak; `YOU` if neither is known. Whatever they are
    called in the relationships, they are one person. One without a head is of the person whom most of the others are
    about, or else of the persona.
    """
    with bank.reading() as db:
        speakers = [name for (name,) in db.conn.execute(SQL["user_speakers"], (persona_id,))]
        values = {"persona": persona_id, "user": json.dumps([YOU, *speakers])}
        names = [*(name for (name,) in db.conn.execute(SQL["name_told"], values)), *speakers]
    user = next((name for name in names if name.casefold() not in _NAMELESS), YOU)
    same = dict.fromkeys([YOU, user, user.split()[0], *speakers], user)
    stated = [
        Tie(same.get(each.head, each.head), each.name, same.get(each.tail, each.tail), memory.text)
        for memory in relationships(bank, persona_id, as_of, RELATIONS)
        if (each := memory.relation)
    ]
    heads = Counter(tie.head for tie in stated if tie.head).most_common(1)
    middle = heads[0][0] if heads else bank.persona(persona_id).name
    known: dict[tuple[str, str], Tie] = {}
    for tie in (replace(tie, head=tie.head or middle) for tie in stated):
        if tie.tail != tie.head:
            known.setdefault((tie.tail, tie.head), tie)
    ties = Counter(name for pair in known for name in pair)
    shown = {name for name, _ in ties.most_common(PEOPLE)}
    return user, [tie for tie in known.values() if tie.tail in shown and tie.head in shown]
