"""Which day it is in a chat: now, or the day that its "As of" names."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memory.bank.bank import Bank
from memory.dates.expressions import last_moment
from memory.errors import MemoirError
from memory.tab.formatting import format_day
from memory.tab.templates import hint
from memory.types import Persona

STALE = timedelta(days=30)
"""A history that was brought in and ended longer ago than this is asked as of its own end."""


def moment(as_of: str | None) -> datetime:
    """The moment that a date stands for: the last of the day; now, if there is none."""
    if not as_of or not as_of.strip():
        return datetime.now(UTC).astimezone()
    last = last_moment(as_of)
    if last is None:
        raise MemoirError(f"“{as_of}” is no date. Write it like 2023-10-22, or leave it empty for now.")
    return last


def stale_end(bank: Bank, persona: Persona | None) -> str | None:
    """The last day of a history that ended long ago and was told to Memoir afterwards; None for one that goes on."""
    known = bank.time_range(persona.id) if persona is not None else None
    if persona is None or known is None or datetime.now(UTC) - known.end <= STALE:
        return None
    newest = next(iter(bank.memories(persona.id, store="dialogue", limit=1)), None)
    told_live = newest and newest.said_at and newest.recorded_at - newest.said_at <= STALE
    return None if told_live else f"{known.end:%Y-%m-%d}"


def about(bank: Bank, persona: Persona | None, as_of: str | None) -> str:
    """What the date in "As of" means, in words."""
    if persona is None or not as_of:
        return ""
    at, known = moment(as_of), bank.time_range(persona.id)
    if known is not None and known.end.date() == at.date():
        end = format_day(known.end)
        why = f"This history ends on {end}, so that day counts as today: “last week” is the week before it."
        return hint(f"{why} Empty “As of” to ask as of now.")
    return hint(
        f"{format_day(at)} counts as today: what was said later is not known yet. Empty “As of” to ask as of now."
    )
