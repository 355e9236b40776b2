"""What all adapters share: find the file, group an importer's records by history, and name and date probes."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from eval.types import History, Probe
from memory.bank.rows import digest
from memory.dates.expressions import last_moment
from memory.errors import UnreadableFile
from memory.importers.reading.fields import Fields, parse_iso_moment
from memory.importers.reading.source import Record, read_head
from memory.types import MemoryDraft, PersonaDraft, SessionDraft, Skip

UNDATED = datetime(2025, 1, 1, tzinfo=UTC)
"""When a probe about a history without any date is asked."""

ALL = "all"
ANSWERABLE = "answerable"
"""Names of populations: every probe, and those that have an answer."""


@dataclass(frozen=True, slots=True)
class ImportedHistory:
    """What an importer read of one history."""

    persona: PersonaDraft
    sessions: list[SessionDraft] = field(default_factory=list)
    memories: list[MemoryDraft] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)

    def end(self) -> datetime:
        """The end of the latest day that anything in the history is dated with."""
        said = [s.started_at for s in self.sessions] + [t.said_at for s in self.sessions for t in s.turns]
        happened = [m.event.end - timedelta(microseconds=1) if m.event else m.said_at for m in self.memories]
        latest = max((moment for moment in (*said, *happened) if moment), default=None)
        return latest.astimezone(UTC).replace(hour=23, minute=59, second=59, microsecond=999_999) if latest else UNDATED

    def history(self, name: str, probes: Iterable[Probe]) -> History:
        """What was read, as a history with these probes; they are read first, since reading them adds skips."""
        asked = tuple(probes)
        return History(name, self.persona, tuple(self.sessions), tuple(self.memories), asked, tuple(self.skips))


class UniqueIds(Counter[str]):
    """Keeps ids unique by adding a number to repeated ones."""

    def make(self, name: str) -> str:
        """Return the name, with a number from its second use on."""
        self[name] += 1
        return name if self[name] == 1 else f"{name}-{self[name]}"

    def make_in(self, fields: Fields, field_name: str, name: str) -> str:
        """As `make`, and report a name that was used before with the field that gives it."""
        unique = self.make(name)
        if unique != name:
            fields.report(field_name, f"used before; kept as {unique}")
        return unique


def short_digest(*parts: object) -> str:
    """A short digest of contents, so that an id does not depend on the order of the file."""
    # 32 bits, of which a history of 500 questions shares one by chance once in 30,000; `UniqueIds` tells those apart.
    return digest(*parts)[:8]


def texts(fields: Fields, name: str) -> Iterator[tuple[str, str]]:
    """Each element of a list as text, numbers too, with its place; of what is neither, the text is empty."""
    return ((Fields({"id": value}, place, fields.skips).text("id"), place) for value, place in fields.items(name))


def leaves(value: object) -> Iterator[object]:
    """What is neither a list nor an object in lists and objects, however nested."""
    if not isinstance(value, dict | list | tuple):
        yield value
        return
    for part in value.values() if isinstance(value, dict) else value:
        yield from leaves(part)


def in_file(file: Path, skip: Skip) -> Skip:
    """A skip whose place begins with the name of its file."""
    return Skip(f"{file.name}, {skip.place}", skip.reason)


def gather(records: Iterable[Record]) -> list[ImportedHistory]:
    """Group an importer's records by history; skips before the first history are added to it."""
    histories: dict[str, ImportedHistory] = {}
    current = early = ImportedHistory(PersonaDraft(""))
    for record in records:
        if isinstance(record, PersonaDraft):
            current = histories.setdefault(record.external_id, ImportedHistory(record))
        elif isinstance(record, Skip):
            current.skips.append(record)
        elif isinstance(record, SessionDraft):
            current.sessions.append(record)
        else:
            current.memories.append(record)
    found = list(histories.values())
    if found:
        found[0].skips[:0] = early.skips
    return found


def find_file(path: Path, patterns: Sequence[str], title: str, sniff: Callable[[bytes], bool]) -> Path:
    """Return the file itself, or the one in a folder that matches the first pattern with any match.

    Raises `UnreadableFile` if there is none, there are several, or its content is something else.
    """
    if path.is_dir():
        matches = ([file for file in sorted(path.glob(pattern)) if file.is_file()] for pattern in patterns)
        files = next(filter(None, matches), [])
        if len(files) > 1:
            names = ", ".join(str(file.relative_to(path)) for file in files)
            raise UnreadableFile(f"{path} has several files of {title}: {names}. Name one of them.")
        if not files:
            expected = " or ".join(patterns)
            raise UnreadableFile(f"{path} has no file of {title}; expected {expected}. Put it there, or name the file.")
        path = files[0]
    if not sniff(read_head(path)):
        raise UnreadableFile(f"{path} does not look like {title}. Nothing was read. Name the benchmark's own file.")
    return path


def read_asked_at(text: str) -> datetime | None:
    """Read when a question is asked: a moment, or the end of a day."""
    moment = parse_iso_moment(text) or last_moment(text)
    return moment.astimezone(UTC) if moment else None
