"""Find the importer of a file, and what it reads in it: the file itself, members of a zip archive, or a PNG's card.

A zip is read in place: nothing is unpacked to disk, and nothing in its headers is trusted. A member is inflated piece
by piece, never beyond the size that the archive declares; damage is raised as an `UnreadableFile` that names the
archive and the member.
"""

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, Literal

from memory import read_table
from memory.errors import UnreadableFile
from memory.importers import IMPORTERS, Importer
from memory.importers.generic import memoir_export
from memory.importers.generic.character_card import PNG_SIGNATURE, read_card
from memory.importers.reading.json_stream import outline
from memory.importers.reading.source import HEAD_BYTES, Part, Source, find_encoding, head_text, read_head
from memory.types import Skip

SIGNATURES = tuple((start.encode("latin-1"), meaning) for start, meaning in read_table(__file__)["signatures"])
CONTROLS = bytes(code for code in range(32) if code not in b"\t\n\r\f\x1b")
# Text may contain a stray control character; with a tenth of them it is not text.
MAX_CONTROL_SHARE = 0.1

ZIP_SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06")
"""How an archive begins; the second one if it is empty."""

MAX_DIRECTORY_BYTES = 1 << 24
"""The largest list of members, which is in memory: 50,000 pictures of a chat take 7 MB."""

MAX_MEMBERS, MAX_TEXTS = 50_000, 5_000
"""The most members of an archive, and the most that may be histories. Listing one takes 12 µs, looking into one 53."""

MAX_MEMBER_BYTES = 1 << 31
"""The largest member, unpacked; the largest conversations.json that people report are under 1 GB."""

MAX_RATIO = 250
"""The highest ratio of unpacked to packed size: text has 10, a repetitive page 100, zeros 1000."""

RATIO_CHECKED_FROM_BYTES = 1 << 20
"""The unpacked size from which the ratio is checked."""

TEXT_SUFFIXES = frozenset({".json", ".jsonl", ".txt"})
ARCHIVE_SUFFIXES = frozenset({".zip", ".gz", ".tar", ".tgz", ".bz2", ".xz", ".7z", ".rar"})
ENCRYPTED = 0x1
DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OSError)

DIRECTORY_SIZE, END_PLACE = 5, 9
"""Where the size of the list of members, and where it ends, are in what `zipfile` reads at the end of an archive."""

MEMBER_SIGNATURE, END_64_BYTES = b"PK\x01\x02", 76
"""How a member begins in the list, and the bytes that may stand between the list and the end of an archive."""


@dataclass(frozen=True, slots=True)
class Unpacked:
    """What is read of a file: the file itself, the card in a picture, or the members of an archive of one format.

    `format` is a key of `IMPORTERS`; `size` the sum of the sources' bytes; `is_export` whether it is an export of
    Memoir's; `skips` are the members of the archive that are not read.
    """

    format: str
    sources: tuple[Source, ...]
    size: int
    is_export: bool
    skips: tuple[Skip, ...] = ()

    @property
    def importer(self) -> Importer:
        """The importer of its format."""
        return IMPORTERS[self.format]


def unpack(path: Path) -> Unpacked:
    """Find what to read of a file and its importer, by the file's content.

    Raises:
        UnreadableFile: the file is of no known format, or an archive that is damaged or not safe to open.
    """
    head = read_head(path)
    if head.startswith(ZIP_SIGNATURES):
        return _unpack_archive(path)
    try:
        source = read_card(path) if head.startswith(PNG_SIGNATURE) else path
        is_export = memoir_export.is_export(source)  # by its last line too, if its first one was changed
        found = "memoir" if is_export else _find_format(read_head(source))
    except ValueError as fault:
        raise _unknown(path, str(fault)) from fault
    return Unpacked(found, (source,), source.size if isinstance(source, Part) else path.stat().st_size, is_export)


