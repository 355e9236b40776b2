"""The date that a chat's questions are answered as of: now, or the day in "Answer as of"."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memory.bank.bank import Bank
from memory.dates.expressions import last_moment
from memory.errors import MemoirError
from memory.formatting import format_day
from memory.types import Persona

STALE_AFTER = timedelta(days=30)
"""An imported history that ended longer ago than this is asked as of its own end."""


def parse_as_of(as_of: str | None) -> datetime:
    """Return the last moment of a day as typed; now for an empty one.

    Raises:
        MemoirError: it is not a date.
    """
    if not as_of or not as_of.strip():
        return datetime.now(UTC).astimezone()
    last = last_moment(as_of)
    if last is None:
        raise MemoirError(f"“{as_of}” is not a date. Write it like 2023-10-22, or leave it empty for now.")
    return last


def last_day(bank: Bank, persona: Persona | None) -> str | None:
    """Return the last day of a history that was imported long after it ended; None for one that goes on."""
    period = bank.time_range(persona.id) if persona is not None else None
    if persona is None or period is None or datetime.now(UTC) - period.end <= STALE_AFTER:
        return None
    newest = next(iter(bank.memories(persona.id, store="dialogue", limit=1)), None)
    live = newest and newest.said_at and newest.recorded_at - newest.said_at <= STALE_AFTER
    return None if live else f"{period.end:%Y-%m-%d}"


def explain_as_of(bank: Bank, persona: Persona | None, as_of: str | None) -> str:
    """Say what the chosen date means; nothing without one."""
    if persona is None or not as_of:
        return ""
    day, period = parse_as_of(as_of), bank.time_range(persona.id)
    if period is not None and period.end.date() == day.date():
        meaning = (
            f"This history ends on {format_day(period.end)}, so questions are answered as of that day: “last week” is "
            "the week before it."
        )
    else:
        meaning = f"Questions are answered as of {format_day(day)}. What was said later is ignored."
    return f"{meaning} Clear the date to ask as of now."
