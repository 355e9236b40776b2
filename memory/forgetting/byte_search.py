"""Search files for the bytes of texts, many texts in one pass over a file; also as a program of its own.

    python -m memory.forgetting.byte_search FILE ...

reads the texts as a list in JSON from standard input and prints those that occur in one of the files, in JSON, too.
"""

import json
import sys
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from memory.importers.reading.source import Source

SEARCHED_BYTES = 200
"""Bytes of each text that are searched for: SQLite splits longer texts at page borders."""

CHUNK_BYTES = 1 << 24
"""Bytes read at a time, for a bank may be larger than memory."""

FEW_TEXTS = 8
"""Up to so many texts are found sooner one by one."""

MAX_KEY_BYTES = 8
"""Bytes of a text that are compared as one 64-bit number before the text is compared in full."""


def find_in_file(path: "Source", texts: Collection[str]) -> set[str]:
    """The texts, of at least two bytes each, that occur in a file; none if the file does not exist."""
    if not texts:
        return set()
    by_bytes = {text.encode()[:SEARCHED_BYTES]: text for text in texts}
    search, overlap = _TextSearch(by_bytes), max(map(len, by_bytes)) - 1
    found: set[bytes] = set()
    with suppress(FileNotFoundError), path.open("rb") as file:  # a log is deleted with its last reader
        window = b""
        while chunk := file.read(CHUNK_BYTES):
            window = window[-overlap:] + chunk
            found |= search.find_in(window)
    return {by_bytes[text] for text in found}


class _TextSearch:
    """Finds texts by their first two bytes, then by up to eight, then in full; few places pass each step.

    For `b"lamp"` and `b"lake"` in `b"a lake"`: the pair "la" occurs at 2, the four bytes there are "lake", found.
    """

    def __init__(self, texts: Collection[bytes]) -> None:
        self._all = frozenset(texts)
        self._width = min(MAX_KEY_BYTES, *map(len, texts))
        self._lengths: dict[int, set[int]] = {}  # many texts may begin alike, but they have few lengths
        self._is_start = np.zeros(1 << 16, dtype=np.bool_)
        for text in texts:
            self._is_start[int.from_bytes(text[:2], "little")] = True
            self._lengths.setdefault(int.from_bytes(text[: self._width], "little"), set()).add(len(text))
        self._keys = np.array(sorted(self._lengths), dtype=np.uint64)

    def find_in(self, window: bytes) -> set[bytes]:
        """The texts that occur in these bytes."""
        if len(self._all) <= FEW_TEXTS:
            return {text for text in self._all if text in window}
        array = np.frombuffer(window, dtype=np.uint8)
        found: set[bytes] = set()
        for offset in (0, 1):
            pairs = np.frombuffer(window, dtype="<u2", offset=offset, count=max(0, (len(window) - offset) // 2))
            # NumPy takes by its native index type twice as fast.
            places = np.flatnonzero(self._is_start.take(pairs.astype(np.intp))) * 2 + offset
            places = places[places <= len(window) - self._width]
            keys = self._keys_at(array, places)
            is_key = np.isin(keys, self._keys)
            for place, key in zip(places[is_key].tolist(), keys[is_key].tolist(), strict=True):
                found.update(self._all.intersection(window[place : place + n] for n in self._lengths[key]))
        return found

    def _keys_at(self, array: NDArray[np.uint8], places: NDArray[np.intp]) -> NDArray[np.uint64]:
        keys = np.zeros(len(places), dtype=np.uint64)
        for nth in range(self._width):
            keys |= array[places + nth].astype(np.uint64) << np.uint64(8 * nth)
        return keys


if __name__ == "__main__":
    wanted = json.load(sys.stdin)
    json.dump(sorted(set().union(*(find_in_file(Path(name), wanted) for name in sys.argv[1:]))), sys.stdout)
