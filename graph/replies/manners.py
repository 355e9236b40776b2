"""The phrases of each manner of speaking, for replies without a chat model: manners.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True)
class Manner:
    """The phrases of one manner.

    `noted` and `noted_on` are used in turn; the latter takes the date of what was told. `corrected` takes the corrected
    statement, `retracted` the retracted one, `unknown` the reason for an abstention, and `reminded` a quoted memory.
    `unsure` comes before the lines that are closest to an answer.
    """

    noted: tuple[str, ...]
    noted_on: tuple[str, ...]
    corrected: str
    retracted: str
    unrecorded: str
    greeting: str
    unknown: str
    unsure: str
    reminded: str


_FILE = Path(__file__).with_name("manners.toml")
MANNERS = TypeAdapter(dict[str, Manner]).validate_python(tomllib.loads(_FILE.read_text("utf-8")))


def manner(name: str) -> Manner:
    """The phrases of a manner; any other description gets the plain phrases."""
    return MANNERS.get(name.strip().casefold(), MANNERS["plain"])
