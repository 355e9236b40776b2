"""Find the character card in a PNG picture; its text is then read like a file.

A PNG is a signature and chunks of length, type, data and checksum (W3C PNG specification, 5). SillyTavern and others
store a card in a `tEXt` chunk, keyword `chara` (version 2) or `ccv3` (version 3), as JSON in base64
(github.com/malfoyslastname/character-card-spec-v2, github.com/kwaroran/character-card-spec-v3). Of two cards, version 3
is read. The image is never decoded, which is why no imaging library is used.
"""

import base64
import io
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

SIGNATURE = b"\x89PNG\r\n\x1a\n"
KEYWORDS = (b"ccv3", b"chara")
CHUNK = struct.Struct(">L4s")
CHECKSUM = struct.Struct(">L")

MAX_TEXT_BYTES = 1 << 25
"""The longest text chunk that is read; a card with a lorebook is under 1 MB."""


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


def is_png(head: bytes) -> bool:
    """Whether a file that starts with these bytes is a PNG."""
    return head.startswith(SIGNATURE)


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
                if keyword in KEYWORDS:
                    cards[keyword] = base64.b64decode(text, validate=True)
    except (EOFError, ValueError, OSError) as fault:
        raise ValueError(f"{fault}; expected a complete PNG whose card is JSON in base64") from fault
    card = next((cards[keyword] for keyword in KEYWORDS if keyword in cards), None)
    return None if card is None else EmbeddedCard(path.name, path.stem, card)


def _text_chunks(file: BinaryIO) -> Iterator[bytes]:
    size = file.seek(0, 2)
    file.seek(len(SIGNATURE))
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
