"""Version 2 of Memoir's own format, which exporting writes: every row as it is, sealed by a checksum that is verified.

memory/importers/README.md describes it. One text file, not a zip with a manifest: it is written and read as a stream,
any tool can look into it, and the last line does all that a manifest would.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, create_model, model_validator

from memory.bank.rows import Row, clean, format_time, memory_draft, parse_time
from memory.bank.schema import COLUMNS
from memory.errors import UnreadableFile
from memory.importers.reading.source import CHUNK_BYTES, MAX_LINE_BYTES, Record, Source
from memory.types import MemoryDraft, PersonaDraft, Role, SessionDraft, Store, TurnDraft
from memory.types import SessionSource as CameFrom

VERSION = 2
LARGEST = 2**53
"""The largest number that every reader of JSON can tell from the next."""

EXPORTED_AS = {"id": "n", "external_id": "id", "session_id": "session", "memory_id": "memory", "other_id": "other"}
"""The names of columns that have another one in an export."""


def _canonical(text: str) -> str:
    try:
        return format_time(datetime.fromisoformat(text)) or ""
    except OverflowError as fault:
        raise ValueError(f"{text} is outside the calendar") from fault


PICTURE = r"^(data:image/jpeg;base64,[A-Za-z0-9+/]+=*)?$"
"""A persona's picture, which is written into the page's style."""

Text = Annotated[str, AfterValidator(clean)]
Stamp = Annotated[str, AfterValidator(_canonical)]
Number = Annotated[int, Field(gt=0, le=LARGEST)]
NumberOrNone = Annotated[int, Field(ge=0, le=LARGEST)]
Identity = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class _TableRow(_Row):
    """A row of a table; `columns` are those exported: of each its name in the bank, its name here, and its kind."""

    columns: ClassVar[tuple[tuple[str, str, str], ...]]

    @classmethod
    def read(cls, row: Row, **more: object) -> Self:
        """Read a row of the bank; `more` are values that are not as in the bank."""
        convert: dict[str, Callable[[Any], Any]] = {"flag": bool, "list": lambda text: tuple(json.loads(text))}
        values = {name: convert.get(kind, lambda value: value)(row[column]) for column, name, kind in cls.columns}
        return cls(**{**values, **more})

    @property
    def bank_columns(self) -> dict[str, Any]:
        """Its values under their names in the bank."""
        return {column: getattr(self, name) for column, name, _ in self.columns}


def _model(table: str, *left_out: str) -> type[BaseModel]:
    """A model with a field for each exported column; a subclass redefines those that have rules of their own."""
    types: dict[str, Any] = {
        "plain": (Text, ""),
        "flag": (bool, False),
        "time": (Stamp | None, None),
        "list": (tuple[Text, ...], ()),
        "id": (Number, ...),
        "identity": (Identity, ...),
    }
    columns = {name: kind for name, kind in COLUMNS[table].items() if name not in left_out}
    exported = tuple((name, EXPORTED_AS.get(name, name), kind) for name, kind in columns.items())
    fields: dict[str, Any] = {name: types.get(column) or types[kind] for column, name, kind in exported}
    model = create_model("_Columns", __base__=_TableRow, **fields)
    model.columns = exported
    return model


class PersonaRow(_model("personas")):  # type: ignore[misc]
    """A row of `personas`."""

    name: Annotated[Text, Field(pattern=r"\S")]
    manner: Text = "plain"
    proactive: bool = True
    kept_apart: bool = True
    picture: Annotated[Text, Field(pattern=PICTURE, max_length=100_000)] = ""
    created_at: Stamp

    @property
    def draft(self) -> PersonaDraft:
        """The persona to create."""
        return PersonaDraft(**{n: value for n, value in self.bank_columns.items() if n not in ("id", "created_at")})


class TurnRow(_model("turns", "session_id")):  # type: ignore[misc]
    """A row of `turns`; `recallable` tells readers that want only the dialogue whether a memory was made of it."""

    position: NumberOrNone
    speaker: Text
    role: Role
    text: Text
    recallable: bool = True


class SessionRow(_model("sessions", "persona_id")):  # type: ignore[misc]
    """A row of `sessions` with turns of it."""

    source: CameFrom = "import"
    turns: tuple[TurnRow, ...] = ()


class SourceRow(_Row):
    """A row of `sources`, without its memory."""

    turn: Number
    quote: Text = ""
    alone: bool = True


class MemoryRow(_model("memories", "persona_id", "key_hash", "terms")):  # type: ignore[misc]
    """A row of `memories` with its rows of `sources`, `rests_on` and `cites`; `key` is left out if it is the text.

    A turn's own memory has no `identity`; its turn is the first of the sources.
    """

    identity: Identity | None = None
    store: Store
    text: Text
    session: Number | None = None
    recorded_at: Stamp
    superseded_by: Number | None = None
    sources: tuple[SourceRow, ...] = ()
    rests_on: tuple[Number, ...] = ()
    cited_by: tuple[tuple[Number, NumberOrNone] | Number, ...] = ()
    """The turns that cite it, each with the number of the citation, which exports of earlier versions lack."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.event_start, self.event_end) != (None, None) and (self.event_start or "9") >= (self.event_end or ""):
            raise ValueError("an event must have a start and end after it")
        if self.identity is None and (not self.sources or self.session is None):
            raise ValueError("only the memory of a turn needs no identity")
        return self

    @property
    def citations(self) -> list[tuple[int, int]]:
        """The turns that cite it, and the numbers of the citations; 0 where the export has none."""
        return [(each, 0) if isinstance(each, int) else each for each in self.cited_by]

    @property
    def draft(self) -> MemoryDraft:
        """The memory to store."""
        return memory_draft(self.bank_columns)


class ChangeRow(_model("changes", "id", "persona_id")):  # type: ignore[misc]
    """A row of `changes`, which lets the user undo a correction; of a merge, `touched` are turns."""

    kind: Literal["edit", "wrong", "pin", "unpin", "merge"]
    at: Stamp
    memory: Number
    other: Number | None = None
    touched: tuple[Number, ...] = ()


class End(_Row):
    """The last line: what the file holds, and the checksum of all lines before."""

    personas: int = 0
    sessions: int = 0
    turns: int = 0
    memories: int = 0
    sha256: str


class Line(_Row):
    """One line; exactly one of persona, session, memory, change and end is given."""

    memoir: int = 0
    persona: PersonaRow | None = None
    session: SessionRow | None = None
    memory: MemoryRow | None = None
    change: ChangeRow | None = None
    end: End | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(part is not None for part in (self.persona, self.session, self.memory, self.change, self.end)) != 1:
            raise ValueError("expected a persona, a session, a memory, a change or the end")
        return self


def dump_line(line: Line) -> str:
    """A line as JSON, without its line end."""
    return line.model_dump_json(exclude_defaults=True)


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
