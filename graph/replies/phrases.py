"""The replies to small talk and to news in each manner: small_talk.toml and news.toml."""

from __future__ import annotations

import tomllib
import zlib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from pydantic import TypeAdapter

from graph.state import Ask
from graph.understanding.times import describe_day
from memory.bank.bank import Bank
from memory.bank.queries.told import count_known, name_told

WILL_REMEMBER = "I'll remember"
"""Begins what is said after a reaction to news."""

Replies = Mapping[str, tuple[str, ...]]
"""The variants of a reply by manner."""


def _load(file: str) -> dict[str, Replies]:
    tables = tomllib.loads(Path(__file__).with_name(file).read_text("utf-8"))
    return TypeAdapter(dict[str, Replies]).validate_python(tables)


SMALL_TALK, NEWS = _load("small_talk.toml"), _load("news.toml")
"""The replies to each act of small talk, and to each kind of news."""


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
    if not count:
        return "You haven't told me anything yet"
    first = f", the first on {describe_day(since)}" if count > 1 else ""
    return f"I remember {count:,} thing{'s' if count > 1 else ''} you told me{first}"
