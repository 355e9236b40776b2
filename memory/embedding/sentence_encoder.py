"""Embed texts with a BERT whose weights come in a package: the mean over the tokens of the last layer.

It needs neither PyTorch nor a converted copy of the weights.

    share       (2, 1, 16)      1/5 (1/9) for each token of two texts, 0 for padding: the mean over tokens
    result      (2, 384)        rows of length 1
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memory.embedding import bert
from memory.embedding.bert import DIMENSIONS, Array, Weights

if TYPE_CHECKING:
    from tokenizers import Tokenizer  # noqa: TC004 (a tenth of a second to import)


@dataclass(frozen=True, slots=True)
class Parts:
    """What a package has of a model.

    `words` gives the embeddings of token ids, (..., 384); `weights` are all others; `tokenizer` cuts what is too long.
    """

    tokenizer: Tokenizer
    words: Callable[[NDArray[np.int64]], Array]
    weights: Weights


class SentenceEncoder:
    """Embeds texts; safe to share among threads."""

    dimensions = DIMENSIONS
    query_prompt = document_prompt = ""

    def __init__(self, parts: Parts) -> None:
        from openvino import Model
        from openvino import opset13 as op

        self._tokenizer, self._words = parts.tokenizer, parts.words
        token_type = parts.weights["embeddings.token_type_embeddings.weight"][0]
        self._positions: Array = parts.weights["embeddings.position_embeddings.weight"] + token_type
        # Not daemon threads: one that is inside OpenVINO when Python ends aborts the process. They are reused, because
        # OpenVINO keeps state for each. A question has a thread of its own, so that it does not queue behind an import.
        self._question, self._bulk = ThreadPoolExecutor(1), ThreadPoolExecutor(bert.STREAMS)
        words, masked, states = bert.states(parts.weights)
        share = op.parameter([-1, 1, -1], np.float32)
        mean = op.squeeze(op.matmul(share, states, transpose_a=False, transpose_b=False), [1])
        unit = op.normalize_l2(mean, [1], eps=1e-12, eps_mode="max")
        self._network = bert.compiled(Model([unit], [words, masked, share]))

    def encode(self, texts: Sequence[str]) -> Array:
        """Embed texts; float32 of shape (len(texts), 384), every row of length 1."""
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch_fast(list(texts))]
        vectors = np.zeros((len(tokens), DIMENSIONS), dtype=np.float32)

        def fill(rows: list[int]) -> None:
            vectors[rows] = self._infer([tokens[row] for row in rows])

        batches = list(bert.batches(tokens))
        pool = self._question if len(batches) == 1 else self._bulk
        list(pool.map(fill, batches))
        return vectors

    def _infer(self, texts: Sequence[list[int]]) -> Array:
        """The vectors of texts of one padded length, each given as its token ids."""
        ids, is_token = bert.fill(texts)
        share = (is_token / is_token.sum(1, keepdims=True)).astype(np.float32)
        words = self._words(ids) + self._positions[: ids.shape[1]]
        vectors: Array = self._network.infer_new_request([words, bert.mask(is_token), share[:, None]])[0]
        return vectors
