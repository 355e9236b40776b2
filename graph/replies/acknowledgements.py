"""What a persona says to something that it is told rather than asked."""

from __future__ import annotations

from datetime import datetime

from graph.replies.manners import manner
from graph.state import Revision
from memory.dates.expressions import describe_span, find_times

MAX_TOLD = 300
"""Characters of what was told that are said back."""


def greet(manner_name: str) -> str:
    """The reply to small talk."""
    return manner(manner_name).greeting


TAKEN_BACK = "The history keeps it; to remove it for good, forget it under Memory."
"""What is said after something was taken back: its words are still there."""


TOO_MANY = "That fits {n} things that I remember, so I changed nothing. Say which one, or forget them under Memory."
"""What is said where one message would take back more than anybody means to."""


def revised(revision: Revision, manner_name: str) -> str:
    """Say what was corrected or taken back, in the persona's manner."""
    spoken = manner(manner_name)
    if revision.text:
        return spoken.corrected.format(told=_short(revision.text))
    if not revision.taken_back:
        return TOO_MANY.format(n=len(revision.old))
    told = "” “".join(_short(memory.text) for memory in revision.old)
    return f"{spoken.retracted.format(told=told)}\n\n{TAKEN_BACK}"


def acknowledge(told: str, said_at: datetime, manner_name: str, *, remembered: bool) -> str:
    """Say back what will be remembered, with the date it resolves to, in the persona's manner."""
    spoken = manner(manner_name)
    if not remembered:
        return spoken.unrecorded
    short = _short(told)
    dates = (date for date in find_times(told[:MAX_TOLD], said_at) if date.sure and date.relation == "in")
    when = next(dates, None)
    if when is None:
        return spoken.noted.format(told=short)
    return spoken.noted_on.format(told=short, date=describe_span(when.span))


def _short(told: str) -> str:
    return told if len(told) <= MAX_TOLD else told[:MAX_TOLD].rstrip() + "…"
