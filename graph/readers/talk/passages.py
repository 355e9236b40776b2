"""Choose the passages of lines that matter to a message: a long line holds several things, most of them of no use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from memory.search.fusion import mix
from memory.search.tokens import content_terms
from memory.types import Memory

if TYPE_CHECKING:
    from memory.embedding.embedder import Embedder, Vectors

SHORT = 160
"""Characters of a line that is one passage, and that a longer one's passages have at least: two or three sentences
tell what "she" and "there" are."""

CHARACTERS_PER_TOKEN = 4
"""Of English in most chat models' tokens."""

_ENDS = re.compile(r"(?<=[.!?…。！？])\s*(?=\S)|\n+")  # people who type in lower case end sentences, too


@dataclass(frozen=True, slots=True)
class Line:
    """A memory, and the words of it that are shown."""

    memory: Memory
    words: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """What passages are compared with: texts of like meaning, and how much each term of a message counts."""

    texts: tuple[str, ...]
    weights: Mapping[str, float]


def split(text: str) -> list[str]:
    """The passages of a text: sentences in a row, of at least `SHORT` characters together."""
    passages: list[str] = []
    places = [0, *(end.end() for end in _ENDS.finditer(text)), len(text)]
    for start, end in pairwise(places):
        if passages and len(passages[-1]) < SHORT:
            passages[-1] += text[start:end]
        else:
            passages.append(text[start:end])
    if len(passages) > 1 and len(passages[-1]) < SHORT / 2:
        passages[-2:] = ["".join(passages[-2:])]
    return [passage.strip() for passage in passages if passage.strip()]


def choose(
    memories: Iterable[Memory], wanted: Wanted, embedder: Embedder, tokens: int, near: float = -1.0
) -> list[Line]:
    """The lines with the passages that fit best, of about so many tokens together, in the memories' order.

    `near` is the least cosine of a passage to any of the texts.
    """
    pieces = [(memory, place, words) for memory in memories for place, words in enumerate(split(memory.text))]
    if not pieces or not wanted.texts:
        return []
    cosines = _vectors(embedder, [words for *_, words in pieces]) @ _vectors(embedder, wanted.texts).T
    dense = cosines.max(axis=1).astype(np.float64)
    shared = np.array([sum(wanted.weights.get(term, 0.0) for term in content_terms(words)) for *_, words in pieces])
    fit = mix(shared, dense, np.ones(len(pieces), dtype=np.bool_), WEIGHT_OF_MEANING if wanted.weights else 1.0)
    left, chosen = tokens * CHARACTERS_PER_TOKEN, set[int]()
    for n in np.argsort(-fit, kind="stable").tolist():
        left -= len(pieces[n][2])
        if left < 0:
            break
        if dense[n] >= near:
            chosen.add(n)
    by_memory: dict[Memory, list[tuple[int, str]]] = {}
    for n in sorted(chosen):
        memory, place, words = pieces[n]
        by_memory.setdefault(memory, []).append((place, words))
    return [Line(memory, _joined(parts)) for memory, parts in by_memory.items()]


WEIGHT_OF_MEANING = 0.8
"""As where memories are found (`SearchSettings.dense_weight`)."""


def _joined(parts: Sequence[tuple[int, str]]) -> str:
    """Passages with their places, as one text; "…" stands for what is left out between them."""
    text = parts[0][1]
    for (before, _), (place, words) in pairwise(parts):
        text += f"{' ' if place == before + 1 else ' … '}{words}"
    return text


def _vectors(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """The vectors of texts, (texts, dimensions); most were asked for with the message before, and are kept."""
    known = _known(embedder)
    missing = [text for text in dict.fromkeys(texts) if text not in known]
    if len(known) + len(missing) > MOST_KEPT:
        known.clear()
        missing = list(dict.fromkeys(texts))
    known.update(zip(missing, embedder.encode(missing), strict=True) if missing else ())
    return np.stack([known[text] for text in texts])


MOST_KEPT = 20_000
"""Vectors that are kept: some 30 MB."""


@lru_cache(maxsize=4)
def _known(embedder: Embedder) -> dict[str, Vectors]:
    return {}
