"""Find the importer of a file, and what it reads in it: the file itself, members of a zip archive, or a PNG's card."""

from dataclasses import dataclass
from pathlib import Path

from memory.errors import UnreadableFile
from memory.importers import IMPORTERS, Importer
from memory.importers.generic import memoir_export
from memory.importers.reading.containers import PNG_SIGNATURE, ZIP_SIGNATURES, ZipMember, list_members, read_card
from memory.importers.reading.json_stream import outline
from memory.importers.reading.source import HEAD_BYTES, Source, find_encoding, head_text, read_head
from memory.types import Skip

PICKLE = "a Python pickle, which could run code and is never opened; export its dialogues as text"
SIGNATURES = (
    (b"PK\x03\x04", "a zip archive within another; unpack it and import the files in it"),
    (b"\x1f\x8b", "a gzip archive; unpack it and import the file in it"),
    (b"%PDF", "a PDF document; save its text and import that"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    *((bytes([0x80, version]), PICKLE) for version in range(2, 6)),
)
CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r\f\x1b")
# Text may contain a stray control character; with a tenth of them it is not text.
MAX_CONTROL_SHARE = 0.1


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
    if head.startswith(ZIP_SIGNATURES):
        return _unpack_archive(path)
    if not head.startswith(PNG_SIGNATURE):
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
        importer = _find_importer(read_head(member))
        if isinstance(importer, str):
            skips.append(Skip(member.info.filename, importer))
        else:
            known.append((importer, member))
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
    if isinstance(importer, str):
        raise _unknown(source, importer)
    return importer


def _find_importer(head: bytes) -> Importer | str:
    """The importer of a file that starts with these bytes, or why it is of no known format."""
    if reason := _why_unreadable(head):
        return reason
    if importer := next((importer for importer in IMPORTERS.values() if importer.sniff(head)), None):
        return importer
    text = head_text(head).lstrip()
    if not text:
        return "it contains only white space"
    if text[0] in "{[":
        keys = sorted({place[-1] for place in outline(head) if place[-1] != "[]" and len(place) < 3})[:8]
        return f"it looks like JSON with the keys {', '.join(keys)}" if keys else "it looks like JSON, but broken"
    return "it is text without lines of the form 'Speaker: what was said'"


def _unknown(source: Source, reason: str) -> UnreadableFile:
    known = ", ".join(importer.NAME for importer in IMPORTERS.values())
    return UnreadableFile(f"{source.name} cannot be imported: {reason}. Known formats: {known}.")


def _why_unreadable(head: bytes) -> str:
    """Why a file that starts with these bytes cannot be text of any format; empty if it can."""
    if not head:
        return "it is empty (0 bytes)"
    if meaning := next((meaning for signature, meaning in SIGNATURES if head.startswith(signature)), ""):
        return f"it looks like {meaning}"
    encoding, mark = find_encoding(head)
    if not mark and _control_share(head) > MAX_CONTROL_SHARE:
        utf16 = (head[1:4:2] == b"\x00\x00") != (head[0:3:2] == b"\x00\x00")
        return "it looks like UTF-16 text without a byte-order mark; save it as UTF-8" if utf16 else "it is binary"
    return _find_undecodable(head, encoding, mark)


def _find_undecodable(head: bytes, encoding: str, mark: int) -> str:
    try:
        head[mark:].decode(encoding)
    except UnicodeDecodeError as fault:
        if len(head) >= HEAD_BYTES and fault.end >= len(fault.object):
            return ""
        found = f"byte 0x{fault.object[fault.start]:02x} at offset {fault.start + mark:,}"
        if not mark and _control_share(head) > 0:
            return f"it is binary ({found} is not text)"
        return f"it is not {encoding.upper()} text ({found}); save it as UTF-8"
    return ""


def _control_share(head: bytes) -> float:
    return 1 - len(head.translate(None, CONTROLS)) / len(head)
