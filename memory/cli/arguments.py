"""Types of command line arguments: dates and numbers."""

import argparse
from datetime import datetime

from memory.dates.expressions import last_moment, read_date

MAX_NUMBER = 2**63 - 1
"""The largest integer that SQLite stores."""


def end_of_date(text: str) -> datetime:
    """The last moment of a date, so that everything said on that day is known."""
    return _required(last_moment(text), text)


def start_of_date(text: str) -> datetime:
    """The first moment of a date."""
    span = read_date(text)
    return _required(span.start if span else None, text)


def positive_number(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or not 0 < int(text[:20]) <= MAX_NUMBER:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number of at least 1")
    return int(text)


def _required(moment: datetime | None, text: str) -> datetime:
    if moment is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date; write 2023-10-22 or 22 October 2023")
    return moment
