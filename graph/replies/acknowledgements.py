"""Acknowledge statements and corrections in the persona's manner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graph.replies.manners import manner
from graph.replies.phrases import GOOD, NEWS, WILL_REMEMBER, reply
from graph.understanding.sentences import shorten
from memory.dates.expressions import describe_span

if TYPE_CHECKING:
    from graph.state import Ask, Message, Revision
    from memory.bank.bank import Bank
    from memory.dates.expressions import TimeExpression

MAX_REPEATED = 300
"""Characters of a statement that are repeated."""

RETRACTED = "The conversation still contains it. To delete it for good, use the Memory tab."
"""Said after a retraction: the words are still in the bank."""

TOO_MANY = "That matches {n} memories, so I changed nothing. Say which one you mean, or delete them in the Memory tab."
"""Said where one message would retract too many memories."""


def revised(revision: Revision, manner_name: str) -> str:
    """Confirm a correction or a retraction, in the persona's manner."""
    spoken = manner(manner_name)
    if revision.text:
        return spoken.corrected.format(text=shorten(revision.text, MAX_REPEATED))
    if not revision.taken_back:
        return TOO_MANY.format(n=len(revision.old))
    quoted = "” “".join(shorten(memory.text, MAX_REPEATED) for memory in revision.old)
    return f"{spoken.retracted.format(text=quoted)}\n\n{RETRACTED}"


def acknowledge(message: Message, ask: Ask, bank: Bank) -> str:
    """React to news; else repeat what will be remembered, with the date it resolves to, in the persona's manner."""
    spoken, when = manner(ask.persona.manner), message.stated_at
    if not ask.remember:
        remembered = spoken.unrecorded
    elif message.news:
        # The day of a birth is good to hear back, that of a death is not.
        remembered = f"{WILL_REMEMBER} {_day(when)}." if message.news == GOOD and when else f"{WILL_REMEMBER} it."
    else:
        short = shorten(" ".join(message.statements), MAX_REPEATED)
        dated = when is not None and when.end <= MAX_REPEATED
        remembered = spoken.noted_on.format(text=short, date=_day(when)) if dated else spoken.noted.format(text=short)
    return f"{reply(NEWS[message.news], ask, bank)} {remembered}" if message.news else remembered


def _day(when: TimeExpression | None) -> str:
    return describe_span(when.span) if when else ""
