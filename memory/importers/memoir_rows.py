"""Version 2 of Memoir's own format, which exporting writes: every row as it is, sealed by a checksum.

    {"memoir": 2, "persona": {"n": 1, "name": "Iris", "id": "iris", "created_at": "2026-03-01T18:00:00+00:00"}}
    {"session": {"n": 4, "identity": "9f...", "source": "chat", "learned": true, "started_at": "...", "turns": [
        {"n": 7, "position": 0, "identity": "3c...", "speaker": "Ana", "role": "user", "text": "..."}]}}
    {"memory": {"n": 12, "identity": "77...", "store": "profile", "text": "Lives in Porto", "session": 4,
        "recorded_at": "...", "superseded_by": 15, "rests_on": [9], "cited_by": [8],
        "sources": [{"turn": 7, "quote": "I live in Porto", "alone": true}]}}
    {"change": {"kind": "edit", "at": "...", "memory": 12, "other": 15, "touched": [16]}}
    {"end": {"personas": 1, "sessions": 1, "turns": 1, "memories": 1, "sha256": "..."}}

The fields are those of version 1 (`memory.importers.memoir`) and the columns of `memory.schema` that it lacks. A line
is a row with the rows that belong to it; a field that has its usual value is left out.

- `n` numbers a thing within its kind; other lines point to it, from a memory also to one that comes later: `session`,
  `superseded_by` and `rests_on` (memories), `sources` (turns) and `cited_by` (the turns whose answers relied on it).
- A session may go on in the next line under the same `n`, so that no line grows beyond all bounds.
- All memories stand there, those of single turns too; such a one needs no `identity`: it is its turn's.
- The last line counts what came and gives the SHA-256 of all bytes before it. A file without that line was cut off,
  one with another checksum was changed: neither is read. To write a file by hand, use version 1.
- A bank holds texts only: there are no attachments.

One text file, not a zip with a manifest: it is written and read as a stream, any tool can look into it, and the last
line does all that a manifest would.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from memory.errors import UnreadableFile
from memory.importers.source import CHUNK_BYTES, MAX_LINE, Record, Source
from memory.rows import clean, moment, span, stamp
from memory.types import MemoryDraft, PersonaDraft, Role, SessionDraft, Store, TurnDraft
from memory.types import Source as CameFrom

VERSION = 2
FIRST, LAST = b'{"memoir":2,', b'{"end":{'
"""What the first line begins with, and the last, spaces aside."""

TAIL_BYTES = 1024
"""The last line is shorter."""

LARGEST = 2**53
"""The largest number that every reader of JSON can tell from the next."""


def _canonical(text: str) -> str:
    try:
        return stamp(datetime.fromisoformat(text)) or ""
    except OverflowError as fault:
        raise ValueError(f"{text} is outside the calendar") from fault


Text = Annotated[str, AfterValidator(clean)]
Stamp = Annotated[str, AfterValidator(_canonical)]
Number = Annotated[int, Field(gt=0, le=LARGEST)]
Identity = Annotated[str, Field(pattern="^[0-9a-f]{32}$")]


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class PersonaRow(_Row):
    """A row of `personas`."""

    n: Number
    name: Annotated[Text, Field(pattern=r"\S")]
    id: Text = ""
    description: Text = ""
    traits: tuple[Text, ...] = ()
    manner: Text = "plain"
    proactive: bool = True
    created_at: Stamp

    @property
    def draft(self) -> PersonaDraft:
        """The persona as one that is to be made."""
        return PersonaDraft(self.name, self.id, self.description, self.traits, self.manner, self.proactive)


class TurnRow(_Row):
    """A row of `turns`; `recallable` tells readers that want no more than the dialogue whether a memory was made."""

    n: Number
    position: Annotated[int, Field(ge=0, le=LARGEST)]
    identity: Identity
    speaker: Text
    role: Role
    text: Text
    said_at: Stamp | None = None
    said_text: Text = ""
    id: Text = ""
    recallable: bool = True


class SessionRow(_Row):
    """A row of `sessions` with turns of it."""

    n: Number
    identity: Identity
    id: Text = ""
    title: Text = ""
    source: CameFrom = "import"
    started_at: Stamp | None = None
    started_text: Text = ""
    heard_at: Stamp | None = None
    learned: bool = False
    turns: tuple[TurnRow, ...] = ()


class SourceRow(_Row):
    """A row of `sources`, but for its memory."""

    turn: Number
    quote: Text = ""
    alone: bool = True


class MemoryRow(_Row):
    """A row of `memories` with its rows of `sources`, `rests_on` and `cites`; `key` is left out if it is the text."""

    n: Number
    identity: Identity | None = None
    store: Store
    text: Text
    key: Text = ""
    session: Number | None = None
    speaker: Text = ""
    attribute: Text = ""
    event_start: Stamp | None = None
    event_end: Stamp | None = None
    event_text: Text = ""
    said_at: Stamp | None = None
    recorded_at: Stamp
    valid_from: Stamp | None = None
    valid_to: Stamp | None = None
    superseded_by: Number | None = None
    taken_back: Stamp | None = None
    pinned: bool = False
    emotion: Text = ""
    scene: Text = ""
    id: Text = ""
    sources: tuple[SourceRow, ...] = ()
    rests_on: tuple[Number, ...] = ()
    cited_by: tuple[Number, ...] = ()

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if (self.event_start, self.event_end) != (None, None) and (self.event_start or "9") >= (self.event_end or ""):
            raise ValueError("an event must have a start and end after it")
        if self.identity is None and (len(self.sources) != 1 or self.session is None):
            raise ValueError("only the memory of one turn needs no identity")
        return self

    @property
    def draft(self) -> MemoryDraft:
        """The memory as one that is to be stored."""
        return MemoryDraft(
            self.store,
            self.text,
            self.key,
            span(self.event_start, self.event_end),
            self.event_text,
            moment(self.said_at),
            moment(self.valid_from),
            moment(self.valid_to),
            self.emotion,
            self.scene,
            self.speaker,
            self.attribute,
            self.id,
        )


class ChangeRow(_Row):
    """A row of `changes`, by which the user's corrections are undone; of a merge, `touched` are turns."""

    kind: Literal["edit", "wrong", "pin", "unpin", "merge"]
    at: Stamp
    memory: Number
    other: Number | None = None
    touched: tuple[Number, ...] = ()


