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

if TYPE_CHECKING:
    from memory.importers.reading.source import Source

SEARCHED_BYTES = 200
"""Bytes of each text that are searched for: SQLite splits longer texts at page borders."""

CHUNK_BYTES = 1 << 24
"""Bytes read at a time, for a bank may be larger than memory."""

KEY_BYTES = 8
"""The first bytes of a text, which are compared as one number before the text is compared in full."""


def find_in_file(path: "Source", texts: Collection[str]) -> set[str]:
    """The texts, of at least two bytes each, that occur in a file; none if the file does not exist."""
    if not texts:
        return set()
    by_bytes = {text.encode()[:SEARCHED_BYTES]: text for text in texts}
    short = {text for text in by_bytes if len(text) < KEY_BYTES}
    search, overlap = TextSearch(by_bytes.keys() - short), max(map(len, by_bytes)) - 1
    found: set[bytes] = set()
    with suppress(FileNotFoundError), path.open("rb") as file:  # a log is deleted with its last reader
        window = b""
        while chunk := file.read(CHUNK_BYTES):
            window = window[-overlap:] + chunk
            found |= {text for text in short if text in window} | search.find_in(window)
    return {by_bytes[text] for text in found}


class TextSearch:
    """Finds texts by their first two bytes, then by all of their key, then in full; few places pass each step.

    For `b"lamplight"` and `b"lake view"` in `b"a lake view"`: "la" occurs at 2, the eight bytes there are "lake vie".
    """

    def __init__(self, texts: Collection[bytes]) -> None:
        self._texts = frozenset(texts)
        self._lengths: dict[int, set[int]] = {}  # many texts may begin alike, but they have few lengths
        for text in texts:
            self._lengths.setdefault(int.from_bytes(text[:KEY_BYTES], "little"), set()).add(len(text))
        self._keys = np.array(sorted(self._lengths), dtype=np.uint64)
        self._is_start = np.isin(np.arange(1 << 16), self._keys & 0xFFFF)

    def find_in(self, window: bytes) -> set[bytes]:
        """The texts that occur in these bytes."""
        found: set[bytes] = set()
        for offset in range(min(KEY_BYTES, len(window) - KEY_BYTES + 1)) if self._texts else ():
            keys = np.frombuffer(window, "<u8", (len(window) - offset) // KEY_BYTES, offset)
            # NumPy takes by its native index type twice as fast.
            places = np.flatnonzero(self._is_start.take((keys & 0xFFFF).astype(np.intp)))
            for place in places[np.isin(keys[places], self._keys)].tolist():
                start, lengths = place * KEY_BYTES + offset, self._lengths[int(keys[place])]
                found.update(self._texts.intersection(window[start : start + n] for n in lengths))
        return found


if __name__ == "__main__":
    wanted = json.load(sys.stdin)
    json.dump(sorted(set().union(*(find_in_file(Path(name), wanted) for name in sys.argv[1:]))), sys.stdout)
