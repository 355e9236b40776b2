"""Read text files: decode and check bytes, split lines of bounded length, and report what a bank cannot store."""

import codecs
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import wraps
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import IO, Concatenate, Literal, ParamSpec

from memory.bank.rows import SURROGATE, clean
from memory.errors import UnreadableFile
from memory.types import MemoryDraft, PersonaDraft, SessionDraft, Skip

Record = PersonaDraft | SessionDraft | MemoryDraft | Skip
Arguments = ParamSpec("Arguments")

# LoCoMo puts up to 43 kB of questions before its conversation; four times 64 kB leaves room and is still read at once.
HEAD_BYTES = 1 << 18
CHUNK_BYTES = 1 << 18
# A session of 100,000 turns of 300 bytes each still fits on one line of Memoir's own format.
MAX_LINE_BYTES = 1 << 25

# UTF-32 before UTF-16: the mark of UTF-16 begins the mark of UTF-32.
MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True, slots=True)
class Part:
    """A file inside another one; `picture` is the one that a character card lies in, cut small."""

    name: str
    stem: str
    size: int
    open: Callable[[Literal["rb"]], AbstractContextManager[IO[bytes]]]
    picture: str = ""


Source = Path | Part
"""What an importer reads; a format that names a history after its file takes the `stem`."""


@dataclass(frozen=True, slots=True)
class TextLine:
    """One line of a text file without its line break; `ended` is false for a last line that has none."""

    place: str
    text: str
    ended: bool


def find_encoding(head: bytes) -> tuple[str, int]:
    """The encoding that a byte-order mark names (UTF-8 without one), and the length of the mark in bytes."""
    return next(((encoding, len(mark)) for mark, encoding in MARKS if head.startswith(mark)), ("utf-8", 0))


def head_text(head: bytes) -> str:
    """The start of a file as text, with U+FFFD for bytes that cannot be decoded."""
    encoding, mark = find_encoding(head)
    return head[mark:].decode(encoding, "replace")


def read_head(path: Source) -> bytes:
    """The first `HEAD_BYTES` of a file; raises `UnreadableFile` if it cannot be opened."""
    try:
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except OSError as fault:
        raise UnreadableFile(f"{path.name} cannot be opened: {fault.strerror or fault}.") from fault


def read_chunks(path: Source) -> Iterator[bytes]:
    """Read a file as non-empty chunks of valid UTF-8 without a byte-order mark, none of which splits a character.

    Raises:
        UnreadableFile: a byte is not valid in the file's encoding; everything before it was handed over.
    """
    try:
        with path.open("rb") as file:
            encoding, offset = find_encoding(file.read(4))
            file.seek(offset)
            decoder = codecs.getincrementaldecoder(encoding)()
            while True:
                chunk = file.read(CHUNK_BYTES)
                pending = len(decoder.getstate()[0])
                try:
                    text = decoder.decode(chunk, final=not chunk)
                except UnicodeDecodeError as fault:
                    yield from filter(None, [fault.object[: fault.start].decode(encoding).encode()])
                    at = f"byte 0x{fault.object[fault.start]:02x} at offset {offset - pending + fault.start:,}"
                    raise UnreadableFile(
                        f"{path.name} is not {fault.encoding.upper()} text: {at}. Save it as UTF-8 and import it again."
                    ) from fault
                if text:
                    yield text.encode()
                if not chunk:
                    return
                offset += len(chunk)
    except OSError as fault:
        raise UnreadableFile(f"{path.name} cannot be read: {fault.strerror or fault}.") from fault


def read_lines(path: Source, skips: list[Skip]) -> Iterator[TextLine]:
    """The lines of a text file as a bank can store them, numbered from 1; what is left out or changed goes to `skips`.

    A line longer than `MAX_LINE_BYTES` is left out, and is never in memory.
    """
    number, line, overlong = 1, bytearray(), False
    # An empty piece ends the last line.
    for piece in chain(chain.from_iterable(map(BytesIO, read_chunks(path))), [b""]):
        ended = piece.endswith(b"\n")
        overlong = overlong or len(line) + len(piece) - ended > MAX_LINE_BYTES
        if overlong:
            line.clear()
        else:
            line += piece
        if (piece and not ended) or not (line or overlong):
            continue
        place = f"line {number}"
        if overlong:
            skips.append(Skip(place, f"longer than {MAX_LINE_BYTES:,} bytes; skipped"))
        else:
            text = clean_text(line.decode(), place, skips).removesuffix("\n").removesuffix("\r")
            yield TextLine(place, text, ended)
        number, overlong = number + 1, False
        line.clear()


def clean_text(text: str, place: str, skips: list[Skip]) -> str:
    """The text as a bank can store it; what had to change is reported."""
    if (cleaned := clean(text)) == text:
        return text
    zeros, surrogates = text.count("\x00"), len(SURROGATE.findall(text))
    changes = [f"{zeros} U+0000 characters removed"] * bool(zeros)
    changes += [f"{surrogates} unpaired surrogates replaced by U+FFFD"] * bool(surrogates)
    skips.append(Skip(place, ", ".join(changes)))
    return cleaned


def record_reader(
    read: Callable[Concatenate[list[Skip], Arguments], Iterator[Record | None]],
) -> Callable[Arguments, Iterator[Record]]:
    """Decorate a reader of records: it gets a list to which it adds what it leaves out.

    These skips come before the record that is yielded next, or the error that the file breaks off, but after a persona,
    which begins the history they belong to; None yields them without a record.
    """

    @wraps(read)
    def read_with_skips(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Iterator[Record]:
        skips: list[Skip] = []
        try:
            for record in read(skips, *args, **kwargs):
                if not isinstance(record, PersonaDraft):
                    yield from skips
                    skips.clear()
                if record is not None:
                    yield record
        except UnreadableFile:
            yield from skips
            raise
        yield from skips

    return read_with_skips
