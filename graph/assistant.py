"""The assistant: take a message, stream typed events while it is answered, and end with the answer."""

import asyncio
import os
import threading
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import ExitStack, aclosing, asynccontextmanager, nullcontext, suppress
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, cast

from langchain_core.language_models import BaseChatModel

from graph.build import compiled_graph
from graph.learning import correction_reader, fact_reader
from graph.models.fair_lock import USER, FairLock
from graph.models.registry import Quantization
from graph.nodes.persist import persist_interrupted
from graph.readers import agenda
from graph.state import Ask, Reading, Services, Stopped, Token, TraceLine, TurnState, until
from graph.understanding.classifier import Classifier
from memory.bank.bank import Bank
from memory.bank.rows import clean, clean_draft
from memory.dates.expressions import TimeExpression
from memory.embedding.embedder import Embedder
from memory.embedding.turns import anyone_asks, asking
from memory.errors import MemoirError
from memory.formatting import format_count
from memory.search.indexer import BATCH, NEWEST, Indexer, count_pending, embed_pending
from memory.search.searcher import Searcher
from memory.types import Hit, WriteCounts

MAX_WAIT = 1.0
"""Seconds that a message waits for memories that are being indexed; after that these are found by their words."""

_COMPUTING = FairLock(places=os.cpu_count() or 1)
"""Whose answers are computed now, one a processor. All at once, some would take three times as long as others."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answered message: the reading, the hits and times behind it, what was stored, and the trace."""

    ask: Ask
    reading: Reading
    hits: tuple[Hit, ...]
    window: tuple[TimeExpression, ...]
    stored: WriteCounts | None
    trace: tuple[TraceLine, ...]


Event = TraceLine | Token | Answer


class Assistant:
    """Answers messages; threads and event loops may share it."""

    def __init__(self, services: Services) -> None:
        self.services = services

    def search_with(self, embedder: Embedder) -> None:
        """Use another embedding model from the next message on.

        Raises:
            MemoirError: no classifier was trained with it.
        """
        searcher, classifier = Searcher(self.services.bank, embedder), Classifier.load(embedder.model)
        self.services = replace(self.services, searcher=searcher, classifier=classifier)

    def reading_with(self, model: BaseChatModel | None, name: str, quantization: Quantization) -> "Assistant":
        """The same assistant with another chat model, or with none."""
        settings = replace(self.services.settings, model=name, quantization=quantization)
        other = copy(self)
        other.services = replace(self.services, model=model, settings=settings)
        return other

    def prepare(self) -> None:
        """Load what the first answer needs and the first page does not; a second time takes no time."""
        compiled_graph()
        fact_reader.NETWORK.load()
        self.services.searcher.embedder.load()
        self.services.line_reader.load()
        self.services.yes_or_no_reader.load()
        correction_reader.NETWORK.load()
        agenda.READER.load()

    def wait_until_ready(self, indexer: Indexer, persona_id: int) -> Iterator[str]:
        """Load the models and index a persona's newest memories; yield what is waited for.

        For more, as after an import, a message waits a second at most: not at all if that takes longer, or if the
        background gives way to somebody else's question.
        """
        embedder, bank = self.services.searcher.embedder, self.services.bank
        if not embedder.ready:
            yield "Loading the embedding model…"
            self.prepare()
        deadline = time.monotonic() + MAX_WAIT
        with suppress(MemoirError):  # on a full disk they are found by their words
            if embed_pending(bank, embedder, persona_id, NEWEST, turn=nullcontext()) < NEWEST:
                return
        while not anyone_asks() and time.monotonic() < deadline:
            pending = count_pending(bank, embedder.model, persona_id)
            if not 0 < pending <= BATCH:
                return
            yield f"Indexing {format_count(pending, 'new memory', 'new memories')}…"
            indexer.wake()
            indexer.wait(0.5)

    async def stream(self, ask: Ask, stop: asyncio.Event | None = None) -> AsyncGenerator[Event, None]:
        """Answer one message; the last event is the `Answer`.

        Once `stop` is set, the reply ends with what is there of it. If nothing is there, or the task is cancelled or
        the generator closed, there is no `Answer`; what the user said is stored all the same.
        """
        # Without what is no text (half an emoji, U+0000), which the models refuse and the bank leaves out.
        ask = replace(ask, text=clean(ask.text), dialogue=tuple(clean_draft(turn) for turn in ask.dialogue))
        state: TurnState = {"ask": ask}
        trace: list[TraceLine] = []
        stop = stop or asyncio.Event()
        services = replace(self.services, stop=stop)
        USER.set(str(services.bank.path))
        parts: Any = compiled_graph().astream(state, context=services, stream_mode=["updates", "custom"])
        begun = False  # a reply that has begun goes on to its end, which comes soon once `stop` is set
        async with kept_open(services.bank):
            try:
                async with aclosing(parts), _turn(services.model):
                    while part := await (anext(parts, None) if begun else until(stop, anext(parts, None))):
                        mode, change = part
                        if mode == "custom":
                            begun = True
                            yield cast("Token", change)
                            continue
                        for update in cast("dict[str, TurnState]", change).values():
                            state.update(update)
                            for line in update.get("trace", ()):
                                trace.append(line)
                                yield line
            except (Stopped, asyncio.CancelledError, GeneratorExit) as ended:
                # A thread that is writing to the bank already may delay this; it must not be cancelled a second time.
                await asyncio.shield(asyncio.to_thread(persist_interrupted, state, self.services.bank))
                if isinstance(ended, Stopped):
                    return
                raise
            yield Answer(
                ask, state["reading"], state.get("hits", ()), state.get("window", ()), state.get("stored"), tuple(trace)
            )

    def ask(self, ask: Ask) -> Answer:
        """Answer one message and wait for the answer; for callers without an event loop."""

        async def last_event() -> Event:
            async with aclosing(self.stream(ask)) as events:
                return [event async for event in events][-1]

        return cast("Answer", _LOOP.runner.run(last_event()))


@asynccontextmanager
async def _turn(model: BaseChatModel | None) -> AsyncIterator[None]:
    """Have the processor before the background has it, and in turn with the answers of others.

    A chat model has turns of its own, and whoever waits for it needs no processor.
    """
    with asking():
        async with _COMPUTING if model is None else nullcontext():
            yield


@asynccontextmanager
async def kept_open(bank: Bank) -> AsyncIterator[None]:
    """Let the operations of a while share connections to the bank; they are closed in a thread, which may take long."""
    keeping = ExitStack()
    keeping.enter_context(bank.kept_open())
    try:
        yield
    finally:
        await asyncio.shield(asyncio.to_thread(keeping.close))


class _Loop(threading.local):
    """A thread's event loop: making one, with its worker threads, takes a millisecond of every question."""

    def __init__(self) -> None:
        self.runner = asyncio.Runner()


_LOOP = _Loop()
