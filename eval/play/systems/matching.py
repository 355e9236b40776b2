"""Tell which turn a text comes from, for systems that keep no ids of turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

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
        if told and (_contains(told, own) or _contains(own, told)):
            return turn
    best = max(split, key=lambda turn: _f1(own, split[turn]), default=None)
    return best if best is not None and _f1(own, split[best]) >= LEAST_F1 else None


def _contains(longer: Sequence[str], shorter: Sequence[str]) -> bool:
    return f" {' '.join(shorter)} " in f" {' '.join(longer)} "


def _f1(one: Sequence[str], other: Sequence[str]) -> float:
    common = sum((Counter(one) & Counter(other)).values())
    return 2 * common / (len(one) + len(other)) if common else 0.0
