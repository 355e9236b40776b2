"""Tell which turn a text comes from, for systems that keep no ids of turns."""

from __future__ import annotations

from collections.abc import Mapping

from eval.metrics.answers import contains, f1
from memory.search.tokens import words

LEAST_F1 = 0.5
"""Least F1 of the words of a text and a turn from which the one may come from the other."""


def matched(text: str, turns: Mapping[str, str]) -> str | None:
    """The id of the turn that a text comes from, of turns by id; None if of none.

    That is the first turn whose words the text has all in a row, or that has all of the text's; else the turn with the
    greatest F1 of words, if it is at least a half.
    """
    own = words(text)
    if not own:
        return None
    split = {turn: words(told) for turn, told in turns.items()}
    for turn, told in split.items():
        if told and (contains(told, own) or contains(own, told)):
            return turn
    best = max(split, key=lambda turn: f1(own, split[turn]), default=None)
    return best if best is not None and f1(own, split[best]) >= LEAST_F1 else None
