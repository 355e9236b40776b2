"""Tell whether a chat model repeats its instruction, which small models do."""

from __future__ import annotations

from functools import lru_cache

from memory.search.tokens import words

RUN = 8
"""Words in a row that a text shares with an instruction only if it recites it."""


def recites(text: str, instruction: str) -> bool:
    """Whether a text has a run of words of an instruction."""
    return not _runs(text).isdisjoint(_instruction_runs(instruction))


@lru_cache(maxsize=16)
def _instruction_runs(instruction: str) -> frozenset[tuple[str, ...]]:
    return _runs(instruction)


def _runs(text: str) -> frozenset[tuple[str, ...]]:
    found = words(text)
    return frozenset(tuple(found[n : n + RUN]) for n in range(len(found) - RUN + 1))
