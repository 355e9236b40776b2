"""What a memory system must do to be tested: remember sessions, and search them as of a moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from memory.embedding.embedder import Embedder
from memory.errors import MemoirError

MEMOIR = "memoir"
"""The name of the program's own memory."""


class SystemFailed(MemoirError):
    """A memory system gave no answer, or one that cannot be read; the message says what was expected."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Something that was said. Its id is a digest, which tells nothing of the benchmark."""

    id: str
    speaker: str
    text: str
    said_at: datetime | None

    @property
    def line(self) -> str:
        """The text after its speaker, if somebody said it: a question may name who."""
        return f"{self.speaker} said: {self.text}" if self.speaker else self.text


@dataclass(frozen=True, slots=True)
class Session:
    """One dialogue, or a fact of a benchmark that nobody said, which is a session of one turn without a speaker."""

    id: str
    started_at: datetime | None
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A text that a system found, its score (more is better), and the ids of the turns it comes from, if it keeps them.

    A text without ids is matched to turns by its words (`eval.play.systems.matching`).
    """

    text: str
    score: float
    turns: tuple[str, ...] = ()


class MemorySystem(Protocol):
    """A memory of one history, empty at first."""

    def remember(self, session: Session) -> None:
        """Remember a session; they come in the order of time."""

    def search(self, question: str, as_of: datetime, k: int) -> Sequence[Found]:
        """The best k texts of what was said by `as_of`, best first.

        What was said later is left out of the result by whoever asks.
        """


Open = Callable[[Path, Embedder], MemorySystem]
"""Opens an empty memory, given a folder of its own and an encoder that it may use."""
