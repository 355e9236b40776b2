"""Stream an answer in words before its end is known: without reasoning, and with renumbered citations."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from graph.readers.citing import renumbered

if TYPE_CHECKING:
    from graph.readers.prompts import PromptContent

_UNKNOWN, _REASONING, _REASONED = "UNKNOWN:", "<think>", "</think>"

_MARK_LENGTH = 24
"""Characters after a "[" from which it is not taken for a citation mark any more."""


class AnswerStream:
    """Passes an answer on piece by piece; of an abstention it passes on nothing."""

    def __init__(self, content: PromptContent, say: Callable[[str], None]) -> None:
        self._content, self._say = content, say
        self._pending = ""
        self._started = self._abstains = False
        self._places: dict[int, int] = {}

    def feed(self, piece: str) -> None:
        """Take the next piece."""
        self._pending += piece
        if not self._started and not self._start():
            return
        if not self._abstains:
            self._pass_on(self._ready())

    def end(self) -> None:
        """Pass on what is pending."""
        if not self._abstains and not self._pending.lstrip().startswith(_REASONING):
            self._pass_on(len(self._pending))

    def _start(self) -> bool:
        """Whether the answer itself has started; reasoning before it is dropped."""
        start = self._pending.lstrip().lstrip("*")
        if start.startswith(_REASONING):
            if _REASONED not in start:
                return False
            self._pending = start.partition(_REASONED)[2]
            start = self._pending.lstrip().lstrip("*")
        if _REASONING.startswith(start[: len(_REASONING)]) or _UNKNOWN.startswith(start[: len(_UNKNOWN)].upper()):
            if len(start) < len(_UNKNOWN):
                return False
            self._abstains = True
        self._started = True
        self._pending = self._pending.lstrip()
        return True

    def _ready(self) -> int:
        """How many characters can be shown: all before an incomplete mark and the space in front of it."""
        opened = self._pending.rfind("[")
        if opened >= 0 and "]" not in self._pending[opened:] and len(self._pending) - opened < _MARK_LENGTH:
            return len(self._pending[:opened].rstrip())
        return len(self._pending.rstrip())

    def _pass_on(self, upto: int) -> None:
        ready, self._pending = self._pending[:upto], self._pending[upto:]
        if ready:
            self._say(renumbered(ready, self._place))

    def _place(self, number: int) -> int | None:
        """The number of a memory in the answer: the next one when it is cited for the first time."""
        if self._content.memory(number) is None:
            return None
        return self._places.setdefault(number, len(self._places) + 1)
