"""Networks over the words of a package: the sentence encoders, and what was trained further from them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memory.embedding import bert
from memory.embedding.bert import DIMENSIONS, MAX_CHARACTERS, Array, Network, Weights
from memory.embedding.turns import give_way, in_background

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer  # noqa: TC004 (a tenth of a second to import)

FEW = 32
"""Batches at most of what somebody asks: each sentence of a message, and each of what was said before, may be one."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a package has of a model, once in a process.

    `tokenizer` neither pads nor cuts, and `start` and `end` are the tokens about a text, of which a model reads
    `most_tokens` with these. `words` gives the embeddings of token ids, (..., 384), and `weights` reads all others.
    """

    tokenizer: Tokenizer
    start: int
    end: int
    most_tokens: int
    words: Callable[[NDArray[np.int64]], Array]
    weights: Callable[[], Weights]

    def encode(self, texts: Sequence[str]) -> list[Encoding]:
        """The tokens of texts, or of their first `MAX_CHARACTERS`, without those about them."""
        cut = [text[:MAX_CHARACTERS] for text in texts]
        encoded: list[Encoding] = self.tokenizer.encode_batch(cut, add_special_tokens=False)
        return encoded

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The token ids of texts as the model reads them."""
        cut = [text[:MAX_CHARACTERS] for text in texts]
        encoded = self.tokenizer.encode_batch_fast(cut, add_special_tokens=False)
        return [[self.start, *each.ids[: self.most_tokens - 2], self.end] for each in encoded]


class SentenceEncoder:
    """Embeds a text as the mean over the tokens of the last layer; safe to share among threads.

    The weights come in a package, but for those `trained` further, so that it needs neither PyTorch nor a converted
    copy of them.
    """

    dimensions = DIMENSIONS
    query_prompt = document_prompt = ""

    def __init__(self, parts: Parts, trained: Weights | None = None) -> None:
        from openvino import Model
        from openvino import opset13 as op

        self._parts, weights = parts, {**parts.weights(), **(trained or {})}
        token_type = weights["embeddings.token_type_embeddings.weight"][0]
        self._positions: Array = weights["embeddings.position_embeddings.weight"] + token_type
        # Not daemon threads: one that is inside OpenVINO when Python ends aborts the process. They are reused, because
        # OpenVINO keeps state for each. What is asked has a thread of its own, so that it does not queue behind all
        # that is being indexed.
        self._few, self._bulk = ThreadPoolExecutor(1), ThreadPoolExecutor(bert.STREAMS)
        words, masked, last = bert.states(weights, bert.count_layers(weights))
        share = op.parameter([-1, 1, -1], np.float32)
        mean = op.squeeze(op.matmul(share, last, transpose_a=False, transpose_b=False), [1])
        unit = op.normalize_l2(mean, [1], eps=1e-12, eps_mode="max")
        self._network = Network(Model([unit], [words, masked, share]))

    def encode(self, texts: Sequence[str]) -> Array:
        """Embed texts; float32 of shape (len(texts), 384), every row of length 1."""
        tokens = self._parts.ids(texts)
        vectors = np.zeros((len(tokens), DIMENSIONS), dtype=np.float32)

        def embed(rows: list[int]) -> None:
            ids, is_token = bert.fill([tokens[row] for row in rows])
            share = (is_token / is_token.sum(1, keepdims=True)).astype(np.float32)
            words = self._parts.words(ids) + self._positions[: ids.shape[1]]
            vectors[rows] = self._network.infer([words, bert.mask(is_token), share[:, None]])[0]

        def embed_later(rows: list[int]) -> None:
            give_way()
            embed(rows)

        runs = list(bert.batches(tokens))
        is_asked = len(runs) <= FEW and not in_background()
        list(self._few.map(embed, runs) if is_asked else self._bulk.map(embed_later, runs))
        return vectors


class TrainedNetwork:
    """Layers trained further, with linear heads on the states of each token; safe to share among threads.

    The weights are loaded when it first computes. What its file does not hold is the package's: the words, and mostly
    the lowest layers.
    """

    def __init__(self, parts: Callable[[], Parts], path: Path, *heads: str) -> None:
        self._package, self._path, self._heads = parts, path, heads
        self._lock, self._pool = threading.Lock(), ThreadPoolExecutor(bert.STREAMS)

    def load(self) -> tuple[Network, Weights]:
        """The network, and the weights that are of no layer; loaded unless they are."""
        with self._lock:
            return self._loaded

    @property
    def parts(self) -> Parts:
        """What the package has."""
        return self._package()

    def weight(self, name: str) -> Array:
        """A weight that is of no layer."""
        return self.load()[1][name]

    @cached_property
    def _loaded(self) -> tuple[Network, Weights]:
        from openvino import Model
        from openvino import opset13 as op

        own = {name.removeprefix("bert."): weight for name, weight in bert.load(self._path).items()}
        weights = {**self.parts.weights(), **own}
        words, masked, last = bert.states(weights, bert.count_layers(own))
        scores = (op.matmul(last, weights[f"{h}.weight"], transpose_a=False, transpose_b=True) for h in self._heads)
        heads = [op.add(each, weights[f"{h}.bias"]) for h, each in zip(self._heads, scores, strict=True)]
        return Network(Model(heads, [words, masked])), {n: w for n, w in weights.items() if ".layer." not in n}

    def compute(self, texts: Sequence[Sequence[int]], types: Sequence[Sequence[int]]) -> list[list[Array]]:
        """What the heads make of texts, given as their token ids and types: an array a head, (tokens, outputs)."""
        (network, weights), found = self.load(), dict[int, list[Array]]()
        places, kinds = (weights[f"embeddings.{name}_embeddings.weight"] for name in ("position", "token_type"))

        def infer(rows: list[int]) -> None:
            (ids, is_token), (of_type, _) = (bert.fill([each[row] for row in rows]) for each in (texts, types))
            embedded = self.parts.words(ids) + places[: ids.shape[1]] + kinds[of_type]
            result = network.infer([embedded, bert.mask(is_token)])
            for place, row in enumerate(rows):
                found[row] = [each[place, : len(texts[row])].copy() for each in result]

        list(self._pool.map(infer, bert.batches(texts)))
        return [found[row] for row in range(len(texts))]
