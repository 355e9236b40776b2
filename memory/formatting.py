"""Write dates, counts and texts for people, read the dates that they type, and write results as JSON."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from memory import read_table
from memory.dates.expressions import describe_day, describe_span, read_date
from memory.errors import MemoirError
from memory.types import Memory, Store, TimeSpan

_WORDS = read_table(__file__)
STORE_NAMES: Mapping[Store, str] = _WORDS["stores"]
"""What the screen calls the stores."""

_FOLDERS = re.compile(_WORDS["folders"])
"""The folders of an absolute path, up to its last part; no address, and no slash between two words."""

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet takes for a formula (OWASP, CSV injection)."""

MAX_CELL = 220
"""Characters of a memory that a table shows."""

format_day = describe_day


def format_beginning(moment: datetime | None) -> str:
    """Write when something began: "2019" for the first moment of a year, "May 2019" for a month's, else the day."""
    day = format_day(moment)
    if moment is None or (moment.day, moment.hour, moment.minute) != (1, 0, 0):
        return day
    return day.split(" ", 1 if moment.month > 1 else 2)[-1]


def format_time(moment: datetime | None) -> str:
    """Write a day and time: "13 May 2026, 20:32"; midnight means that the hour is not known."""
    if moment is None:
        return ""
    midnight = (moment.hour, moment.minute) == (0, 0)
    return format_day(moment) if midnight else f"{format_day(moment)}, {moment:%H:%M}"


def memory_date(memory: Memory) -> str:
    """Write when an event happened, and of anything else when it was said: one line may tell of many days."""
    said = format_day(memory.said_at)
    if memory.event and (memory.store == "event" or not said):
        return describe_span(memory.event)
    return said or "no date"


def clip(text: str, room: int = MAX_CELL) -> str:
    """Put a text on one line of at most `room` characters, cut between words."""
    line = " ".join(text.split())
    return line if len(line) <= room else line[:room].rsplit(" ", 1)[0] + "…"


def format_count(n: int, one: str, many: str = "") -> str:
    """Write a number with its noun: "1 turn", "2,760 memories"."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def format_counts(counts: Mapping[str, int]) -> str:
    """Write counts by what is counted: "1 session, 2,760 memories"."""
    return ", ".join(format_count(n, _WORDS["singular"].get(name, name), name) for name, n in counts.items())


def format_duration(seconds: float) -> str:
    """Write a length of time: "40 s", "3 min", "2 h 5 min"."""
    if seconds < 100:
        return f"{max(1, round(seconds)):,} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def parse_date(text: str | None) -> TimeSpan | None:
    """Read a date that a user typed; None for an empty field.

    Raises:
        MemoirError: the text is not a date.
    """
    typed = (text or "").strip()
    if not typed:
        return None
    span = read_date(typed)
    if span is None:
        raise MemoirError(f"“{typed}” is not a date. Write for example 8 May 2023, May 2023 or 2023.")
    return span


def without_folders(text: str) -> str:
    """A message with the last part alone of each path: where files lie on a server is not its users' business."""
    return _FOLDERS.sub("", text)


def csv_text(header: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """The text of a CSV file."""
    out = io.StringIO()
    csv.writer(out).writerows([header, *rows])
    return out.getvalue()


def safe_cell(text: str) -> str:
    """Quote a cell that a spreadsheet would take for a formula."""
    return f"'{text}" if text.startswith(FORMULA) else text


def to_json_values(value: object) -> Any:  # noqa: ANN401  # JSON values are of any type
    """Convert a result for `--json` or the API: dataclasses to objects, times to ISO 8601, paths to text."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_json_values(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, dict):
        return {str(k): to_json_values(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_json_values(v) for v in value]
    return str(value) if isinstance(value, Path) else value
