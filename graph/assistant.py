"""The assistant: a message in, typed events out, and at the end an answer."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from graph.build import build
from graph.models import Halted, Quantization
from graph.nodes.persist import keep_said
from graph.state import Ask, Reading, Services, TraceLine, TurnState
from memory.dates.expressions import TimeExpression
from memory.types import Hit, Stored

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


@dataclass(frozen=True, slots=True)
class Step:
    """A node has done its part."""

    line: TraceLine


@dataclass(frozen=True, slots=True)
class Token:
    """A further piece of the reply; the empty text only says that it is being worked on.

    With `afresh`, what was told of the reply so far is taken back.
    """

    text: str
    afresh: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The whole of one answered message: what was said, what it relies on, and how it came about."""

    ask: Ask
    reading: Reading
    hits: tuple[Hit, ...]
    window: tuple[TimeExpression, ...]
    stored: Stored | None
    trace: tuple[TraceLine, ...]


Event = Step | Token | Answer


class Assistant:
    """Answers messages with one compiled graph; threads may share it."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self._graph = build()

    def reading_with(self, model: BaseChatModel | None, name: str, quantization: Quantization) -> Assistant:
        """The same assistant with another chat model, or with none."""
        settings = replace(self.services.settings, model=name, quantization=quantization)
        other = copy(self)
        other.services = replace(self.services, model=model, settings=settings)
        return other

    def stream(self, ask: Ask) -> Generator[Event, None, None]:
        """Answer one message; the last event is the `Answer`.

        Whoever closes this before its end stops what is being written: what the user said is then stored all the same,
        and nothing of the answer.
        """
        state: TurnState = {"ask": ask}
        services = replace(self.services, halt=threading.Event())
        answering = self._answering(state, services)
        try:
            yield from answering
        except GeneratorExit:
            keep_said(state, services.bank)
            raise

    def _answering(self, state: TurnState, services: Services) -> Iterator[Event]:
        ask, trace = state["ask"], list[TraceLine]()
        parts = self._graph.stream(state, context=services, stream_mode=["updates", "custom"])
        try:
            for mode, part in parts:
                if mode == "custom":
                    yield Token("", afresh=True) if part is None else Token(str(part))
                    continue
                changes: dict[str, TurnState] = dict(part)  # type: ignore[arg-type]  # "updates" yields a dict a node
                for change in changes.values():
                    state.update(change)
                    for line in change.get("trace", ()):
                        trace.append(line)
                        yield Step(line)
        except GeneratorExit:
            services.halt.set()
            with suppress(Halted):  # the node that was waiting for a model says so
                parts.close()  # type: ignore[attr-defined]  # a generator, whatever its type says
            raise
        yield Answer(
            ask, state["reading"], state.get("hits", ()), state.get("window", ()), state.get("stored"), tuple(trace)
        )

    def ask(self, ask: Ask) -> Answer:
        """Answer one message and wait for the whole of it."""
        *_, last = self.stream(ask)
        assert isinstance(last, Answer)
        return last
