"""Recognise what a sentence does: greet, thank, say good night, tell good news or of a loss, tell, ask.

The lowest layers of all-MiniLM-L6-v2, trained further by `graph.training.acts`; the weights hold all but the word
embeddings, which the encoder's package has. It knows English: in other languages all messages tell or ask.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from memory.embedding import bert, minilm
from memory.embedding.bert import Array

WEIGHTS = Path(__file__).parents[2] / "assets" / "models" / "acts.safetensors"

ACTS = tuple(
    """greeting how_are_you thanks farewell goodnight praise insult love apology laughter agreement disagreement
    nonsense birthday_wish missed_you joke bored advice distress who_are_you are_you_real what_can_you_do help
    what_do_you_remember who_am_i missing_capability loss hard good crisis tells asks""".split()
)
"""What a sentence may do; "tells" and "asks" are all that is neither small talk nor news."""

START, END = 101, 102
"""Token ids of [CLS] and [SEP]."""

MOST_TOKENS = 48
"""Most tokens that are read of a sentence."""


class Recogniser:
    """Recognises acts; safe to share among threads. The weights are loaded when it is first used."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._network: _Network | None = None

    def recognise(self, sentences: Sequence[str]) -> list[str]:
        """What each of several sentences most likely does, one of `ACTS`."""
        with self._lock:
            self._network = self._network or _Network(self._path)
        ids = tokens_of(sentences)
        found: dict[int, str] = {}
        for rows in bert.batches(ids):
            logits = self._network.infer([ids[row] for row in rows])
            found |= {row: ACTS[place] for row, place in zip(rows, logits.argmax(1).tolist(), strict=True)}
        return [found[row] for row in range(len(sentences))]


@cache
def packaged() -> Recogniser:
    """The recogniser with the weights of the package; loaded once in a process."""
    return Recogniser(WEIGHTS)


def tokens_of(sentences: Sequence[str]) -> list[list[int]]:
    """Sentences as token ids."""
    encoded = _tokenizer().encode_batch(list(sentences), add_special_tokens=False)
    return [[START, *each.ids[:MOST_TOKENS], END] for each in encoded]


_tokenizer = cache(minilm.tokenizer)


class _Network:
    """The network with its weights."""

    def __init__(self, path: Path) -> None:
        from openvino import Model

        self._weights = weights = bert.load(path)
        words, masked, states = bert.states({name.removeprefix("bert."): w for name, w in weights.items()})
        self._compiled = bert.compiled(Model([states], [words, masked]))
        self._words = minilm.package_weights()["embeddings.word_embeddings.weight"]
        self._places = weights["bert.embeddings.position_embeddings.weight"]
        self._places = self._places + weights["bert.embeddings.token_type_embeddings.weight"][0]

    def infer(self, texts: Sequence[Sequence[int]]) -> Array:
        """The logits of the acts, (texts, acts), of texts of one padded length."""
        ids, is_token = bert.fill(texts)
        words = self._words[ids] + self._places[: ids.shape[1]]
        states = self._compiled.infer_new_request([words, bert.mask(is_token)])[0]
        share = is_token / is_token.sum(1, keepdims=True)
        mean = np.einsum("ntd,nt->nd", states, share)
        logits: Array = mean @ self._weights["acts.weight"].T + self._weights["acts.bias"]
        return logits
