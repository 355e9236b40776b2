"""Ask a chat model for the parts of one persona, and count what is left out."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from eval.benchmarks.perltqa.generation.prompts import Asked, prompt
from eval.types import Watch
from graph.models.calls import Completion, ModelFailed, Unreachable
from graph.models.json_replies import UnusableReply, ask_for_json

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

MAX_TOKENS = 1024
"""Most tokens of a reply; an event of 300 words takes some 500, ten relationships 700."""

Item = TypeVar("Item")
Reply = TypeVar("Reply", bound=Asked)


class Writer:
    """Asks a model for the persona of that number; `left_out` counts what was dropped, by step and reason.

    `replies` is their number, `last_fault` what was wrong with the last one that could not be used.
    """

    def __init__(self, model: BaseChatModel, number: int, watch: Watch) -> None:
        self.step, self.last_fault = "", ""
        self._number = number
        self.replies = 0
        self.left_out = Counter[str]()
        self._model = model
        self._watch = watch

    @property
    def place(self) -> str:
        """The persona and the step, for progress and errors."""
        return f"persona {self._number}, {self.step}"

    def begin(self, step: str) -> None:
        """Begin a step of one reply."""
        self.step = step
        self._watch(self.place, 0, 1)

    def each(self, step: str, items: Sequence[Item]) -> Iterator[Item]:
        """Yield the items of a step, and report how many of them are done."""
        self.step = step
        for done, item in enumerate(items):
            self._watch(self.place, done, len(items))
            yield item
        self._watch(self.place, len(items), len(items))

    def ask(self, shape: type[Reply], **data: object) -> Reply | None:
        """Return a reply about the data; None, counted, if two replies do not have the shape, or there is none.

        Raises:
            Unreachable: the model may reply another time.
        """
        replies: list[Completion] = []
        talk = [("human", prompt(shape, data))]
        try:
            return asyncio.run(ask_for_json(self._model, talk, shape, replies, max_tokens=MAX_TOKENS))
        except Unreachable:
            raise
        except (UnusableReply, ModelFailed) as fault:
            self.last_fault = str(fault)
            self.drop("unusable reply")
            return None
        finally:
            self.replies += len(replies)

    def drop(self, reason: str) -> None:
        """Count something that this step leaves out."""
        self.left_out[f"{self.step}: {reason}"] += 1
