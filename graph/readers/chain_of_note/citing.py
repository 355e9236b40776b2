"""Check the citations of a chat model's answer: renumber the correct ones, drop the rest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from graph.readers.chain_of_note.prompts import PromptContent
from graph.state import Citation
from graph.understanding.sentences import split
from memory.search.quotes import contains
from memory.search.tokens import terms
from memory.types import Memory

_MARK = re.compile(r"\s?\[(\d+(?:\s*,\s*\d+)*)\]")
_QUOTED = re.compile(r"[“\"]([^“”\"]{3,})[”\"][.,;]?\s*\[(\d+)\]")


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    """An answer whose marks refer to `citations`, and how many citations were dropped."""

    answer: str
    citations: tuple[Citation, ...]
    dropped: int


def cite(
    answer: str, quotes: Iterable[tuple[int, str]], shown: PromptContent, noted: Mapping[int, str] | None = None
) -> CheckedAnswer:
    """Check what an answer cites, in marks such as [2] and in `quotes`, the list of an answer in JSON.

    Numbers are those of the prompt (`shown`). `noted` are the quotes of the notes, for marks without a listed quote.
    """
    listed = dict(quotes)
    inline = {int(number): words for words, number in _QUOTED.findall(answer)}
    marked = [int(n) for group in _MARK.findall(answer) for n in group.split(",")]
    cited = list(dict.fromkeys([*marked, *listed]))
    kept: dict[int, Memory] = {}
    for number in cited:
        memory = shown.memory(number)
        claims = [words for words in (listed.get(number), inline.get(number)) if words]
        if memory is not None and all(contains(memory.text, words) for words in claims):
            kept[number] = memory
    places = {number: place for place, number in enumerate(kept, 1)}
    written = _renumbered(answer, places)
    written += "".join(f" [{places[n]}]" for n in kept if n not in marked)
    scores = {hit.memory.id: hit.scores for hit in shown.hits}
    citations = tuple(
        Citation(
            places[n],
            memory,
            listed.get(n) or inline.get(n) or (noted or {}).get(n) or _best_sentence(memory, answer),
            scores[memory.id],
        )
        for n, memory in kept.items()
    )
    return CheckedAnswer(written.strip(), citations, len(cited) - len(kept))


def _renumbered(answer: str, places: Mapping[int, int]) -> str:
    """The answer with each mark replaced by its place; marks without one are removed."""

    def put(match: re.Match[str]) -> str:
        marks = "".join(f"[{places[int(n)]}]" for n in match[1].split(",") if int(n) in places)
        return " " + marks if marks and match[0][0].isspace() else marks

    return _MARK.sub(put, answer)


def _best_sentence(memory: Memory, answer: str) -> str:
    """The sentence of a memory that shares most terms with the answer."""
    answered = frozenset(terms(answer))
    return max(split(memory.text) or [memory.text], key=lambda s: len(answered & frozenset(terms(s))))