def _unpack_archive(path: Path) -> Unpacked:
    members, skips = _list_members(path)
    known: list[tuple[str, str, Part]] = []
    for name, member in members:
        try:
            known.append((_find_format(read_head(member)), name, member))
        except ValueError as fault:
            skips.append(Skip(name, str(fault)))
    # The most specific format is the one the archive was made for, not a text file beside it.
    chosen = min((kind for kind, *_ in known), key=list(IMPORTERS).index, default=None)
    if chosen is None:
        found = "; ".join(f"{skip.place}: {skip.reason}" for skip in skips[:3]) or "it is empty"
        raise _unknown(path, f"it looks like a zip archive without a file of a known format ({found})")
    why = f"not {IMPORTERS[chosen].NAME}; only one format is read from an archive. Import it by itself"
    skips += [Skip(name, f"it is {IMPORTERS[kind].NAME}, {why}") for kind, name, _ in known if kind != chosen]
    names, sources = zip(*((name, member) for kind, name, member in known if kind == chosen), strict=True)
    is_export = any(map(memoir_export.is_export, sources))
    if is_export and len(sources) > 1:
        listed = ", ".join(names[:3]) + (", ..." if len(sources) > 3 else "")
        raise UnreadableFile(
            f"{path.name} contains {len(sources)} files of {IMPORTERS[chosen].NAME} ({listed}), but only one export "
            "can be imported at a time. Nothing was stored. Unpack the archive and import each by itself."
        )
    return Unpacked(chosen, sources, sum(member.size for member in sources), is_export, tuple(skips))


def _list_members(path: Path) -> tuple[list[tuple[str, Part]], list[Skip]]:
    """List the members that may be histories, by name, and the reasons why the others are not read.

    Raises:
        UnreadableFile: the archive is damaged or encrypted, contains paths outside itself, or unpacks to more than any
            export.
    """
    try:
        with path.open("rb") as file:
            _check_directory(path, file)
        zipped = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, struct.error, ValueError, NotImplementedError, OSError) as fault:
        raise _refusal(path, f"is damaged or incomplete ({fault}); get it again") from fault
    members, skips = [], []
    for info in zipped.infolist():
        if reason := _find_danger(info):
            raise _refusal(path, reason)
        if info.is_dir():
            continue
        if reason := _why_not_read(info.filename):
            skips.append(Skip(info.filename, reason))
            continue
        if reason := _find_bomb(info):
            raise _refusal(path, reason)
        members.append((info.filename, _member(path, zipped, info)))
    if len(members) > MAX_TEXTS:
        raise _refusal(path, f"contains {len(members):,} texts; expected at most {MAX_TEXTS:,}. Import it in parts")
    return members, skips


def _member(archive: Path, zipped: zipfile.ZipFile, info: zipfile.ZipInfo) -> Part:
    """One file in an archive, which stays open as long as this exists; damage is raised while it is read.

    A generic name (WhatsApp's `_chat.txt`) counts as that of the archive.
    """
    name, stem = f"{archive.name}: {info.filename}", PurePosixPath(info.filename).stem

    @contextmanager
    def open_member(mode: Literal["rb"]) -> Iterator[IO[bytes]]:
        try:
            with zipped.open(info) as file:
                yield file
        except DAMAGED as fault:
            raise UnreadableFile(
                f"{name} is damaged in its archive: {fault}. Download or copy the archive again."
            ) from fault

    return Part(name, archive.stem if stem.startswith("_") else stem, info.file_size, open_member)


def _refusal(path: Path, reason: str) -> UnreadableFile:
    return UnreadableFile(f"{path.name} cannot be imported: it looks like a zip archive, but {reason}.")


def _check_directory(path: Path, file: BinaryIO) -> None:
    """Refuse a list of members that is too long, before anything reads that list into memory.

    Its size and the number of members are in several records, which may contradict each other. `zipfile` tells the size
    that it will read; the members in that are counted.
    """
    record = zipfile._EndRecData(file)  # type: ignore[attr-defined]  # private, so a test holds what it returns
    if not record:
        raise zipfile.BadZipFile("it has no list of files at its end")
    size = int(record[DIRECTORY_SIZE])
    if size > MAX_DIRECTORY_BYTES:
        raise _refusal(path, f"lists {size:,} bytes of files; expected at most {MAX_DIRECTORY_BYTES:,}")
    file.seek(max(0, int(record[END_PLACE]) - size - END_64_BYTES))
    if (count := file.read(size + END_64_BYTES).count(MEMBER_SIGNATURE)) > MAX_MEMBERS:
        raise _refusal(path, f"lists {count:,} files; expected at most {MAX_MEMBERS:,}. Import its parts by themselves")