class End(_Row):
    """What a file holds, and the seal on it."""

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


def dump(line: Line) -> str:
    """A line without its line end."""
    return line.model_dump_json(exclude_defaults=True)


def is_sealed(path: Source) -> bool:
    """Whether a file begins or ends as this version does; one that cannot be opened is not."""
    try:
        with path.open("rb") as file:
            start = file.read(len(FIRST) + 8)
        # Only a file of its own has an end that can be looked at without reading all of it.
        end = _end(path) if isinstance(path, Path) else b""
    except (OSError, UnreadableFile):
        return False
    return start.replace(b" ", b"").startswith(FIRST) or end.replace(b" ", b"").startswith(LAST)


def _end(path: Path) -> bytes:
    with path.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
        return file.read().rstrip().rpartition(b"\n")[2]


def check(path: Source) -> End:
    """Read a file to its end and compare it with its last line.

    Raises:
        UnreadableFile: it was cut off or changed, or cannot be read.
    """
    digest, number, last = hashlib.sha256(), 0, b""
    for place, raw in _raw(path):
        if place == 1 and (later := re.match(rb'\{"memoir":\s*(\d+)', raw)) and int(later[1][:9]) > VERSION:
            found = f"version {int(later[1][:9])} of Memoir's format; this Memoir reads versions 1 and {VERSION}"
            raise UnreadableFile(f"{path.name} holds {found}. Nothing of it was stored; update Memoir.")
        digest.update(last)
        number, last = place, raw
    end = None
    try:
        value = json.loads(last)
        end = End.model_validate_json(json.dumps(value["end"])) if isinstance(value, dict) and "end" in value else None
    except (ValueError, RecursionError):
        pass
    if end is None:
        raise _refused(path, f"breaks off in line {number:,}: its last line, with the checksum, is missing")
    if digest.hexdigest() != end.sha256:
        raise _refused(path, f"was changed since it was exported: its {number - 1:,} lines do not have their checksum")
    return end


def read(path: Source) -> Iterator[tuple[Line, int]]:
    """The lines of a file that was checked but for the end, each with how many bytes were read.

    Raises:
        UnreadableFile: a line does not hold what it should, though the seal fits.
    """
    seen = 0
    persona = False
    for number, raw in _raw(path):
        seen += len(raw)
        try:
            line = Line.model_validate_json(raw)
        except ValidationError as fault:
            error = fault.errors()[0]
            where = ".".join(str(part) for part in error["loc"])
            raise _refused(path, f"line {number:,}, {where or 'as a whole'}: {error['msg']}") from fault
        persona = persona or line.persona is not None
        if line.persona is not None and line.memoir != VERSION:
            raise _refused(path, f"line {number:,}: expected a persona of version {VERSION}")
        if line.end is not None:
            return
        if not persona:
            raise _refused(path, f"line {number:,}: expected a persona first")
        yield line, seen


def read_records(path: Source) -> Iterator[Record]:
    """The same as records that know no numbers: what a file holds, for those who want no more than the history."""
    check(path)
    held: SessionRow | None = None
    for line, _ in read(path):
        more = line.session
        if held is not None and more is not None and more.n == held.n:
            held = held.model_copy(update={"turns": held.turns + more.turns})
            continue
        if held is not None:
            yield _session(held)
        held = more
        if line.persona is not None:
            yield line.persona.draft
        elif line.memory is not None and line.memory.identity is not None:
            yield line.memory.draft
    if held is not None:
        yield _session(held)


def _session(row: SessionRow) -> SessionDraft:
    turns = tuple(
        TurnDraft(t.speaker, t.role, t.text, moment(t.said_at, t.said_text), t.said_text, t.id, t.recallable)
        for t in row.turns
    )
    return SessionDraft(
        turns, moment(row.started_at, row.started_text), row.started_text, row.id, row.title, row.source
    )


def _raw(path: Source) -> Iterator[tuple[int, bytes]]:
    """The numbered lines of a file as they stand there, with their ends."""
    number, held = 1, b""
    try:
        with path.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                *whole, rest = chunk.split(b"\n")
                for piece in whole:
                    yield number, held + piece + b"\n"
                    number, held = number + 1, b""
                held += rest
                if len(held) > MAX_LINE:
                    raise _refused(path, f"line {number:,} is longer than {MAX_LINE:,} bytes")
    except OSError as fault:
        raise UnreadableFile(f"{path.name} cannot be read: {fault.strerror or fault}.") from fault
    if held:
        yield number, held


def _refused(path: Source, why: str) -> UnreadableFile:
    return UnreadableFile(f"{path.name} {why}. Nothing of it was stored; take another copy, or export anew.")
