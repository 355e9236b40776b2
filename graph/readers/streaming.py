"""An answer in words as it is written: what may be shown of it, piece by piece, before its end is known."""

from __future__ import annotations

from collections.abc import Callable

from graph.readers.citing import renumbered
from graph.readers.prompts import Found

_UNKNOWN, _REASONING, _REASONED = "UNKNOWN:", "<think>", "</think>"

_MARK_LENGTH = 24
"""Characters that may follow a "[" before it is taken for no mark of citations."""


class Speaking:
    """Passes an answer on: without its reasoning, marks numbered as they appear, nothing of one that knows nothing."""

    def __init__(self, found: Found, say: Callable[[str], None]) -> None:
        self._found, self._say = found, say
        self._held = ""
        self._begun = self._silent = False
        self._places: dict[int, int] = {}

    def hear(self, piece: str) -> None:
        """Take the next piece."""
        self._held += piece
        if not self._begun and not self._begins():
            return
        if not self._silent:
            self._pass_on(self._ready())

    def end(self) -> None:
        """Pass on what was held back."""
        if not self._silent and not self._held.lstrip().startswith(_REASONING):
            self._pass_on(len(self._held))

    def _begins(self) -> bool:
        """Whether the answer proper has begun; reasoning before it is thrown away."""
        start = self._held.lstrip().lstrip("*")
        if start.startswith(_REASONING):
            if _REASONED not in start:
                return False
            self._held = start.partition(_REASONED)[2]
            start = self._held.lstrip().lstrip("*")
        if _REASONING.startswith(start[: len(_REASONING)]) or _UNKNOWN.startswith(start[: len(_UNKNOWN)].upper()):
            if len(start) < len(_UNKNOWN):
                return False
            self._silent = True
        self._begun = True
        self._held = self._held.lstrip()
        return True

    def _ready(self) -> int:
        """How much can be shown: all up to a mark that is not whole yet, with the space before it."""
        opened = self._held.rfind("[")
        if opened >= 0 and "]" not in self._held[opened:] and len(self._held) - opened < _MARK_LENGTH:
            return len(self._held[:opened].rstrip())
        return len(self._held.rstrip())

    def _pass_on(self, upto: int) -> None:
        ready, self._held = self._held[:upto], self._held[upto:]
        if ready:
            self._say(renumbered(ready, self._place))

    def _place(self, number: int) -> int | None:
        """The number that a memory gets in the answer: the next, where it is named for the first time."""
        if self._found.memory(number) is None:
            return None
        return self._places.setdefault(number, len(self._places) + 1)
