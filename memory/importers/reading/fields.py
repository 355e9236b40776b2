"""Read the fields of JSON objects that may be malformed: what is wrong is reported with its place, the rest is kept.

Dates are parsed as sources write them into aware datetimes; a date without a time zone is read as UTC.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Self

from memory.bank.rows import clean
from memory.dates.expressions import read_date
from memory.errors import UnreadableFile
from memory.importers.reading.json_stream import format_place, stream_values
from memory.importers.reading.source import Source, clean_text, read_lines
from memory.types import Role, SessionDraft, Skip, TimeSpan, TurnDraft

ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "other": "other"}

EMPTY_TURN = "empty turn"
EMPTY_SESSION = "session without turns"

# As seconds this is the year 5138, as milliseconds 1973, before there were chats to export.
FIRST_MILLISECONDS = 1e11

MAX_DATE_CHARACTERS = 200
"""Longer texts are not read as dates, so that no pattern sees a text of any length."""

NO_DATE = "no readable date; kept without one"
FUTURE_DATE = "dated in the future; kept as it is"


def to_utc(moment: datetime) -> datetime | None:
    """The moment in UTC; None if that is outside the years 1 to 9999."""
    try:
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        return None


def parse_with_format(text: str, form: str) -> datetime | None:
    """The moment that a `strptime` format reads; None if the text does not match."""
    try:
        return to_utc(datetime.strptime(text.strip(), form))
    except (ValueError, OverflowError):
        return None


def parse_iso_moment(text: str) -> datetime | None:
    """An ISO 8601 date with a clock time, to the second; None for anything vaguer."""
    try:
        return to_utc(datetime.fromisoformat(text)) if len(text) > len("2024-05-01") else None
    except ValueError:
        return None


def parse_epoch(text: str) -> datetime | None:
    """The moment given as seconds or milliseconds since 1970, with or without a fraction."""
    try:
        seconds = float(text)
        return datetime.fromtimestamp(seconds / 1000 if abs(seconds) >= FIRST_MILLISECONDS else seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def parse_moment(text: str, *forms: str) -> datetime | None:
    """The first moment of a date in any wording; the `strptime` formats are tried first."""
    if len(text) > MAX_DATE_CHARACTERS:
        return None
    for form in forms:
        if moment := parse_with_format(text, form):
            return moment
    if moment := parse_iso_moment(text):
        return moment
    span = read_date(text)
    return span.start if span else None


def date_problem(moment: datetime | None) -> str:
    """What is wrong with a date, as the reason of a `Skip`; empty if nothing is."""
    if moment is None:
        return NO_DATE
    return FUTURE_DATE if moment > datetime.now(UTC) else ""


@dataclass(frozen=True, slots=True)
class Fields:
    """One JSON object with its place in the file and the list of skips, which it shares with the objects in it.

    The place of a field is "line 12, name" in an object that is a line of its own, "object.name" in any other.
    """

    values: Mapping[str, Any]
    place: str
    skips: list[Skip] = field(default_factory=list)
    is_line: bool = False
    names: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, value: object, place: str, skips: list[Skip]) -> Self:
        """The object at a place; anything else is reported once, and read as an object without fields."""
        if isinstance(value, dict):
            return cls(value, place, skips)
        skips.append(Skip(place, f"expected an object, found {json_type(value)}"))
        return cls({}, place, [])

    def renamed(self, names: Mapping[str, str]) -> Self:
        """The same object with new names for some fields, such as {"title": "title chat.name"}; places keep the old.

        Of several old names, the first that has a value counts; "chat.name" is the name of the object `chat` in it.
        """
        own = dict(self.values)
        paths = [path for paths in names.values() for path in paths.split()]
        for outer in sorted({path.rpartition(".")[0] for path in paths} - {""}):
            inner = self.of(own.get(outer) or {}, self.place_of(outer), self.skips)
            own |= {f"{outer}.{name}": value for name, value in inner.values.items()}
        chosen = {new: next(filter(own.get, paths.split()), paths.split(" ")[-1]) for new, paths in names.items()}
        return replace(self, values=own | {new: own.get(name) for new, name in chosen.items()}, names=chosen)

    def place_of(self, name: str) -> str:
        """The place of one field."""
        return f"{self.place}{', ' if self.is_line else '.'}{self.names.get(name, name)}"

    def report(self, name: str, reason: str) -> None:
        """Report a problem with a field, or with the object itself if the name is empty."""
        self.skips.append(Skip(self.place_of(name) if name else self.place, reason))

    def text(self, name: str) -> str:
        """A field as text that a bank can store: numbers are converted, a missing field is empty."""
        value = self.values.get(name)
        if isinstance(value, str):
            return clean_text(value, self.place_of(name), self.skips)
        if isinstance(value, dict | list):
            self.report(name, f"expected text, found {json_type(value)}")
            return ""
        return "" if value is None else number_text(value)

    def required_text(self, name: str, reason: str) -> str:
        """A field as text; one without any is reported for that reason and empty."""
        text = self.text(name)
        if text.strip():
            return text
        self.report(name, reason)
        return ""

    def texts(self, name: str) -> Iterator[str]:
        """Each text of a list of texts; anything else in it is reported."""
        for value, place in self.items(name):
            if isinstance(value, str):
                yield clean_text(value, place, self.skips)
            else:
                self.skips.append(Skip(place, f"expected text, found {json_type(value)}"))

    def pieces(self, name: str) -> "Iterator[str | Fields]":
        """The text of a field, or each element of a list: a text as it can be stored, anything else as an object."""
        if not isinstance(self.values.get(name), list):
            yield self.text(name)
            return
        for value, place in self.items(name):
            is_text = isinstance(value, str)
            yield clean_text(value, place, self.skips) if is_text else self.of(value, place, self.skips)

    def span(self, name: str) -> TimeSpan | None:
        """A field as a span of time in any wording; one that is missing or unreadable is reported."""
        span = read_date(self.text(name))
        if span is None:
            self.report(name, NO_DATE)
        return span

    def moment(self, name: str, read: Callable[[str], datetime | None] = parse_moment) -> datetime | None:
        """A field as a moment; one that is missing, unreadable, too long for a date or in the future is reported."""
        text = self.text(name)
        moment = read(text) if len(text) <= MAX_DATE_CHARACTERS else None
        if fault := date_problem(moment):
            self.report(name, fault)
        return moment

    def optional_moment(self, name: str, read: Callable[[str], datetime | None] = parse_moment) -> datetime | None:
        """As `moment`, but a field that is missing or empty is not reported."""
        return self.moment(name, read) if self.values.get(name) else None

    def object(self, name: str) -> Self:
        """A field that is an object; a missing one has no fields."""
        return self.of(self.values.get(name) or {}, self.place_of(name), self.skips)

    def entries(self) -> Iterator[tuple[str, Any, str]]:
        """The key, value and place of each entry of an object whose keys are data."""
        return ((clean(key), value, self.place_of(key)) for key, value in self.values.items())

    def object_entries(self) -> Iterator[tuple[str, Self]]:
        """The key of each entry, and its object; one that is no object is reported and has no fields."""
        return ((key, self.of(value, place, self.skips)) for key, value, place in self.entries())

    def items(self, name: str) -> Iterator[tuple[Any, str]]:
        """Each element of a field that is a list, with its place."""
        return list_items(self.values.get(name), self.place_of(name), self.skips)

    def objects(self, name: str) -> "Iterator[Fields]":
        """Each element of a list of objects; one that is no object is reported and has no fields."""
        return list_objects(self.values.get(name), self.place_of(name), self.skips)

    def session(
        self, turns: Iterable[TurnDraft], start: str, external_id: str = "", turns_name: str = ""
    ) -> SessionDraft | None:
        """A session that starts at the moment in a field; None if it has no turns, which is reported."""
        turns = tuple(turns)
        if not turns:
            self.report(turns_name, EMPTY_SESSION)
            return None
        return SessionDraft(turns, self.moment(start), self.text(start), external_id)


def stream_objects(path: Source, skips: list[Skip]) -> Iterator[tuple[str | int, Fields]]:
    """Each element of a JSON file that is a list or an object, with its index or key."""
    for place, value in stream_values(path):
        yield place[0] if place else "", Fields.of(value, format_place(place), skips)


def read_objects(path: Source, skips: list[Skip]) -> Iterator[Fields]:
    """Each line's object, with the place "line 12"; a line that is no object is reported.

    Raises:
        UnreadableFile: the file ends in the middle of its last line.
    """
    for line in read_lines(path, skips):
        if not line.text.strip():
            continue
        try:
            value = json.loads(line.text, strict=False)
        except json.JSONDecodeError as fault:
            ends_early = fault.pos >= len(line.text.rstrip()) or fault.msg.startswith("Unterminated string")
            if ends_early and not line.ended:
                expected = f"expected the rest of an object after character {len(line.text):,}"
                raise UnreadableFile(f"{path.name} ends unexpectedly in {line.place}: {expected}.") from fault
            skips.append(Skip(line.place, f"invalid JSON at character {fault.pos + 1:,}: {fault.msg}"))
        except (ValueError, RecursionError):
            skips.append(Skip(line.place, "invalid JSON: nested too deeply, or a number of too many digits"))
        else:
            if isinstance(value, dict):
                yield Fields(value, line.place, skips, is_line=True)
            else:
                skips.append(Skip(line.place, f"expected an object, found {json_type(value)}"))


def list_items(value: object, place: str, skips: list[Skip]) -> Iterator[tuple[Any, str]]:
    """Each element of a list with its place; anything else is reported and read as an empty list."""
    if isinstance(value, list):
        yield from ((element, f"{place}[{index}]") for index, element in enumerate(value))
    elif value is not None:
        skips.append(Skip(place, f"expected a list, found {json_type(value)}"))


def list_objects(value: object, place: str, skips: list[Skip]) -> Iterator[Fields]:
    """Each element of a list of objects; one that is no object is reported and has no fields."""
    return (Fields.of(element, at, skips) for element, at in list_items(value, place, skips))


def json_type(value: object) -> str:
    """The type of a JSON value in words, for reports."""
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "nothing"}
    return names.get(type(value), "a number")


def number_text(value: object) -> str:
    """A number or boolean as text; empty for a number with too many digits to convert."""
    try:
        return str(value)
    except ValueError:
        return ""
