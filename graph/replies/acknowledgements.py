"""Acknowledge statements and corrections, and greet, in the persona's manner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graph.replies.manners import manner
from memory.dates.expressions import describe_span

if TYPE_CHECKING:
    from graph.state import Message, Revision

MAX_REPEATED = 300
"""Characters of a statement that are repeated."""


def greet(manner_name: str) -> str:
    """Greet, in reply to small talk."""
    return manner(manner_name).greeting


RETRACTED = "The conversation still contains it. To delete it for good, use the Memory tab."
"""Said after a retraction: the words are still in the bank."""


TOO_MANY = "That matches {n} memories, so I changed nothing. Say which one you mean, or delete them in the Memory tab."
"""Said where one message would retract too many memories."""


def revised(revision: Revision, manner_name: str) -> str:
    """Confirm a correction or a retraction, in the persona's manner."""
    spoken = manner(manner_name)
    if revision.text:
        return spoken.corrected.format(text=_shortened(revision.text))
    if not revision.taken_back:
        return TOO_MANY.format(n=len(revision.old))
    quoted = "” “".join(_shortened(memory.text) for memory in revision.old)
    return f"{spoken.retracted.format(text=quoted)}\n\n{RETRACTED}"


def acknowledge(message: Message, manner_name: str, *, remembered: bool) -> str:
    """Repeat what will be remembered, with the date it resolves to, in the persona's manner."""
    spoken = manner(manner_name)
    if not remembered:
        return spoken.unrecorded
    short = _shortened(" ".join(message.statements))
    when = message.stated_at
    if when is None or when.end > MAX_REPEATED:
        return spoken.noted.format(text=short)
    return spoken.noted_on.format(text=short, date=describe_span(when.span))


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_REPEATED else text[:MAX_REPEATED].rstrip() + "…"
