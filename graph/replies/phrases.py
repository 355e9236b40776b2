"""What is said without a chat model, in the persona's manner of speaking: manners.toml, small_talk.toml, news.toml."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from pydantic import TypeAdapter

from graph.state import Ask, Message, Revision
from graph.understanding.acts import CRISIS, GOOD, LOSS
from graph.understanding.requests import asked_reminder
from graph.understanding.sentences import shorten
from graph.understanding.times import describe_ahead
from memory import read_table
from memory.bank.bank import Bank
from memory.bank.queries.told import count_known, name_told
from memory.formatting import format_day

WILL_REMEMBER = "I'll remember"
"""Begins what is said after a reaction to news."""

MAX_REPEATED = 300
"""Characters of a statement that are repeated."""

RETRACTED = "It is still in our conversation. To delete it for good, use the Memory tab."
"""Said after a retraction: the words are still in the bank."""

TOO_MANY = "That matches {n} memories, so I changed nothing. Say which one you mean, or delete them in the Memory tab."
"""Said where one message would retract too many memories."""


LEAST_COUNTED = 5
"""Memories from which it is said how many there are."""


@dataclass(frozen=True, slots=True)
class Manner:
    """The phrases of one manner.

    `noted` and `noted_on` are used in turn; the latter takes the date of what was told. `corrected` takes the corrected
    statement, `retracted` the retracted one, `unknown` the reason for an abstention, and `reminded` a quoted memory.
    `unsure` comes before the lines that are closest to an answer, `no_reminder` after what asks for a reminder.
    """

    noted: tuple[str, ...]
    noted_on: tuple[str, ...]
    corrected: str
    retracted: str
    unrecorded: str
    greeting: str
    unknown: str
    unsure: str
    reminded: str
    no_reminder: str


Replies = Mapping[str, tuple[str, ...]]
"""The variants of a reply by manner."""


_REPLIES = TypeAdapter(dict[str, Replies])
SMALL_TALK, NEWS = (_REPLIES.validate_python(read_table(__file__, f"{kind}.toml")) for kind in ("small_talk", "news"))
"""The replies to each act of small talk, and to each kind of news."""
MANNERS = TypeAdapter(dict[str, Manner]).validate_python(read_table(__file__, "manners.toml"))


def manner(name: str) -> Manner:
    """The phrases of a manner; any other description gets the plain phrases."""
    return MANNERS.get(name.strip().casefold(), MANNERS["plain"])


def reply(replies: Replies, ask: Ask, bank: Bank) -> str:
    """A reply in the persona's manner; another variant than before in this chat, while there are any."""
    variants = replies.get(ask.persona.manner.strip().casefold(), replies["plain"])
    filled = [_fill(variant, ask, bank) for variant in variants]
    said = {turn.text.split(f" {WILL_REMEMBER}")[0] for turn in ask.dialogue if turn.role == "assistant"}
    fresh = [text for text in filled if text not in said] or filled
    return fresh[zlib.crc32(ask.turn_id.encode()) % len(fresh)]


def _fill(variant: str, ask: Ask, bank: Bank) -> str:
    name = name_told(bank, ask.persona.id, ask.as_of) if "{user}" in variant else ""
    return variant.format(
        name=ask.persona.name,
        user=f", {name}" if name else "",
        part_of_day=part_of_day(ask.as_of),
        known=_known(ask, bank) if "{known}" in variant else "",
    )


def part_of_day(moment: datetime) -> str:
    """What a greeting calls the time: morning from 4, afternoon from 12, evening from 18 o'clock."""
    return "morning" if 4 <= moment.hour < 12 else "afternoon" if 12 <= moment.hour < 18 else "evening"


def _known(ask: Ask, bank: Bank) -> str:
    """How much is remembered, as a clause."""
    count, since = count_known(bank, ask.persona.id, ask.as_of)
    if count < LEAST_COUNTED:
        return f"You haven't told me {'much' if count else 'anything'} yet"
    return f"I remember {count:,} things you told me, the first on {format_day(since)}"


def confirm(revision: Revision, manner_name: str) -> str:
    """Confirm a correction or a retraction, in the persona's manner."""
    spoken = manner(manner_name)
    if revision.text:
        return spoken.corrected.format(text=shorten(revision.text, MAX_REPEATED))
    if not revision.retracted:
        return TOO_MANY.format(n=len(revision.old))
    said = [memory for memory in revision.old if memory.store == "dialogue"] or revision.old
    quoted = "”, “".join(dict.fromkeys(shorten(memory.text, MAX_REPEATED) for memory in said))
    return f"{spoken.retracted.format(text=quoted)}\n\n{RETRACTED}"


def acknowledge(message: Message, ask: Ask, bank: Bank) -> str:
    """React to news; else say that it will be remembered, with the date that it resolves to, unless that is now."""
    at, when = message.stated_at, ""
    if at is not None and not at.span.start <= ask.as_of < at.span.end:
        when = describe_ahead(at.span, ask.as_of)
    if message.news:
        said = reply(NEWS[message.news], ask, bank)
        if not ask.remember or message.news in (LOSS, CRISIS):
            return said
        date = f", and the date: {when}" if when and message.news == GOOD else ""
        return f"{said} {WILL_REMEMBER} it{date}."
    spoken = manner(ask.persona.manner)
    if not ask.remember:
        return spoken.unrecorded
    variants = spoken.noted_on if when else spoken.noted
    noted = variants[len(ask.dialogue) // 2 % len(variants)].format(date=when)
    asks_reminder = any(asked_reminder(statement, ask.as_of) for statement in message.statements)
    return f"{noted} {spoken.no_reminder}" if asks_reminder else noted
