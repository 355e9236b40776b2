"""Find the importer of a file, and what it reads in it: the file itself, members of a zip archive, or a PNG's card."""

from dataclasses import dataclass
from pathlib import Path

from memory.errors import UnreadableFile
from memory.importers import IMPORTERS, Importer
from memory.importers.generic import memoir_export
from memory.importers.reading.png import is_png, read_card
from memory.importers.reading.source import Source, read_head
from memory.importers.reading.unknown_format import describe, why_unreadable
from memory.importers.reading.zip_archive import ZipMember, is_zip, list_members
from memory.types import Skip


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What is read of a file: the file itself, the card in a picture, or the members of an archive of one format.

    `size` is the sum of the sources' bytes; `skips` are the members of the archive that are not read.
    """

    importer: Importer
    sources: tuple[Source, ...]
    size: int
    skips: tuple[Skip, ...] = ()


def unpack(path: Path) -> Unpacked:
    """Find what to read of a file and its importer, by the file's content.

    Raises:
        UnreadableFile: the file is of no known format, or an archive that is damaged or not safe to open.
    """
    head = read_head(path)
    if is_zip(head):
        return _unpack_archive(path)
    if not is_png(head):
        return Unpacked(_importer_of(path, head), (path,), path.stat().st_size)
    try:
        card = read_card(path)
    except ValueError as fault:
        raise _unknown(path, f"it looks like a picture, but {fault}") from fault
    if card is None:
        raise _unknown(path, "it looks like a picture without a character card in it")
    return Unpacked(_importer_of(card, read_head(card)), (card,), card.size)


def _unpack_archive(path: Path) -> Unpacked:
    members, skips = list_members(path)
    known: list[tuple[Importer, ZipMember]] = []
    for member in members:
        head = read_head(member)
        if importer := _find_importer(head):
            known.append((importer, member))
        else:
            skips.append(Skip(member.info.filename, why_unreadable(head) or describe(head)))
    # The most specific format is the one the archive was made for, not a text file beside it.
    chosen = next((i for i in IMPORTERS.values() if any(i is importer for importer, _ in known)), None)
    if chosen is None:
        found = "; ".join(f"{skip.place}: {skip.reason}" for skip in skips[:3]) or "it is empty"
        raise _unknown(path, f"it looks like a zip archive without a file of a known format ({found})")
    skips += [
        Skip(
            m.info.filename,
            f"it is {i.NAME}, not {chosen.NAME}; only one format is read from an archive. Import it by itself",
        )
        for i, m in known
        if i is not chosen
    ]
    sources = tuple(m for i, m in known if i is chosen)
    if len(sources) > 1 and any(memoir_export.is_export(m) for m in sources):
        names = ", ".join(m.info.filename for m in sources[:3]) + (", ..." if len(sources) > 3 else "")
        raise UnreadableFile(
            f"{path.name} contains {len(sources)} files of {chosen.NAME} ({names}), but only one export can be "
            "imported at a time. Nothing was stored. Unpack the archive and import each by itself."
        )
    return Unpacked(chosen, sources, sum(m.size for m in sources), tuple(skips))


def _importer_of(source: Source, head: bytes) -> Importer:
    importer = _find_importer(head)
    if importer is None:
        raise _unknown(source, why_unreadable(head) or describe(head))
    return importer


def _find_importer(head: bytes) -> Importer | None:
    if why_unreadable(head):
        return None
    return next((importer for importer in IMPORTERS.values() if importer.sniff(head)), None)


def _unknown(source: Source, reason: str) -> UnreadableFile:
    known = ", ".join(importer.NAME for importer in IMPORTERS.values())
    return UnreadableFile(f"{source.name} cannot be imported: {reason}. Known formats: {known}.")
