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

Exports come as archives, too, and character cards as pictures: `unpack` finds in them what an importer reads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from memory.errors import UnreadableFile
from memory.importers.benchmarks import dialsim, locomo, longmemeval, madial, memorybank, perltqa
from memory.importers.chats import chatgpt, claude, librechat, openwebui, sillytavern, telegram, whatsapp
from memory.importers.generic import character_card as card
from memory.importers.generic import memoir, transcript
from memory.importers.generic import memoir_export as memoir_sealed
from memory.importers.reading.png import is_picture, read_inscription
from memory.importers.reading.source import HEAD_BYTES, Record, Source, read_head
from memory.importers.reading.unknown_format import describe, find_obstacle
from memory.importers.reading.zip_archive import Member, is_archive, read_archive
from memory.types import Skip

__all__ = ["HEAD_BYTES", "IMPORTERS", "Importer", "Record", "Unpacked", "detect", "unpack"]


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
    "chatgpt": chatgpt,
    "claude": claude,
    "openwebui": openwebui,
    "librechat": librechat,
    "telegram": telegram,
    "card": card,
    "sillytavern": sillytavern,
    "perltqa": perltqa,
    "madial": madial,
    "memorybank": memorybank,
    "dialsim": dialsim,
    "whatsapp": whatsapp,
    "transcript": transcript,
}


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What is read of a file: itself, the card in a picture, or the members of an archive that are of one format.

    `size` is how many bytes that is, `skips` what else the archive holds.
    """

    importer: Importer
    sources: tuple[Source, ...]
    size: int
    skips: tuple[Skip, ...] = ()


def unpack(path: Path) -> Unpacked:
    """What is read of a file and by whom, decided from its content.

    Raises:
        UnreadableFile: it is no known format, and this is what it looks like; or an archive that must not be opened.
    """
    head = read_head(path)
    if is_archive(head):
        return _unpack_archive(path)
    if is_picture(head):
        try:
            card = read_inscription(path)
        except ValueError as fault:
            raise _unknown(path, f"it looks like a picture, but {fault}") from fault
        if card is None:
            raise _unknown(path, "it looks like a picture without a character card in it")
        return Unpacked(_claim(card, read_head(card)), (card,), card.size)
    return Unpacked(_claim(path, head), (path,), path.stat().st_size)


def detect(path: Path) -> Importer:
    """The importer of a file; raises what `unpack` raises."""
    return unpack(path).importer


def _unpack_archive(path: Path) -> Unpacked:
    members, skips = read_archive(path)
    claimed: list[tuple[Importer, Member]] = []
    for member in members:
        head = read_head(member)
        if importer := _find_importer(head):
            claimed.append((importer, member))
        else:
            skips.append(Skip(member.info.filename, find_obstacle(head) or describe(head)))
    # What says more of itself is what the archive was made for; a text file beside it is not.
    chosen = next((i for i in IMPORTERS.values() if any(i is importer for importer, _ in claimed)), None)
    if chosen is None:
        held = "; ".join(f"{skip.place}: {skip.reason}" for skip in skips[:3]) or "it is empty"
        raise _unknown(path, f"it looks like a zip archive without a file of a known format ({held})")
    other = "; an archive is read as one format. Import it by itself"
    skips += [Skip(m.info.filename, f"it is {i.NAME}, not {chosen.NAME}{other}") for i, m in claimed if i is not chosen]
    sources = tuple(m for i, m in claimed if i is chosen)
    if len(sources) > 1 and any(memoir_sealed.is_sealed(m) for m in sources):
        names = ", ".join(m.info.filename for m in sources[:3]) + (", ..." if len(sources) > 3 else "")
        raise UnreadableFile(
            f"{path.name} holds {len(sources)} files of {chosen.NAME} ({names}), and what Memoir exported comes "
            "whole or not at all. Nothing of it was stored; unpack it and import each by itself."
        )
    return Unpacked(chosen, sources, sum(m.size for m in sources), tuple(skips))


def _claim(source: Source, head: bytes) -> Importer:
    importer = _find_importer(head)
    if importer is None:
        raise _unknown(source, find_obstacle(head) or describe(head))
    return importer


def _find_importer(head: bytes) -> Importer | None:
    if find_obstacle(head):
        return None
    return next((importer for importer in IMPORTERS.values() if importer.sniff(head)), None)


def _unknown(source: Source, obstacle: str) -> UnreadableFile:
    known = ", ".join(importer.NAME for importer in IMPORTERS.values())
    return UnreadableFile(f"{source.name} cannot be imported: {obstacle}. Known formats: {known}.")
