"""Choose the passages of lines that matter to a message: a long line holds several things, most of them of no use."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from memory.search.scoring import Scores, SearchSettings, mix
from memory.search.tokens import content_terms
from memory.types import Memory

if TYPE_CHECKING:
    from memory.embedding.embedder import Embedder, Vectors

SHORT = 160
"""Characters that a passage has at least, unless its line has no more: two or three sentences tell what "she" and
"there" are."""

CHARACTERS_PER_TOKEN = 4
"""Of English in most chat models' tokens."""

_ENDS = re.compile(r"(?<=[.!?…。！？])\s*(?=[^\s.!?…。！？])|\n+")  # people who type in lower case end sentences, too


@dataclass(frozen=True, slots=True)
class PromptLine:
    """A memory, and the words of it that are shown."""

    memory: Memory
    words: str


Fit = Callable[[Sequence[str], "Vectors"], Scores]
"""How well passages fit, shape (n,), by their words and their vectors, (n, dimensions)."""


def split_passages(text: str, short: int = SHORT) -> list[str]:
    """The passages of a text: sentences in a row, of at least `short` characters together."""
    passages: list[str] = []
    places = [0, *(end.end() for end in _ENDS.finditer(text)), len(text)]
    for start, end in pairwise(places):
        if passages and len(passages[-1]) < short:
            passages[-1] += text[start:end]
        else:
            passages.append(text[start:end])
    if len(passages) > 1 and len(passages[-1]) < short / 2:
        passages[-2:] = ["".join(passages[-2:])]
    return [passage.strip() for passage in passages if passage.strip()]


def choose(
    memories: Iterable[Memory],
    fit: Fit,
    embedder: Embedder,
    tokens: int,
    *,
    least: float = -math.inf,
    short: int = SHORT,
    apart: float = math.inf,
) -> list[PromptLine]:
    """The lines with the passages that fit best, and at least so well, of about so many tokens together.

    They stand in the order of the memories. None has a cosine of `apart` or more to a better one.
    """
    pieces = [
        (memory, place, words) for memory in memories for place, words in enumerate(split_passages(memory.text, short))
    ]
    if not pieces:
        return []
    texts = [words for *_, words in pieces]
    vectors = _vectors(embedder, texts)
    scores = fit(texts, vectors)
    left, chosen = tokens * CHARACTERS_PER_TOKEN, list[int]()
    for n in np.argsort(-scores, kind="stable").tolist():
        if chosen and (vectors[chosen] @ vectors[n]).max() >= apart:
            continue
        left -= len(texts[n])
        if left < 0 or scores[n] < least:
            break
        chosen.append(n)
    by_memory: dict[Memory, list[tuple[int, str]]] = {}
    for n in sorted(chosen):
        memory, place, words = pieces[n]
        by_memory.setdefault(memory, []).append((place, words))
    return [PromptLine(memory, _joined(parts)) for memory, parts in by_memory.items()]


def resemblance(queries: Vectors, term_weights: Mapping[str, float]) -> Fit:
    """How like passages are to any of the queries, by words of some weight and by meaning, as where lines are found."""

    def fit(texts: Sequence[str], meaning: Vectors) -> Scores:
        dense = (meaning @ queries.T).max(axis=1).astype(np.float64)
        shared = np.array([sum(term_weights.get(term, 0.0) for term in content_terms(text)) for text in texts])
        return mix(shared, dense, np.ones(len(texts), dtype=np.bool_), SearchSettings().dense_weight)

    return fit


def _joined(parts: Sequence[tuple[int, str]]) -> str:
    """Passages with their places, as one text; "…" stands for what is left out between them."""
    text = parts[0][1]
    for (before, _), (place, words) in pairwise(parts):
        text += f"{' ' if place == before + 1 else ' … '}{words}"
    return text


def _vectors(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    """The vectors of texts, (texts, dimensions); most were asked for with the message before, and are kept."""
    kept = _kept(embedder)
    known = {text: vector for text in texts if (vector := kept.get(text)) is not None}
    missing = [text for text in dict.fromkeys(texts) if text not in known]
    if missing:
        known |= zip(missing, embedder.encode_document(missing), strict=True)
    if len(kept) > MOST_KEPT:
        kept.clear()
    kept.update(known)
    return np.stack([known[text] for text in texts])


MOST_KEPT = 20_000
"""Vectors that are kept: some 30 MB."""


@lru_cache(maxsize=4)
def _kept(embedder: Embedder) -> dict[str, Vectors]:
    return {}
