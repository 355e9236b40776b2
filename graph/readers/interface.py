"""What every reader takes and returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from graph.state import Ask, Message, Reading, Services, TraceLine
from memory.dates.expressions import TimeExpression
from memory.types import Hit


@dataclass(frozen=True, slots=True)
class ReaderInput:
    """A message, the hits for it, and the times it asks about (`window`)."""

    ask: Ask
    message: Message
    window: tuple[TimeExpression, ...]
    hits: tuple[Hit, ...]
    services: Services

    @property
    def kept(self) -> list[Hit]:
        """The hits that may be read, best first."""
        return [hit for hit in self.hits if hit.kept]


@dataclass(frozen=True, slots=True)
class ReaderOutput:
    """A reading, all hits (those that were left out are marked), and what the reader did."""

    reading: Reading
    hits: tuple[Hit, ...]
    line: TraceLine


class ReaderFailed(Exception):  # another reader takes over
    """A reader gave no reading, because of its `__cause__`; it still cost these tokens."""

    def __init__(self, tokens: Mapping[str, int]) -> None:
        super().__init__()
        self.tokens = tokens
