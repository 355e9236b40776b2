"""What every adapter does with files: find them, gather what an importer hands over, name and date what is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memory.bank.rows import digest
from memory.dates.expressions import last_moment
from memory.errors import UnreadableFile
from memory.importers.reading.dates import parse_iso_moment
from memory.importers.reading.source import Record, read_head
from memory.types import MemoryDraft, PersonaDraft, SessionDraft, Skip

UNDATED = datetime(2025, 1, 1, tzinfo=UTC)
"""When a probe is asked of a history that holds no date at all."""

ALL = "all"
ANSWERABLE = "answerable"
"""Names of populations: every probe, and those that have an answer."""

# 32 bits, of which a history of 500 questions shares one by chance once in 30,000; `Ids` tells those apart.
DIGEST_LENGTH = 8

Sniff = Callable[[bytes], bool]


@dataclass(frozen=True, slots=True)
class ImportedHistory:
    """What an importer found of one history."""

    persona: PersonaDraft
    sessions: list[SessionDraft] = field(default_factory=list)
    memories: list[MemoryDraft] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)

    def end(self) -> datetime:
        """The last moment of the latest day that anything in it is dated with."""
        said = [s.started_at for s in self.sessions] + [t.said_at for s in self.sessions for t in s.turns]
        told = [m.event.end - timedelta(microseconds=1) if m.event else m.said_at for m in self.memories]
        return max((end_of_day(moment) for moment in (*said, *told) if moment), default=UNDATED)


class Ids:
    """Ids as they are given out: one that was given before gets a number."""

    def __init__(self) -> None:
        self._given: Counter[str] = Counter()

    def give(self, name: str) -> str:
        """The name itself, or the name with the number of times it was asked for."""
        self._given[name] += 1
        return name if self._given[name] == 1 else f"{name}-{self._given[name]}"


def short_digest(*parts: object) -> str:
    """A short name for contents, so that an id does not depend on the order of a file."""
    return digest(*parts)[:DIGEST_LENGTH]


def gather(records: Iterable[Record]) -> list[ImportedHistory]:
    """An importer's stream, history by history; what is skipped before the first belongs to the first."""
    found: dict[str, ImportedHistory] = {}
    current: ImportedHistory | None = None
    early: list[Skip] = []
    for record in records:
        if isinstance(record, PersonaDraft):
            current = found.setdefault(record.external_id, ImportedHistory(record))
            current.skips.extend(early)
            early.clear()
        elif isinstance(record, Skip):
            (current.skips if current else early).append(record)
        elif current is not None:
            _add(current, record)
    return list(found.values())


def find_file(path: Path, patterns: Iterable[str], title: str, is_it: Sniff) -> Path:
    """The file itself, or the one in a folder that the first fitting pattern finds.

    Raises:
        UnreadableFile: there is none, there are several, or its content is something else.
    """
    file = _only(path, list(patterns), title) if path.is_dir() else path
    if not is_it(read_head(file)):
        raise UnreadableFile(f"{file} does not look like {title}. Nothing was read; name the benchmark's own file.")
    return file


def end_of_day(moment: datetime) -> datetime:
    """The last moment of a day in UTC."""
    return moment.astimezone(UTC).replace(hour=23, minute=59, second=59, microsecond=999_999)


def read_asked_at(text: str) -> datetime | None:
    """When a question is asked: the moment that is named, or the end of the day."""
    moment = parse_iso_moment(text) or last_moment(text)
    return moment.astimezone(UTC) if moment else None


def _add(remembered: ImportedHistory, record: SessionDraft | MemoryDraft) -> None:
    if isinstance(record, SessionDraft):
        remembered.sessions.append(record)
    else:
        remembered.memories.append(record)


def _only(folder: Path, patterns: list[str], title: str) -> Path:
    for pattern in patterns:
        found = sorted(file for file in folder.glob(pattern) if file.is_file())
        if len(found) > 1:
            names = ", ".join(str(file.relative_to(folder)) for file in found)
            raise UnreadableFile(f"{folder} holds several files of {title}: {names}. Name one of them.")
        if found:
            return found[0]
    expected = " or ".join(patterns)
    raise UnreadableFile(f"{folder} holds no file of {title}; expected {expected}. Put it there, or name the file.")
