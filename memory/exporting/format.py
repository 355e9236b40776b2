"""Version 2 of Memoir's own format, which exporting writes: every row as it is, sealed by a checksum.

memory/importers/README.md describes it. One text file, not a zip with a manifest: it is written and read as a stream,
any tool can look into it, and the last line does all that a manifest would.
"""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model, model_validator

from memory.bank.rows import Row, clean, format_time, memory_draft
from memory.bank.schema import COLUMNS
from memory.types import MemoryDraft, PersonaDraft, Role, Store
from memory.types import SessionSource as CameFrom

VERSION = 2
LARGEST = 2**53
"""The largest number that every reader of JSON can tell from the next."""

EXPORTED_AS = {"id": "n", "external_id": "id", "session_id": "session"}
"""The names of columns that have another one in an export."""


def _canonical(text: str) -> str:
    try:
        return format_time(datetime.fromisoformat(text)) or ""
    except OverflowError as fault:
        raise ValueError(f"{text} is outside the calendar") from fault


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
        "list": (Any, ()),
    }
    columns = ((name, EXPORTED_AS.get(name, name), kind) for name, kind in COLUMNS[table].items())
    exported = tuple(each for each in columns if each[0] not in left_out)
    model = create_model("_Columns", __base__=_TableRow, **{name: types[kind] for _, name, kind in exported})
    model.columns = exported
    return model


class PersonaRow(_model("personas")):  # type: ignore[misc]
    """A row of `personas`."""

    n: Number
    name: Annotated[Text, Field(pattern=r"\S")]
    traits: tuple[Text, ...] = ()
    manner: Text = "plain"
    proactive: bool = True
    created_at: Stamp

    @property
    def draft(self) -> PersonaDraft:
        """The persona to create."""
        return PersonaDraft(**{n: value for n, value in self.bank_columns.items() if n not in ("id", "created_at")})


class TurnRow(_model("turns", "session_id")):  # type: ignore[misc]
    """A row of `turns`; `recallable` tells readers that want only the dialogue whether a memory was made of it."""

    n: Number
    position: Annotated[int, Field(ge=0, le=LARGEST)]
    identity: Identity
    speaker: Text
    role: Role
    text: Text
    recallable: bool = True


class SessionRow(_model("sessions", "persona_id")):  # type: ignore[misc]
    """A row of `sessions` with turns of it."""

    n: Number
    identity: Identity
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

    n: Number
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


class ChangeRow(_Row):
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
