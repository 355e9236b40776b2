"""Read the header of a GGUF file: its metadata and the list of its tensors, without the weights.

Layout, little-endian: "GGUF", version, number of tensors, number of metadata entries; then the entries (key, type,
value); then the tensors (name, dimensions, type, offset); then the weights, aligned. The specification is
https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
"""

import math
import mmap
import os
import struct
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from graph.models.faults import UnknownModel
from graph.models.local_model import MAX_CONTEXT
from memory import read_table

_TABLE = read_table(__file__)
SHAPES: Mapping[str, tuple[str, int, int]] = _TABLE["shapes"]
"""Types of weights that OpenVINO reads, by number: name, weights in a block, bytes of a block."""
NUMBERS: Mapping[str, str] = _TABLE["numbers"]
"""How `struct` writes the types of values that are numbers."""
STRING, ARRAY = 8, 9
USE_ANOTHER: str = _TABLE["use_another"]


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """What a GGUF file tells of its model; `cache_bytes` is the size of the key-value cache at the whole context."""

    control_tokens: tuple[str, ...]
    precision: str
    parameters: int
    weight_bytes: int
    context: int
    cache_bytes: int


def read_header(path: Path) -> GgufHeader:
    """Read and check the header of a file that OpenVINO is to load; a damaged file would end the whole process there.

    Raises:
        UnknownModel: there is no such file, it is no complete GGUF file, or OpenVINO cannot read its model.
    """
    try:
        stat = path.stat()
        return _read(path, stat.st_size, stat.st_mtime_ns)
    except OSError as fault:
        raise UnknownModel(
            f"gguf:{path} cannot be read ({fault.strerror or fault}). Give the path of a GGUF file; “make model” "
            "installs a small one to try"
        ) from None
    except (struct.error, KeyError, ValueError, TypeError, ArithmeticError):
        raise UnknownModel(f"gguf:{path} is damaged, or not a complete download. Get the file again") from None


@cache
def _read(path: Path, size: int, modified: int) -> GgufHeader:
    def unreadable(what: str) -> UnknownModel:
        return UnknownModel(f"OpenVINO cannot read gguf:{path}: {what}. {USE_ANOTHER}")

    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise UnknownModel(f"gguf:{path} is not a GGUF file. Give the path of a file that ends in .gguf")
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    with data:
        data.seek(4)
        version, tensors, entries = _take(data, "IQQ")
        if version not in (2, 3):
            raise unreadable(f"version {version} of the format")
        found = {_string(data): _value(data, *_take(data, "I")) for _ in range(entries)}
        metadata = {key: value for key, value in found.items() if not isinstance(value, list)}
        if problem := _problem(metadata):
            raise unreadable(problem)
        if not metadata.get("tokenizer.chat_template"):
            raise UnknownModel(f"gguf:{path} has no chat template. Use the “instruct” or “chat” file of the model")
        names = zip(found.get("tokenizer.ggml.tokens", []), found.get("tokenizer.ggml.token_type", []), strict=False)
        control = tuple(name for name, kind in names if kind == _TABLE["control"])
        parameters, total, end = Counter[str](), 0, 0
        for _ in range(tensors):
            _string(data)
            weights = math.prod(_take(data, f"{_take(data, 'I')[0]}Q"))
            kind, offset = _take(data, "IQ")
            if str(kind) not in SHAPES:
                raise unreadable(f"weights of type {kind} (files called Q2, Q3, Q4_K_S, Q5 or IQ have such)")
            name, block, width = SHAPES[str(kind)]
            parameters[name] += weights
            total, end = total + weights // block * width, max(end, offset + weights // block * width)
        alignment = metadata.get("general.alignment", 32)
        if math.ceil(data.tell() / alignment) * alignment + end > len(data):
            raise ValueError("the weights end before the file should")
    ((precision, _),) = parameters.most_common(1)
    return GgufHeader(control, precision, parameters.total(), total, *_context_and_cache(metadata))


def _context_and_cache(metadata: Mapping[str, Any]) -> tuple[int, int]:
    """Tokens of context used, and bytes of the key-value cache at all of it; OpenVINO keeps eight bits a value."""

    def number(key: str, default: int = 0) -> int:
        return int(metadata.get(f"{metadata['general.architecture']}.{key}", default))

    context, heads = min(MAX_CONTEXT, number("context_length", MAX_CONTEXT)), number("attention.head_count", 1)
    size = number("attention.key_length", number("embedding_length") // heads)
    return context, 2 * number("block_count") * number("attention.head_count_kv", heads) * size * context


def _problem(metadata: Mapping[str, Any]) -> str:
    """What OpenVINO cannot read of a model with this metadata; empty if it can."""
    architecture, tokenizer = metadata.get("general.architecture"), metadata.get("tokenizer.ggml.model")
    if architecture not in _TABLE["architectures"]:
        return f"architecture “{architecture}”"
    if metadata.get("split.count", 1) > 1:
        return "one of several parts of a model"
    return "" if tokenizer == "gpt2" else f"tokenizer “{tokenizer}”"


def _take(data: mmap.mmap, form: str) -> tuple[Any, ...]:
    values = struct.unpack_from(f"<{form}", data, data.tell())
    data.seek(struct.calcsize(f"<{form}"), os.SEEK_CUR)
    return values


def _string(data: mmap.mmap) -> str:
    (length,) = _take(data, "Q")
    if length > len(data) - data.tell():
        raise ValueError("a string ends after the file")
    return data.read(length).decode("utf-8", "replace")


def _value(data: mmap.mmap, kind: int) -> Any:  # noqa: ANN401  # a number, a text or a list of them
    if kind == STRING:
        return _string(data)
    if kind != ARRAY:
        return _take(data, NUMBERS[str(kind)])[0]
    inner, length = _take(data, "IQ")
    if inner == STRING:
        return [_string(data) for _ in range(length)]
    return list(_take(data, f"{length}{NUMBERS[str(inner)]}"))
