"""Read files inside other files: the members of a zip archive, and the character card in a PNG picture.

A zip is read in place: nothing is unpacked to disk, and nothing in its headers is trusted. A member is inflated piece
by piece, never beyond the size that the archive declares; damage is raised as an `UnreadableFile` that names the
archive and the member.

A PNG is a signature and chunks of length, type, data and checksum (W3C PNG specification, 5). SillyTavern and others
store a card in a `tEXt` chunk, keyword `chara` (version 2) or `ccv3` (version 3), as JSON in base64
(github.com/malfoyslastname/character-card-spec-v2, github.com/kwaroran/character-card-spec-v3). Of two cards, version 3
is read. The image is never decoded, which is why no imaging library is used.
"""

import base64
import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, Literal

from memory.errors import UnreadableFile
from memory.types import Skip

ZIP_SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06")
"""How an archive begins; the second one if it is empty."""

MAX_DIRECTORY_BYTES = 1 << 24
"""The largest list of members, which is in memory: 100,000 pictures of a chat take 13 MB."""

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

DIRECTORY_SIZE = 5
"""Place of the size of the list of members in what `zipfile` reads at the end of an archive."""

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
CARD_KEYWORDS = (b"ccv3", b"chara")
CHUNK = struct.Struct(">L4s")
CHECKSUM = struct.Struct(">L")

MAX_TEXT_BYTES = 1 << 25
"""The longest text chunk that is read; a card with a lorebook is under 1 MB."""


@dataclass(frozen=True, slots=True)
class ZipMember:
    """One file in an archive, read like any file; the archive stays open as long as one of its members exists."""

    archive: Path
    zipped: zipfile.ZipFile
    info: zipfile.ZipInfo

    @property
    def name(self) -> str:
        """The name that messages use."""
        return f"{self.archive.name}: {self.info.filename}"

    @property
    def stem(self) -> str:
        """The name without its suffix; for a generic one (WhatsApp's `_chat.txt`) that of the archive."""
        stem = PurePosixPath(self.info.filename).stem
        return self.archive.stem if stem.startswith("_") else stem

    @property
    def size(self) -> int:
        """Its unpacked size in bytes."""
        return self.info.file_size

    @contextmanager
    def open(self, mode: Literal["rb"]) -> Iterator[IO[bytes]]:
        """Open it for reading; damage is raised as `UnreadableFile` while it is read."""
        try:
            with self.zipped.open(self.info) as file:
                yield file
        except DAMAGED as fault:
            raise UnreadableFile(
                f"{self.name} is damaged in its archive: {fault}. Download or copy the archive again."
            ) from fault


@dataclass(frozen=True, slots=True)
class EmbeddedCard:
    """The text in a picture, as a source that importers read."""

    name: str
    stem: str
    content: bytes

    @property
    def size(self) -> int:
        """Its length in bytes."""
        return len(self.content)

    def open(self, mode: Literal["rb"]) -> io.BytesIO:
        """Open it for reading."""
        return io.BytesIO(self.content)


def list_members(path: Path) -> tuple[list[ZipMember], list[Skip]]:
    """List the members that may be histories, and the reasons why the others are not read.

    Raises:
        UnreadableFile: the archive is damaged or encrypted, contains paths outside itself, or unpacks to more than any
            export.
    """
    try:
        with path.open("rb") as file:
            size = _directory_size(file)
        if size > MAX_DIRECTORY_BYTES:
            raise _refusal(path, f"lists {size:,} bytes of files; expected at most {MAX_DIRECTORY_BYTES:,}")
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
        members.append(ZipMember(path, zipped, info))
    return members, skips


def _refusal(path: Path, reason: str) -> UnreadableFile:
    return UnreadableFile(f"{path.name} cannot be imported: it looks like a zip archive, but {reason}.")


def _directory_size(file: BinaryIO) -> int:
    """The size of the list of members, before anything reads that list into memory.

    It is in several records, which may contradict each other. `zipfile` tells the size that it will read.
    """
    record = zipfile._EndRecData(file)  # type: ignore[attr-defined]  # private, so a test holds what it returns
    if not record:
        raise zipfile.BadZipFile("it has no list of files at its end")
    return int(record[DIRECTORY_SIZE])


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


def read_card(path: Path) -> EmbeddedCard | None:
    """The card in a PNG, as JSON; None if there is none.

    Raises:
        ValueError: the file breaks off, or its card is damaged or longer than `MAX_TEXT_BYTES`.
    """
    cards: dict[bytes, bytes] = {}
    try:
        with path.open("rb") as file:
            for data in _text_chunks(file):
                keyword, _, text = data.partition(b"\x00")
                if keyword in CARD_KEYWORDS:
                    cards[keyword] = base64.b64decode(text, validate=True)
    except (EOFError, ValueError, OSError) as fault:
        raise ValueError(f"{fault}; expected a complete PNG whose card is JSON in base64") from fault
    card = next((cards[keyword] for keyword in CARD_KEYWORDS if keyword in cards), None)
    return None if card is None else EmbeddedCard(path.name, path.stem, card)


def _text_chunks(file: BinaryIO) -> Iterator[bytes]:
    size = file.seek(0, 2)
    file.seek(len(PNG_SIGNATURE))
    while header := file.read(CHUNK.size):
        if len(header) < CHUNK.size:
            raise EOFError("it ends unexpectedly")
        length, kind = CHUNK.unpack(header)
        end = file.tell() + length + CHECKSUM.size
        if end > size:
            raise EOFError(f"it ends unexpectedly in a chunk of {length:,} bytes")
        if kind == b"tEXt":
            if length > MAX_TEXT_BYTES:
                raise ValueError(f"a text in it is {length:,} bytes long, over {MAX_TEXT_BYTES:,}")
            data = file.read(length)
            if CHECKSUM.unpack(file.read(CHECKSUM.size)) != (zlib.crc32(kind + data),):
                raise ValueError("the checksum of a text in it is wrong")
            yield data
        if kind == b"IEND":
            return
        file.seek(end)
