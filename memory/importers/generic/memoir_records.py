"""Read the records of Memoir's own format, which memory/importers/README.md describes, from JSON objects."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import get_args

from memory.bank.relations import relation_of
from memory.dates.expressions import read_date
from memory.importers.reading.dates import NO_DATE, parse_iso_moment, parse_moment
from memory.importers.reading.fields import EMPTY_SESSION, EMPTY_TURN, ROLES, Fields, clean_text, json_type
from memory.types import MemoryDraft, PersonaDraft, Role, SessionDraft, Store, TimeSpan, TurnDraft

STORES: dict[str, Store] = {store: store for store in get_args(Store)}
MINUTE = timedelta(minutes=1)
LAST_MINUTE = datetime.max.replace(tzinfo=UTC) - MINUTE


def read_persona(fields: Fields, fallback: str) -> PersonaDraft:
    """A persona; without a name it is named after its id or the fallback."""
    external_id = fields.text("id")
    name = fields.text("name")
    if not name.strip():
        fields.report("name", "a persona without a name; its id or the file's name is used")
        name = external_id.strip() or fallback
    traits = []
    for trait, place in fields.items("traits"):
        if isinstance(trait, str):
            traits.append(clean_text(trait, place, fields.skips))
        else:
            fields.report("traits", f"expected text, found {json_type(trait)}")
    manner = fields.text("manner") or "plain"
    proactive = fields.values.get("proactive") is not False
    return PersonaDraft(name, external_id, fields.text("description"), tuple(traits), manner, proactive)


def read_session(fields: Fields, persona: str) -> SessionDraft | None:
    """A session of a persona; None if it has no usable turn, which is reported."""
    turns = tuple(turn for each in fields.objects("turns") if (turn := _read_turn(each, persona)))
    if not turns:
        fields.report("turns", EMPTY_SESSION)
        return None
    started_at = fields.moment("started_at")
    wording = _read_wording(fields, "started", started_at)
    return SessionDraft(turns, started_at, wording, fields.text("id"), fields.text("title"))


def read_memory(fields: Fields) -> MemoryDraft | None:
    """A memory; None if it has no known store or no text, which is reported."""
    store, text = STORES.get(fields.text("store")), fields.text("text")
    if store is None:
        fields.report("store", f"expected one of {', '.join(STORES)}")
        return None
    if not text.strip():
        fields.report("text", "memory without text")
        return None
    memory = MemoryDraft(
        store,
        text,
        key=fields.text("key"),
        event=_read_event(fields),
        event_text=_read_event_text(fields),
        said_at=_read_time(fields, "said_at"),
        valid_from=_read_time(fields, "valid_from"),
        valid_to=_read_time(fields, "valid_to", may_be_ahead=True),
        emotion=fields.text("emotion"),
        scene=fields.text("scene"),
        speaker=fields.text("speaker"),
        attribute=fields.text("attribute"),
        external_id=fields.text("id"),
    )
    return replace(memory, relation=relation_of(memory))


def _read_turn(fields: Fields, persona: str) -> TurnDraft | None:
    text = fields.text("text")
    if not text.strip():
        if fields.values:
            fields.report("text", EMPTY_TURN)
        return None
    speaker, role_name = fields.text("speaker"), fields.text("role")
    role: Role = "assistant" if speaker == persona else "user"
    if role_name and role_name not in ROLES:
        fields.report("role", f"expected one of {', '.join(ROLES)}; kept as other")
    if role_name:
        role = ROLES.get(role_name, "other")
    said_at = _read_time(fields, "said_at")
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


def _read_time(fields: Fields, name: str, may_be_ahead: bool = False) -> datetime | None:
    """An optional moment; if it is given but unreadable or in the future, that is reported."""
    if not fields.values.get(name):
        return None
    if may_be_ahead and (moment := parse_moment(fields.text(name))):
        return moment
    return fields.moment(name)


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
