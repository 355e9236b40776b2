"""BERT networks of 384 dimensions on OpenVINO, with weights of 8 bits.

Weights are quantized to bytes on loading. Where the processor has instructions for it (VNNI), OpenVINO quantizes
activations to bytes, too, with a scale for each `GROUP` values of each token: no scale depends on another text, so a
result does not depend on the batch. Elsewhere it computes in float32, and the batch changes the last digits.

    tokens      2 texts of 5 and 9 tokens, padded to 16
    words       (2, 16, 384)    the sums of their embeddings (word, position, type)
    masked      (2, 1, 1, 16)   0 for a token, -1e4 for padding: added to attention scores
    states      (2, 16, 384)    the last layer
    share       (2, 1, 16)      1/5 (1/9) for each token, 0 for padding: a vector is the mean over its tokens
"""

from __future__ import annotations

import os
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from openvino import Core, Model, Node

# Importing OpenVINO sends telemetry to its makers unless this package is missing.
sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]

Array = NDArray[np.float32]
Weights = Mapping[str, Array]
"""Weights by their names in transformers' BertModel."""

DIMENSIONS = 384
HEADS = 12

GROUP = 128
"""Values that share a scale: the lowest cosine to float32 over 2,828 texts is .994; 64 gave .997, a tenth slower."""

BATCH_TOKENS = 1024
"""Tokens of a batch at most: more is no faster and takes more memory."""

STEP = 16
"""Texts are padded to a multiple of so many tokens: OpenVINO keeps half a megabyte for each shape."""

MAX_CHARACTERS = 1 << 14
"""Characters of a text that are turned into tokens: thirty for each that a model reads. An import may have 32 MB in a
line, whose tokens would take a hundred times that."""

MAX_STREAMS = 8
"""Batches computed at a time at most, one thread each; each takes some 20 MB."""

STREAMS = min(os.cpu_count() or 1, MAX_STREAMS)


class Network:
    """A compiled model that computes `STREAMS` batches at a time.

    Each thread keeps a request, as making one takes a third as long as to compute a few texts.
    """

    def __init__(self, model: Model) -> None:
        self._compiled = _load_core().compile_model(
            model,
            "CPU",
            {
                "INFERENCE_PRECISION_HINT": "f32",
                "DYNAMIC_QUANTIZATION_GROUP_SIZE": GROUP,
                "NUM_STREAMS": STREAMS,
                "INFERENCE_NUM_THREADS": STREAMS,
                # With pinning, two processes would share the first core and leave the second idle.
                "ENABLE_CPU_PINNING": False,
            },
        )
        self._kept = threading.local()

    def infer(self, inputs: Sequence[Array]) -> list[Array]:
        """The outputs; they hold until this thread computes again."""
        if not hasattr(self._kept, "request"):
            self._kept.request = self._compiled.create_infer_request()
        return list(self._kept.request.infer(list(inputs)).values())


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


def padded(tokens: Sequence[int]) -> int:
    """The number of tokens to which a text is padded."""
    return -(-len(tokens) // STEP) * STEP


def rows_by_length(tokens: Sequence[Sequence[int]]) -> dict[int, list[int]]:
    """The rows of texts, given as their tokens, by the padded length of the text."""
    by_length: dict[int, list[int]] = defaultdict(list)
    for row, ids in enumerate(tokens):
        by_length[padded(ids)].append(row)
    return by_length


def batches(tokens: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Rows of one padded length to compute together, a power of two at a time, so that there are few shapes."""
    for length, rows in rows_by_length(tokens).items():
        while rows:
            size = 1 << (min(len(rows), BATCH_TOKENS // length).bit_length() - 1)
            yield rows[:size]
            del rows[:size]


def fill(texts: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The ids of texts of one padded length, and which places hold a token; both (texts, tokens)."""
    length = padded(texts[0])
    ids = np.array([[*text, *[0] * (length - len(text))] for text in texts])
    return ids, np.arange(length) < np.array([[len(text)] for text in texts])


def mask(is_token: NDArray[np.bool_]) -> Array:
    """The input `masked` of a batch."""
    return np.where(is_token, np.float32(0), np.float32(-1e4))[:, None, None]


def states(weights: Weights, layers: int) -> tuple[Node, Node, Node]:
    """The inputs `words` and `masked` of the lowest layers of a network, and their output `states`."""
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
    x = norm(words, "embeddings.LayerNorm")
    for number in range(layers):
        layer = f"encoder.layer.{number}"
        x = norm(op.add(x, attend(x, f"{layer}.attention")), f"{layer}.attention.output.LayerNorm")
        hidden = op.gelu(dense(x, f"{layer}.intermediate.dense"), "erf")
        x = norm(op.add(x, dense(hidden, f"{layer}.output.dense")), f"{layer}.output.LayerNorm")
    return words, masked, x


def count_layers(weights: Weights) -> int:
    """The number of layers up to the highest of which there are weights."""
    return 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder.layer."))


def _quantize(weight: Array) -> Node:
    """A weight of shape (outputs, inputs), quantized to bytes."""
    from openvino import opset13 as op

    stored, scale, zero = quantized(weight)
    shifted = op.subtract(op.convert(op.constant(stored), np.float32), op.convert(op.constant(zero), np.float32))
    return op.reshape(op.multiply(shifted, scale), list(weight.shape), special_zero=False)


def quantized(weight: Array) -> tuple[NDArray[np.uint8], Array, NDArray[np.uint8]]:
    """The bytes of a weight, (outputs, groups, `GROUP`), and the scale and zero point of each group of its inputs."""
    grouped = weight.reshape(len(weight), -1, GROUP)
    low, high = grouped.min(-1, keepdims=True, initial=0), grouped.max(-1, keepdims=True, initial=0)
    scale = (high - low) / 255
    zero = np.rint(-low / scale).astype(np.uint8)
    return np.clip(np.rint(grouped / scale) + zero, 0, 255).astype(np.uint8), scale, zero


def load(path: Path) -> dict[str, Array]:
    """Weights from a file that `save` wrote, as float32."""
    from safetensors.numpy import load_file

    stored = load_file(path)
    weights: dict[str, Array] = {}
    for name, values in stored.items():
        if name.endswith((".scale", ".zero")):
            continue
        if f"{name}.scale" in stored:
            restored = (values.astype(np.float32) - stored[f"{name}.zero"]) * stored[f"{name}.scale"]
            weights[name] = restored.reshape(len(values), -1)
        else:
            weights[name] = values.astype(np.float32)
    return weights


def save(weights: dict[str, Array], path: Path) -> None:
    """Write weights: the layers' matrices as bytes, which is what they are computed with, the rest as they are."""
    from safetensors.numpy import save_file

    stored: dict[str, np.ndarray] = {}
    for name, weight in weights.items():
        if ".layer." in name and weight.ndim == 2:
            stored[name], stored[f"{name}.scale"], stored[f"{name}.zero"] = quantized(weight)
        else:
            stored[name] = weight
    save_file(stored, path)
