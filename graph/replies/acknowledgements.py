"""Acknowledge statements and corrections in the persona's manner."""

from __future__ import annotations

from graph.replies.manners import manner
from graph.replies.phrases import NEWS, WILL_REMEMBER, reply
from graph.state import Ask, Message, Revision
from graph.understanding.acts import CRISIS, GOOD, LOSS
from graph.understanding.sentences import shorten
from memory.bank.bank import Bank
from memory.dates.expressions import describe_span

MAX_REPEATED = 300
"""Characters of a statement that are repeated."""

RETRACTED = "It is still in our conversation. To delete it for good, use the Memory tab."
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
    """React to news; else say that it will be remembered, with the date it resolves to, in the persona's manner."""
    if message.news:
        return _react(message, ask, bank)
    spoken, when = manner(ask.persona.manner), _day_named(message, ask)
    if not ask.remember:
        return spoken.unrecorded
    turn = len(ask.dialogue) // 2
    if not when:
        return spoken.noted[turn % len(spoken.noted)]
    return spoken.noted_on[turn % len(spoken.noted_on)].format(date=when)


def _day_named(message: Message, ask: Ask) -> str:
    """When what a message states happens, in words; empty if that is now, or unknown."""
    when = message.stated_at
    return describe_span(when.span) if when and not when.span.start <= ask.as_of < when.span.end else ""


def _react(message: Message, ask: Ask, bank: Bank) -> str:
    """The reply to news; where it is good, with the day that will be remembered."""
    said, when = reply(NEWS[message.news], ask, bank), _day_named(message, ask)
    if not ask.remember or message.news in (LOSS, CRISIS):
        return said
    date = f", and the date: {when}" if when and message.news == GOOD else ""
    return f"{said} {WILL_REMEMBER} it{date}."
