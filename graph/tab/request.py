"""From what the page holds to a question, and what has to be ready before it is put."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from graph.assistant import Assistant
from graph.state import USER, Ask
from graph.tab.asking_date import moment
from graph.tab.messages import Bubble
from memory.bank.bank import Bank
from memory.errors import MemoirError
from memory.search.indexer import Indexer, count_pending
from memory.tab.formatting import format_count
from memory.types import TurnDraft

LONGEST = 100_000
"""Characters of a message; a longer text is a history to bring in, not something said."""

PATIENCE = 20.0
"""Seconds that a message waits for memories which are being indexed; after that it is answered from what there is."""

LOADING = "Loading the embedding model…"


def ask_of(
    bank: Bank,
    text: str,
    before: Sequence[Bubble],
    chat_number: str,
    persona_id: int | None,
    as_of: str | None,
    forget_it: bool,
) -> Ask:
    """What is asked by what the page holds.

    Raises:
        MemoirError: nobody is chosen, the message is too long, or the date is none.
    """
    if persona_id is None:
        raise MemoirError("There is nobody to talk with yet: create a persona first.")
    if len(text) > LONGEST:
        raise MemoirError(
            f"A message may have {LONGEST:,} characters and this one has {len(text):,}. Shorten it, or save it as a "
            "file and bring it in as a history."
        )
    now = moment(as_of)
    dialogue = tuple(TurnDraft(USER if b.role == "user" else "", b.role, b.text, now) for b in before if not b.title)
    return Ask(bank.persona(persona_id), text.strip(), now, chat_number, dialogue, not forget_it)


def wake(assistant: Assistant, indexer: Indexer) -> Iterator[str]:
    """Wait for the encoder and for what is being indexed, telling what is waited for."""
    embedder = assistant.services.searcher.embedder
    if not embedder.ready:
        yield LOADING
        embedder.load()
    patience = time.monotonic() + PATIENCE
    while (left := count_pending(assistant.services.bank, embedder.model)) and time.monotonic() < patience:
        yield f"Indexing {format_count(left, 'new memory', 'new memories')}…"
        indexer.wake()
        indexer.wait(0.5)
