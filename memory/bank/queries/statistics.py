"""Count what a persona's memory holds, for the plots of the Memory tab.

SQLite does the counting: queries return rows by month, or up to a limit, never all of them.
"""

import json
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain
from typing import Literal

from memory import named_queries
from memory.bank.bank import Bank
from memory.bank.queries.told import relationships
from memory.bank.relations import YOU
from memory.types import Memory, Relation, Store

SQL = named_queries(__file__)

_NAMELESS = frozenset({"you", "user", "me", "i", "human", ""})
"""Names that say only that it is the user who speaks."""

BINS = 60
"""Bins that a plot has room for; a longer life is counted by quarters, years or decades."""

FACTS, RELATIONS, PEOPLE = 30, 400, 40
"""Facts and people that a plot has room for, and relations that are read for it."""

Months = dict[str, dict[int, int]]
"""For each kind, its counts by month; months are numbered from the year 0."""


@dataclass(frozen=True, slots=True)
class Tie(Relation):
    """A relation as a memory's `text` says it."""

    text: str


def count_by_month(bank: Bank, persona_id: int, *kinds: Store | Literal["session"]) -> Months:
    """The number of sessions, or of memories of a store by the month in which they happened, were said or began."""
    with bank.reading() as db:
        counts = db.conn.execute(SQL["by_month"], {"persona": persona_id}).fetchall()
    counted: Months = {kind: {} for kind in kinds}
    for kind, month, n in counts:
        if month and kind in counted:
            counted[kind][int(month[:4]) * 12 + int(month[5:7]) - 1] = n
    return counted


def trim_sparse_ends(months: Months) -> tuple[Months, int]:
    """The months without the first and the last 2 % of what is counted, and how much that leaves out.

    Otherwise one memory of a childhood would squeeze the year that a thousand memories are about into one bar.
    """
    ordered = sorted(chain.from_iterable(Counter(counted).elements() for counted in months.values()))
    room = len(ordered) // 50
    shown = set(ordered[room : len(ordered) - room])
    kept = {kind: {m: n for m, n in counted.items() if m in shown} for kind, counted in months.items()}
    return kept, len(ordered) - sum(sum(counted.values()) for counted in kept.values())


def bin_width(months: Months) -> int:
    """The number of months per bin for which all bins fit."""
    known = [month for counted in months.values() for month in counted]
    reach = max(known, default=0) - min(known, default=0) + 1
    return next((wide for wide in (1, 3, 12, 120) if reach / wide < BINS - 1), 1200)


def bin_counts(counted: dict[int, int], wide: int) -> dict[datetime, int]:
    """The counts of months summed by bin, by the beginning of each bin, in order."""
    total: Counter[int] = Counter()
    for month, n in counted.items():
        total[max(month - month % wide, 12)] += n  # there is no year 0
    return {datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC): total[month] for month in sorted(total)}


def dated_facts(bank: Bank, persona_id: int) -> list[Memory]:
    """The facts with a known beginning: those that ended first, then the newest."""
    return bank.read_memories(SQL["dated_facts"], {"persona": persona_id, "limit": FACTS})


def user_name(bank: Bank, persona_id: int) -> str:
    """The user's own name: the one they told, or else under which they speak; "You" if neither is known."""
    with bank.reading() as db:
        speakers = [name for (name,) in db.conn.execute(SQL["user_speakers"], (persona_id,))]
        values = {"persona": persona_id, "user": json.dumps([YOU, *speakers])}
        names = [*(name for (name,) in db.conn.execute(SQL["name_told"], values)), *speakers]
    return next((name for name in names if name.casefold() not in _NAMELESS), YOU)


def relations(bank: Bank, persona_id: int, name: str, as_of: datetime, user: str = YOU) -> list[Tie]:
    """The relationships at a moment, by the memories that held then, of the `PEOPLE` with most of them.

    A relation without a head is one of the person whom most of the others are about, or else of the one called `name`.
    Whatever the user is called in them, they are one person, `user`.
    """
    with bank.reading() as db:
        speakers = [name for (name,) in db.conn.execute(SQL["user_speakers"], (persona_id,))]
    same = dict.fromkeys([YOU, user, user.split()[0], *speakers], user)
    stated = [
        Tie(same.get(each.head, each.head), each.name, same.get(each.tail, each.tail), memory.text)
        for memory in relationships(bank, persona_id, as_of, RELATIONS)
        if (each := memory.relation)
    ]
    middle = next((head for head, _ in Counter(tie.head for tie in stated if tie.head).most_common(1)), name)
    known: dict[tuple[str, str], Tie] = {}
    for tie in stated:
        if tie.tail != (tie.head or middle):
            known.setdefault((tie.tail, tie.head or middle), replace(tie, head=tie.head or middle))
    ties = Counter(name for tie in known.values() for name in (tie.tail, tie.head))
    shown = {name for name, _ in ties.most_common(PEOPLE)}
    return [tie for tie in known.values() if tie.tail in shown and tie.head in shown]
