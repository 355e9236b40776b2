"""Which of many texts stand in the bytes of a file, all looked for in one pass over it."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from memory.progress import Progress, without_progress

SOUGHT_BYTES = 200
"""SQLite breaks a long text at page borders: its first words are looked for."""

CHUNK_BYTES = 1 << 24
"""Bytes held at a time, for a bank may be larger than memory."""

FEW = 8
"""Texts that are found sooner one by one."""

WIDEST = 8
"""Bytes by which a text is found before it is compared whole: a number of 64 bits."""


def in_files(bank: Path, texts: Collection[str], progress: Progress = without_progress) -> set[str]:
    """Those of the texts that stand in the bytes of a bank's file, its log or its index of the log."""
    standing = in_file(bank, texts, progress)
    for end in ("-wal", "-shm"):
        standing |= in_file(bank.with_name(bank.name + end), texts)
    return standing


def in_file(path: Path, texts: Collection[str], progress: Progress = without_progress) -> set[str]:
    """Those of the texts, of two bytes or more each, that stand in a file; none, if it is not there."""
    if not texts:
        return set()
    sought = {text.encode()[:SOUGHT_BYTES]: text for text in texts}
    search, overlap = _Search(sought), max(map(len, sought)) - 1
    standing: set[bytes] = set()
    with suppress(FileNotFoundError), path.open("rb") as file:  # a log goes with its last reader
        size, held = max(path.stat().st_size, 1), b""
        while chunk := file.read(CHUNK_BYTES):
            held = held[-overlap:] + chunk
            standing |= search.within(held)
            progress(min(file.tell() / size, 1.0))
    return {sought[text] for text in standing}


class _Search:
    """Looks for texts by their first two bytes, then by the first eight, then whole: few places come through each."""

    def __init__(self, texts: Collection[bytes]) -> None:
        self._whole = texts
        self._width = min(WIDEST, *map(len, texts))
        self._texts: dict[int, list[bytes]] = {}
        self._begun = np.zeros(1 << 16, dtype=np.bool_)
        for text in texts:
            self._begun[int.from_bytes(text[:2], "little")] = True
            self._texts.setdefault(int.from_bytes(text[: self._width], "little"), []).append(text)
        self._keys = np.array(sorted(self._texts), dtype=np.uint64)

    def within(self, held: bytes) -> set[bytes]:
        """Those that stand in these bytes."""
        if len(self._whole) <= FEW:
            return {text for text in self._whole if text in held}
        whole = np.frombuffer(held, dtype=np.uint8)
        standing: set[bytes] = set()
        for offset in (0, 1):
            pairs = np.frombuffer(held, dtype="<u2", offset=offset, count=max(0, (len(held) - offset) // 2))
            # Widened first: NumPy takes by its own kind of index twice as fast.
            places = np.flatnonzero(self._begun.take(pairs.astype(np.intp))) * 2 + offset
            places = places[places <= len(held) - self._width]
            keys = self._keys_at(whole, places)
            at = np.isin(keys, self._keys)
            for place, key in zip(places[at].tolist(), keys[at].tolist(), strict=True):
                standing.update(text for text in self._texts[key] if held.startswith(text, place))
        return standing

    def _keys_at(self, whole: NDArray[np.uint8], places: NDArray[np.intp]) -> NDArray[np.uint64]:
        keys = np.zeros(len(places), dtype=np.uint64)
        for nth in range(self._width):
            keys |= whole[places + nth].astype(np.uint64) << np.uint64(8 * nth)
        return keys
