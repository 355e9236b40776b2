"""The assistant: a message in, typed events out, and at the end an answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from graph.build import build
from graph.state import Ask, Reading, Services, TraceLine, TurnState
from memory.timespan import TimeExpression
from memory.types import Hit, Stored


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

    def stream(self, ask: Ask) -> Iterator[Event]:
        """Answer one message; the last event is the `Answer`."""
        state: TurnState = {"ask": ask}
        trace: list[TraceLine] = []
        for mode, part in self._graph.stream(state, context=self.services, stream_mode=["updates", "custom"]):
            if mode == "custom":
                yield Token("", afresh=True) if part is None else Token(str(part))
                continue
            changes: dict[str, TurnState] = dict(part)  # type: ignore[arg-type]  # "updates" yields a dict a node
            for change in changes.values():
                state.update(change)
                for line in change.get("trace", ()):
                    trace.append(line)
                    yield Step(line)
        yield Answer(
            ask, state["reading"], state.get("hits", ()), state.get("window", ()), state.get("stored"), tuple(trace)
        )

    def ask(self, ask: Ask) -> Answer:
        """Answer one message and wait for the whole of it."""
        *_, last = self.stream(ask)
        assert isinstance(last, Answer)
        return last
