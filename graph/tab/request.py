"""Turn what the page sends into an `Ask`, and wait until the memories can be searched."""

from __future__ import annotations

import time
from collections.abc import Iterator

from graph.assistant import Assistant
from graph.state import USER, Ask
from graph.tab.asking_date import parse_as_of
from graph.tab.messages import Chat
from memory.bank.bank import Bank
from memory.errors import MemoirError
from memory.formatting import format_count
from memory.search.indexer import Indexer, count_pending
from memory.types import TurnDraft

MAX_MESSAGE = 100_000
"""Characters of a message; a longer text is a conversation to import."""

MAX_WAIT = 20.0
"""Seconds that a message waits for memories that are being indexed; after that it is answered without them."""


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
    now = parse_as_of(as_of)
    messages = [bubble for bubble in chat.bubbles if not bubble.title]
    dialogue = tuple(TurnDraft(USER if b.role == "user" else "", b.role, b.text, now) for b in messages)
    return Ask(bank.persona(chat.persona_id), text.strip(), now, chat.id, dialogue, remember)


def wait_until_ready(assistant: Assistant, indexer: Indexer) -> Iterator[str]:
    """Load the embedding model and wait for pending memories; yield what is waited for."""
    embedder = assistant.services.searcher.embedder
    if not embedder.ready:
        yield "Loading the embedding model…"
        embedder.load()
    deadline = time.monotonic() + MAX_WAIT
    while (pending := count_pending(assistant.services.bank, embedder.model)) and time.monotonic() < deadline:
        yield f"Indexing {format_count(pending, 'new memory', 'new memories')}…"
        indexer.wake()
        indexer.wait(0.5)
