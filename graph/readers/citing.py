"""Citations of a chat model's answer: those that hold are kept and numbered from 1, the rest dropped and counted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from graph.readers.prompts import Found
from graph.state import Citation
from graph.understanding.sentences import split
from memory.quotes import holds
from memory.search import tokens as lexical
from memory.types import Memory

_MARK = re.compile(r"\s?\[(\d+(?:\s*,\s*\d+)*)\]")
_QUOTED = re.compile(r"[“\"]([^“”\"]{3,})[”\"][.,;]?\s*\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class Cited:
    """An answer whose marks lead to `citations`, and how many citations were dropped."""

    answer: str
    citations: tuple[Citation, ...]
    dropped: int


def cite(answer: str, quotes: Iterable[tuple[int, str]], found: Found, noted: Mapping[int, str] | None = None) -> Cited:
    """Check what an answer cites.

    Args:
        answer: With marks such as [2], by the numbers of the prompt.
        quotes: (number, words) as the model listed them; an answer in words lists none.
        found: What the prompt showed.
        noted: The words that notes quote, by number, for marks that nothing was listed for.
    """
    listed = dict(quotes)
    said = {int(number): words for words, number in _QUOTED.findall(answer)}
    marked = [int(n) for group in _MARK.findall(answer) for n in group.split(",")]
    wanted = list(dict.fromkeys([*marked, *listed]))
    kept: dict[int, Memory] = {}
    for number in wanted:
        memory = found.memory(number)
        claims = [words for words in (listed.get(number), said.get(number)) if words]
        if memory is not None and all(holds(memory.text, words) for words in claims):
            kept[number] = memory
    places = {number: place for place, number in enumerate(kept, 1)}
    written = renumbered(answer, places.get)
    written += "".join(f" [{places[n]}]" for n in kept if n not in marked)
    scores = {hit.memory.id: hit.scores for hit in found.hits}
    citations = tuple(
        Citation(
            places[n],
            memory,
            listed.get(n) or said.get(n) or (noted or {}).get(n) or _telling(memory, answer),
            scores[memory.id],
        )
        for n, memory in kept.items()
    )
    return Cited(written.strip(), citations, len(wanted) - len(kept))


def renumbered(answer: str, place: Callable[[int], int | None]) -> str:
    """The answer with each mark put for its place; marks that have none are left out."""

    def put(found: re.Match[str]) -> str:
        places = [place(int(n)) for n in found[1].split(",")]
        marks = "".join(f"[{n}]" for n in places if n is not None)
        return " " + marks if marks and found[0][0].isspace() else marks

    return _MARK.sub(put, answer)


def _telling(memory: Memory, answer: str) -> str:
    """The sentence of a memory that shares most with the answer."""
    said = frozenset(lexical.terms(answer))
    return max(split(memory.text) or [memory.text], key=lambda s: len(said & frozenset(lexical.terms(s))))
