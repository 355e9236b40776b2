"""Read an export of Memoir (`memory.exporting.format`) after its checksum was verified."""

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path

from pydantic import ValidationError

from memory.bank.rows import parse_time
from memory.errors import UnreadableFile
from memory.exporting.format import VERSION, Line, PersonaRow, SessionRow
from memory.importers.reading.source import CHUNK_BYTES, MAX_LINE_BYTES, Record, Source
from memory.types import SessionDraft, TurnDraft

FIRST, LAST = b'{"memoir":2,', b'{"end":{'
"""How the first line and the last line begin, apart from spaces."""

TAIL_BYTES = 1024
"""More than the length of the last line."""


def is_export(path: Source) -> bool:
    """Whether a file begins or ends like an export of version 2; False for one that cannot be opened."""
    try:
        with path.open("rb") as file:
            start, end = file.read(len(FIRST) + 8).lstrip(), b""
            # Only a file of its own has an end that can be looked at without reading all of it.
            if isinstance(path, Path):
                file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
                end = file.read().rstrip().rpartition(b"\n")[2]
    except (OSError, UnreadableFile):
        return False
    return start.replace(b" ", b"").startswith(FIRST) or end.replace(b" ", b"").startswith(LAST)


def verify_checksum(path: Source) -> None:
    """Read a file to its end and compare it with the checksum in its last line.

    Raises:
        UnreadableFile: it was cut off or changed, or cannot be read.
    """
    digest, number, last = hashlib.sha256(), 0, b""
    for place, raw in _raw(path):
        if place == 1 and (later := re.match(rb'\{"memoir":\s*(\d+)', raw)) and int(later[1][:9]) > VERSION:
            version = f"version {int(later[1][:9])} of Memoir's format; this Memoir reads versions 1 and {VERSION}"
            raise UnreadableFile(f"{path.name} contains {version}. Nothing was imported; update Memoir.")
        digest.update(last)
        number, last = place, raw
    try:
        end = Line.model_validate_json(last).end
    except ValidationError:
        end = None
    if end is None:
        raise _refused(path, f"ends unexpectedly in line {number:,}: its last line, with the checksum, is missing")
    if digest.hexdigest() != end.sha256:
        raise _refused(path, f"was changed since it was exported: its {number - 1:,} lines do not have their checksum")


def read_lines(path: Source, progress: Callable[[int], None] = lambda read: None) -> Iterator[tuple[PersonaRow, Line]]:
    """The lines of a verified file except the last, each with its persona; `progress` is told how many bytes were read.

    Raises:
        UnreadableFile: a line does not hold what it should, though the seal fits.
    """
    seen = 0
    persona: PersonaRow | None = None
    for number, raw in _raw(path):
        seen += len(raw)
        try:
            line = Line.model_validate_json(raw)
        except ValidationError as fault:
            error = fault.errors()[0]
            where = ".".join(str(part) for part in error["loc"])
            raise _refused(path, f"line {number:,}, {where or 'as a whole'}: {error['msg']}") from fault
        persona = line.persona or persona
        if line.persona is not None and line.memoir != VERSION:
            raise _refused(path, f"line {number:,}: expected a persona of version {VERSION}")
        if line.end is not None:
            return
        if persona is None:
            raise _refused(path, f"line {number:,}: expected a persona first")
        progress(seen)
        yield persona, line


def read_records(path: Source) -> Iterator[Record]:
    """The file's personas, sessions and memories as drafts, for callers that want only the history."""
    verify_checksum(path)
    lines = (line for _, line in read_lines(path))
    # A long session goes on in the lines that follow.
    for number, group in groupby(lines, lambda line: line.session and line.session.n):
        if number is not None:
            yield _session([line.session for line in group if line.session])
        else:
            rows = (line.persona or line.memory for line in group)
            yield from (row.draft for row in rows if row and (isinstance(row, PersonaRow) or row.identity is not None))


def _session(parts: Sequence[SessionRow]) -> SessionDraft:
    turns = tuple(
        TurnDraft(t.speaker, t.role, t.text, parse_time(t.said_at, t.said_text), t.said_text, t.id, t.recallable)
        for part in parts
        for t in part.turns
    )
    row = parts[0]
    started_at = parse_time(row.started_at, row.started_text)
    return SessionDraft(turns, started_at, row.started_text, row.id, row.title, row.source)


def _raw(path: Source) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their line ends, numbered from 1."""
    try:
        with path.open("rb") as file:
            # A line that is a little too long is read to its end.
            lines = iter(partial(file.readline, MAX_LINE_BYTES + CHUNK_BYTES), b"")
            for number, line in enumerate(lines, start=1):
                if len(line) > MAX_LINE_BYTES and not line.endswith(b"\n"):
                    raise _refused(path, f"line {number:,} is longer than {MAX_LINE_BYTES:,} bytes")
                yield number, line
    except OSError as fault:
        raise UnreadableFile(f"{path.name} cannot be read: {fault.strerror or fault}.") from fault


def _refused(path: Source, why: str) -> UnreadableFile:
    return UnreadableFile(f"{path.name} {why}. Nothing was imported; use another copy or export again.")
