"""What a memory system must do to be tested: remember sessions, and search them as of a moment."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from eval.types import ChatModel, Costs
from memory import read_table
from memory.embedding.embedder import Embedder

MEMOIR = "memoir"
"""The name of the program's own memory."""

TEXTS: Mapping[str, Mapping[str, str]] = read_table(__file__, "prompts.toml")
"""What each system asks a chat model, and what it does without one."""


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

    A text without ids is matched to turns by its words (`eval.play.searchers.matched`).
    """

    text: str
    score: float
    turns: tuple[str, ...] = ()


class MemorySystem(Protocol):
    """A memory of one history, empty at first.

    It may also have `answer(question, as_of)`: its own answer, or None to leave it to the reader that all share.
    """

    def remember(self, session: Session) -> None:
        """Remember a session; they come in the order of time."""

    def search(self, question: str, as_of: datetime, k: int) -> Sequence[Found]:
        """The best k texts of what was said by `as_of`, best first.

        What was said later is left out of the result by whoever asks.
        """


class MeteredChat:
    """The chat model of the experiment, if one is set, for a memory to use; what that costs adds to `costs`."""

    def __init__(self, model: "ChatModel | None", costs: Costs) -> None:
        self.model, self.costs = model, costs
        self._replies: dict[str, str] = {}

    def ask(self, prompt: str, max_tokens: int = 200) -> str:
        """The reply, asked for once; empty if there is none to use. Raises `ModelUnavailable` if one may come later."""
        from graph.models.calls import Completion, ModelFailed, ModelUnavailable, complete

        if self.model is not None and prompt not in self._replies:
            try:
                reply = complete(self.model, prompt, max_tokens=max_tokens)
            except ModelUnavailable:
                raise
            except ModelFailed:
                reply = Completion("")
            self.spend(1, reply.tokens_in, reply.tokens_out)
            self._replies[prompt] = reply.text.strip()
        return self._replies.get(prompt, "")

    def spend(self, calls: int, tokens_in: int, tokens_out: int) -> None:
        """Count what a memory asked of this model, or of its own."""
        self.costs.calls += calls
        self.costs.tokens_in += tokens_in
        self.costs.tokens_out += tokens_out


Open = Callable[[Path, Embedder, MeteredChat], MemorySystem]
"""Opens an empty memory, given a folder of its own, and an encoder and a chat model that it may use."""