def _find_danger(info: zipfile.ZipInfo) -> str:
    """Why a member is dangerous: it is encrypted, or its path leads out of the folder; empty if it is not."""
    parts = info.filename.replace("\\", "/").split("/")
    if ".." in parts or not parts[0] or ":" in parts[0][1:2]:
        return f"contains a path outside itself ({info.filename!r}); expected paths inside it"
    if info.flag_bits & ENCRYPTED:
        return f"{info.filename!r} in it is encrypted; expected an archive without a password"
    return ""


def _why_not_read(name: str) -> str:
    """Why a member is not read; empty if it may be a history."""
    path = PurePosixPath(name)
    if name.startswith("__MACOSX/") or path.name.startswith("._"):
        return "metadata added by macOS"
    if path.suffix.lower() in ARCHIVE_SUFFIXES:
        return "an archive inside the archive; unpack this one and import that one by itself"
    if path.suffix.lower() not in TEXT_SUFFIXES:
        return f"not text; only {', '.join(sorted(TEXT_SUFFIXES))} files are read from an archive"
    return ""


def _find_bomb(info: zipfile.ZipInfo) -> str:
    """Why a member may be a zip bomb; empty if it is not."""
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # Other methods inflate a piece as a whole, however large it becomes.
        return f"{info.filename!r} in it is packed by method {info.compress_type}; expected deflate, as exports are"
    if info.file_size > MAX_MEMBER_BYTES:
        return f"{info.filename!r} in it unpacks to {info.file_size:,} bytes; expected at most {MAX_MEMBER_BYTES:,}"
    if info.file_size > max(RATIO_CHECKED_FROM_BYTES, MAX_RATIO * info.compress_size):
        ratio = info.file_size // max(info.compress_size, 1)
        return f"{info.filename!r} in it unpacks to {ratio:,} times its size; expected at most {MAX_RATIO} times"
    return ""


def _find_format(head: bytes) -> str:
    """The format of a file that starts with these bytes; raises `ValueError` that says why it is of none."""
    if reason := _why_unreadable(head):
        raise ValueError(reason)
    if name := next((name for name, importer in IMPORTERS.items() if importer.sniff(head)), ""):
        return name
    text = head_text(head).lstrip()
    if not text:
        raise ValueError("it contains only white space")
    if text[0] in "{[":
        keys = sorted({place[-1] for place in outline(head) if place[-1] != "[]" and len(place) < 3})[:8]
        raise ValueError(f"it looks like JSON{' with the keys ' if keys else ', but broken'}{', '.join(keys)}")
    raise ValueError("it is text without lines of the form 'Speaker: what was said'")


def _unknown(path: Path, reason: str) -> UnreadableFile:
    known = ", ".join(importer.NAME for importer in IMPORTERS.values())
    return UnreadableFile(f"{path.name} cannot be imported: {reason}. Known formats: {known}.")


def _why_unreadable(head: bytes) -> str:
    """Why a file that starts with these bytes cannot be text of any format; empty if it can."""
    if not head:
        return "it is empty (0 bytes)"
    if meaning := next((meaning for signature, meaning in SIGNATURES if head.startswith(signature)), ""):
        return f"it looks like {meaning}"
    encoding, mark = find_encoding(head)
    controls = 1 - len(head.translate(None, CONTROLS)) / len(head)
    if not mark and controls > MAX_CONTROL_SHARE:
        utf16 = (head[1:4:2] == b"\x00\x00") != (head[0:3:2] == b"\x00\x00")
        return "it looks like UTF-16 text without a byte-order mark; save it as UTF-8" if utf16 else "it is binary"
    try:
        head[mark:].decode(encoding)
    except UnicodeDecodeError as fault:
        if len(head) >= HEAD_BYTES and fault.end >= len(fault.object):
            return ""
        found = f"byte 0x{fault.object[fault.start]:02x} at offset {fault.start + mark:,}"
        if not mark and controls > 0:
            return f"it is binary ({found} is not text)"
        return f"it is not {encoding.upper()} text ({found}); save it as UTF-8"
    return ""
