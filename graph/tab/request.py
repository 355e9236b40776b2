"""Turn what the page sends into an `Ask`: the message, and the date that it is answered as of."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from graph.assistant import Assistant
from graph.state import USER, Ask
from graph.tab.messages import Chat
from memory.bank.bank import Bank
from memory.dates.expressions import last_moment
from memory.errors import MemoirError
from memory.formatting import format_count, format_day
from memory.search.indexer import Indexer, count_pending
from memory.types import Persona, TurnDraft

MAX_MESSAGE = 100_000
"""Characters of a message; a longer text is a conversation to import."""

MAX_WAIT = 1.0
"""Seconds that a message waits for memories that are being indexed; after that these are found by their words."""


MAX_CLOCK_CHANGE = timedelta(days=1)
"""How far a clock may be set back without hiding what was said before; what lies further ahead was dated on purpose."""


def build_ask(bank: Bank, text: str, chat: Chat, as_of: str | None, *, remember: bool) -> Ask:
    """Build the question to answer.

    Raises:
        MemoirError: the chat was lost or has no persona, the message is too long, or `as_of` is not a date.
    """
    if not chat.id:  # the server was restarted, or dropped the state of a window that was out of touch for an hour
        raise MemoirError("This page has lost its connection to the chat. Reload it to continue.")
    if chat.persona_id is None:
        raise MemoirError("No persona yet. Create one first.")
    if len(text) > MAX_MESSAGE:
        raise MemoirError(
            f"This message has {len(text):,} characters; the limit is {MAX_MESSAGE:,}. Shorten it, or "
            "import it as a file."
        )
    now = asked_at(bank, chat.persona_id, as_of)
    messages = [bubble for bubble in chat.bubbles if not bubble.title]
    dialogue = tuple(TurnDraft(USER if b.role == "user" else "", b.role, b.text, now) for b in messages)
    return Ask(bank.persona(chat.persona_id), text.strip(), now, chat.id, dialogue, remember)


def wait_until_ready(assistant: Assistant, indexer: Indexer, persona_id: int) -> Iterator[str]:
    """Load the models and wait for pending memories of a persona; yield what is waited for."""
    embedder = assistant.services.searcher.embedder
    if not embedder.ready:
        yield "Loading the embedding model…"
        embedder.load()
        assistant.services.line_reader.load()
    deadline = time.monotonic() + MAX_WAIT
    bank = assistant.services.bank
    while (pending := count_pending(bank, embedder.model, persona_id)) and time.monotonic() < deadline:
        yield f"Indexing {format_count(pending, 'new memory', 'new memories')}…"
        indexer.wake()
        indexer.wait(0.5)


def asked_at(bank: Bank, persona_id: int, as_of: str | None) -> datetime:
    """Return the moment that a message is said at: the last of a chosen day, or now.

    Now is not before what was last said, although the clock may have been set back.

    Raises:
        MemoirError: `as_of` is not a date.
    """
    now = parse_as_of(as_of)
    if as_of and as_of.strip():
        return now
    said = bank.last_said(persona_id, now + MAX_CLOCK_CHANGE)
    return max(now, said.astimezone(now.tzinfo)) if said else now


def parse_as_of(as_of: str | None) -> datetime:
    """Return the last moment of a day as typed; now for an empty one.

    Raises:
        MemoirError: it is not a date.
    """
    if not as_of or not as_of.strip():
        return datetime.now(UTC).astimezone()
    last = last_moment(as_of)
    if last is None:
        raise MemoirError(f"“{as_of}” is not a date. Write for example 2023-10-22, or leave it empty to ask as of now.")
    return last


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
