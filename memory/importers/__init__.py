"""Histories in other people's formats: one module a format, found by what a file holds, never by its name.

An importer is a module with three names:

    NAME        what reports call the format ("LoCoMo")
    sniff(head) whether the first bytes of a file are this format; `head` holds at most `HEAD_BYTES`
    read(path)  the file as a stream of records, so that no file need fit in memory

The stream names a history before what belongs to it: `PersonaDraft`, then its `SessionDraft`s and `MemoryDraft`s in
any order, then the next `PersonaDraft`; one that was named before is the same history, taken up again. What cannot be
used comes as a `Skip` with its place in the file, and so does what is kept but deserves a look (no readable date);
what makes the rest of the file unreadable raises `memory.errors.UnreadableFile`, after everything before it was handed
over.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from memory.errors import UnreadableFile
from memory.importers import dialsim, locomo, longmemeval, madial, memoir, memorybank, perltqa, transcript
from memory.importers.looks import describe, find_obstacle
from memory.importers.source import HEAD_BYTES, Record, Source, read_head

__all__ = ["HEAD_BYTES", "IMPORTERS", "Importer", "Record", "detect"]


class Importer(Protocol):
    """What a module of this package offers."""

    NAME: str

    def sniff(self, head: bytes, /) -> bool:
        """Whether the first bytes of a file are this format."""

    def read(self, path: Source, /) -> Iterator[Record]:
        """The file as a stream of records."""


# Asked in this order: the more a format says of itself the earlier, plain text last.
IMPORTERS: dict[str, Importer] = {
    "memoir": memoir,
    "longmemeval": longmemeval,
    "locomo": locomo,
    "perltqa": perltqa,
    "madial": madial,
    "memorybank": memorybank,
    "dialsim": dialsim,
    "transcript": transcript,
}


def detect(path: Path) -> Importer:
    """The importer of a file, decided from its content; raises `UnreadableFile` that says what the file looks like."""
    head = read_head(path)
    obstacle = find_obstacle(head)
    if not obstacle:
        for importer in IMPORTERS.values():
            if importer.sniff(head):
                return importer
        obstacle = describe(head)
    known = ", ".join(importer.NAME for importer in IMPORTERS.values())
    raise UnreadableFile(f"{path.name} cannot be imported: {obstacle}. Known formats: {known}.")
