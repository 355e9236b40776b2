"""Embed texts as unit vectors.

Two models come in Python packages, so no network and no download are needed. Other models have the names that
sentence-transformers uses (a cached hub id, or a folder).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.embedding import bert, e5, minilm
from memory.embedding.networks import SentenceEncoder

Vectors = NDArray[np.float32]

DEFAULT_MODEL = e5.NAME if e5.is_installed() else minilm.NAME
"""E5, which finds more over all benchmarks (`python -m eval encoders`), where its package has wheels."""

ENCODING = 3
"""Version of the computation (1: PyTorch; 2: quantized to bytes; 3: scripts centred apart). A cache must not mix
vectors of two versions."""

BATCH = 32
"""Texts of a batch at most."""


PACKAGED: Mapping[str, type[minilm.MiniLM | e5.E5]] = {e5.NAME: e5.E5, minilm.NAME: minilm.MiniLM}
"""The models that come in packages; vectors of both have `bert.DIMENSIONS`."""


class Embedder:
    """Embeds texts as unit vectors. The model is loaded on first use and shared among threads."""

    def __init__(self, model: str) -> None:
        self.model = model
        self._lock = threading.Lock()
        self._encoder: Encoder | None = None

    @property
    def ready(self) -> bool:
        """Whether the weights are loaded, so that the next text costs milliseconds."""
        return self._encoder is not None

    @property
    def dimensions(self) -> int:
        """The length of a vector; for a packaged model, known without loading it."""
        return bert.DIMENSIONS if self.model in PACKAGED else self.load().dimensions

    def encode_query(self, texts: Sequence[str]) -> Vectors:
        """Embed questions, each after the model's prompt for a question if it has one."""
        return self.encode([self._prompts.query_prompt + text for text in texts])

    def encode_document(self, texts: Sequence[str]) -> Vectors:
        """Embed what questions are compared with, each text after the model's prompt for a document if it has one."""
        return self.encode([self._prompts.document_prompt + text for text in texts])

    @property
    def _prompts(self) -> Encoder | type[minilm.MiniLM | e5.E5]:
        """What has the model's prompts; for a packaged model, without loading it."""
        return PACKAGED.get(self.model) or self.load()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Embed texts as they are, to compare them with one another.

        Returns:
            float32 of shape (len(texts), dimensions), every row of length 1.
        """
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        return self.load().encode(texts)

    def share_in_vocabulary(self, text: str) -> float:
        """The share of a text that the model understands, in 0..1; 1 for other models than MiniLM."""
        return minilm.share_in_vocabulary(text) if self.model == minilm.NAME else 1.0

    def load(self) -> Encoder:
        """Load the weights unless they are loaded; the first `encode` does so, too."""
        with self._lock:
            if self._encoder is None:
                self._encoder = PACKAGED[self.model]() if self.model in PACKAGED else LibraryEncoder(self.model)
            return self._encoder


@cache
def shared(model: str) -> Embedder:
    """The embedder of a model that all banks of this process share."""
    return Embedder(model)


def installed() -> list[str]:
    """The models that are installed, the default first."""
    return [name for name in PACKAGED if name != e5.NAME or e5.is_installed()]


class LibraryEncoder:
    """A model of sentence-transformers, in the precision and on the device that it chooses.

    Its prompts have the names that the library's `encode_query` and `encode_document` look for, but the first that says
    something counts: where a model calls its own "passage", the library finds an empty "document" of its making.
    """

    def __init__(self, model: str) -> None:
        # Imported here: it takes seconds, and the default model does not need it.
        from sentence_transformers import SentenceTransformer
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()  # type: ignore[no-untyped-call]
        self.model = SentenceTransformer(model)
        self._lock = threading.Lock()
        size = self.model.get_embedding_dimension()
        assert size is not None, f"{model} does not state its embedding dimension"
        self.dimensions = int(size)
        self.query_prompt = self._prompt("query")
        self.document_prompt = self._prompt("document", "passage", "corpus")

    def _prompt(self, *names: str) -> str:
        return next(filter(None, map(self.model.prompts.get, names)), "")

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Embed texts; float32 of shape (len(texts), dimensions), every row of length 1.

        Only texts of one padded length share a batch: a vector is then the same, but for the last digits, whatever
        else is encoded, and there is less padding than in batches of sorted texts.
        """
        import torch

        tokenizer: Any = self.model.tokenizer
        vectors = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        with self._lock, torch.inference_mode():
            tokens = tokenizer(list(texts), truncation=True, max_length=self.model.max_seq_length)
            for length, rows in bert.rows_by_length(tokens["input_ids"]).items():
                for batch in (rows[start : start + BATCH] for start in range(0, len(rows), BATCH)):
                    inputs = {name: [values[row] for row in batch] for name, values in tokens.items()}
                    padded = tokenizer.pad(inputs, padding="max_length", max_length=length, return_tensors="pt")
                    embedded = self.model.forward(dict(padded.to(self.model.device)))["sentence_embedding"]
                    unit = torch.nn.functional.normalize(embedded.float(), dim=1)
                    vectors[batch] = unit.cpu().numpy()
        return vectors


Encoder = SentenceEncoder | LibraryEncoder
"""A loaded model. A text's vector is the same to five decimals whatever else is encoded, and in any thread."""
