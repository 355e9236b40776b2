"""Acknowledge statements and corrections, and greet, in the persona's manner."""

from __future__ import annotations

from graph.replies.manners import manner
from graph.state import Message, Revision
from memory.dates.expressions import describe_span

MAX_REPEATED = 300
"""Characters of a statement that are repeated."""


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
        return spoken.corrected.format(told=_shortened(revision.text))
    if not revision.taken_back:
        return TOO_MANY.format(n=len(revision.old))
    told = "” “".join(_shortened(memory.text) for memory in revision.old)
    return f"{spoken.retracted.format(told=told)}\n\n{TAKEN_BACK}"


def acknowledge(message: Message, manner_name: str, *, remembered: bool) -> str:
    """Repeat what will be remembered, with the date it resolves to, in the persona's manner."""
    spoken = manner(manner_name)
    if not remembered:
        return spoken.unrecorded
    short = _shortened(" ".join(message.statements))
    when = message.stated_at
    if when is None or when.end > MAX_REPEATED:
        return spoken.noted.format(told=short)
    return spoken.noted_on.format(told=short, date=describe_span(when.span))


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_REPEATED else text[:MAX_REPEATED].rstrip() + "…"
