"""Memoir's own format, version 1, which is easy to write by hand: JSON Lines, or one JSON object.

memory/importers/README.md describes its fields. Memoir's exports are version 2, which contains every row of a bank and
a checksum; see `memory.importers.generic.memoir_export`.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

from memory.bank.relations import relation_of
from memory.bank.rows import clean
from memory.dates.expressions import read_date
from memory.errors import UnreadableFile
from memory.importers.generic import memoir_export
from memory.importers.reading.fields import (
    EMPTY_TURN,
    NO_DATE,
    ROLES,
    Fields,
    parse_iso_moment,
    parse_moment,
    read_objects,
)
from memory.importers.reading.json_stream import Place, format_place, has_any, outline, stream_values
from memory.importers.reading.source import Record, Source, head_text, read_head, record_reader
from memory.types import MemoryDraft, PersonaDraft, Role, SessionDraft, Skip, Store, TimeSpan, TurnDraft

NAME = "Memoir"
VERSION = 1
sniff = has_any(("memoir",))

STORES: dict[str, Store] = {store: store for store in get_args(Store)}
MINUTE = timedelta(minutes=1)
OPENED = frozenset[Place]({(), ("sessions",), ("memories",)})
LAST_MINUTE = datetime.max.replace(tzinfo=UTC) - MINUTE


@record_reader
def read(skips: list[Skip], path: Source) -> Iterator[Record | None]:
    """The histories of a file: an export of Memoir, JSON Lines, or one JSON object."""
    if memoir_export.is_export(path):
        yield from memoir_export.read_records(path)
    elif _is_one_object(read_head(path)):
        yield from _read_one_object(path, skips)
    else:
        yield from _read_lines(path, skips)


def _is_one_object(head: bytes) -> bool:
    """Whether it has lists of sessions or memories, or more lines, of which the first ends within the object."""
    first, line_end, _ = head_text(head).lstrip().partition("\n")
    has_lists = not {("sessions",), ("memories",)}.isdisjoint(outline(head))
    return has_lists or (bool(line_end) and not first.rstrip().endswith("}"))


def _read_lines(path: Source, skips: list[Skip]) -> Iterator[Record | None]:
    persona: PersonaDraft | None = None
    for line in read_objects(path, skips):
        values = line.values
        if (version := values.get("memoir", VERSION)) != VERSION:
            raise UnreadableFile(
                f"{path.name} is version {str(version)[:20]} of Memoir's format; this Memoir reads versions "
                f"{VERSION} and {memoir_export.VERSION}. Update Memoir."
            )
        if "persona" in values or (persona is None and ("session" in values or "memory" in values)):
            persona = _read_persona(line.object("persona"), clean(path.stem))
            yield persona
        if "session" in values and persona:
            yield _read_session(line.object("session"), persona.name)
        if "memory" in values:
            yield _read_memory(line.object("memory"))
        if values.keys().isdisjoint(("memoir", "persona", "session", "memory")):
            line.report("", "expected a persona, a session or a memory")


def _read_one_object(path: Source, skips: list[Skip]) -> Iterator[Record | None]:
    found: object = {}
    with suppress(UnreadableFile):  # raised again after what can be read
        # It may come after its sessions.
        values = stream_values(path, OPENED.__contains__)
        found = next((value for place, value in values if place == ("persona",)), {})
    persona = _read_persona(Fields.of(found, "persona", skips), clean(path.stem))
    yield persona
    for place, value in stream_values(path, OPENED.__contains__):
        if place[1:] and place[0] in ("sessions", "memories"):
            fields = Fields.of(value, format_place(place), skips)
            yield _read_session(fields, persona.name) if place[0] == "sessions" else _read_memory(fields)


def _read_persona(fields: Fields, fallback: str) -> PersonaDraft:
    """A persona; without a name it is named after its id or the fallback."""
    external_id, name = fields.text("id"), fields.text("name")
    if not name.strip():
        fields.report("name", "a persona without a name; its id or the file's name is used")
        name = external_id.strip() or fallback
    return PersonaDraft(
        name,
        external_id,
        traits=tuple(fields.texts("traits")),
        manner=fields.text("manner") or "plain",
        **_texts(fields, "description", "scenario", "first_message", "examples"),
        proactive=fields.values.get("proactive") is not False,
        kept_apart=fields.values.get("kept_apart") is not False,
    )


def _texts(fields: Fields, *names: str) -> dict[str, Any]:
    """Fields that are texts, by their names, which the drafts share."""
    return {name: fields.text(name) for name in names}


def _read_session(fields: Fields, persona: str) -> SessionDraft | None:
    """A session of a persona; None if it has no usable turn, which is reported."""
    turns = (turn for each in fields.objects("turns") if (turn := _read_turn(each, persona)))
    session = fields.session(turns, "started_at", external_id=fields.text("id"), turns_name="turns")
    if session is None:
        return None
    wording = _read_wording(fields, "started", session.started_at)
    return replace(session, started_text=wording, title=fields.text("title"))


def _read_memory(fields: Fields) -> MemoryDraft | None:
    """A memory; None if it has no known store or no text, which is reported."""
    store = STORES.get(fields.text("store"))
    if store is None:
        fields.report("store", f"expected one of {', '.join(STORES)}")
        return None
    text = fields.required_text("text", "memory without text")
    if not text:
        return None
    memory = MemoryDraft(
        store,
        text,
        event=_read_event(fields),
        event_text=_read_event_text(fields),
        said_at=fields.optional_moment("said_at"),
        valid_from=fields.optional_moment("valid_from"),
        valid_to=parse_moment(fields.text("valid_to")) or fields.optional_moment("valid_to"),  # may be in the future
        external_id=fields.text("id"),
        **_texts(fields, "key", "emotion", "scene", "speaker", "attribute"),
    )
    return replace(memory, relation=relation_of(memory))


def _read_turn(fields: Fields, persona: str) -> TurnDraft | None:
    text = fields.required_text("text", EMPTY_TURN)
    if not text:
        return None
    speaker, role_name = fields.text("speaker"), fields.text("role")
    role: Role = "assistant" if speaker == persona else "user"
    if role_name and role_name not in ROLES:
        fields.report("role", f"expected one of {', '.join(ROLES)}; kept as other")
    if role_name:
        role = ROLES.get(role_name, "other")
    said_at = fields.optional_moment("said_at")
    return TurnDraft(
        speaker or role,
        role,
        text,
        said_at,
        _read_wording(fields, "said", said_at),
        fields.text("id"),
        recallable=fields.values.get("recallable") is not False,
        event=_read_event(fields),
        event_text=_read_event_text(fields),
    )


def _read_wording(fields: Fields, name: str, moment: datetime | None) -> str:
    """The source's wording of a time: from its own field, or from the time's field unless that is in ISO format."""
    written = fields.text(f"{name}_at")
    is_own = moment is not None and moment.isoformat() == written
    return fields.text(f"{name}_text") or ("" if is_own else written)


def _read_event_text(fields: Fields) -> str:
    """The source's wording of the event's time; empty for an exact moment, whose wording adds nothing."""
    start = fields.text("event_start")
    return fields.text("event_text") or ("" if parse_iso_moment(start) else start)


def _read_event(fields: Fields) -> TimeSpan | None:
    first, last = fields.text("event_start"), fields.text("event_end")
    if not first and not last:
        return None
    opening = _span_of(first)
    closing = _span_of(last) if last else opening
    if opening is None or closing is None:
        fields.report("event_end" if opening else "event_start", NO_DATE)
        return None
    end = parse_iso_moment(last) or closing.end
    if end <= opening.start:
        fields.report("event_end", "an event that ends before it begins; kept without a time")
        return None
    return TimeSpan(opening.start, end)


def _span_of(text: str) -> TimeSpan | None:
    """The time span of a date; an exact moment lasts a minute."""
    moment = parse_iso_moment(text)
    if moment is None:
        return read_date(text)
    return TimeSpan(moment, moment + MINUTE) if moment < LAST_MINUTE else None
