"""Plain text transcripts of a dialogue: one history for each file, named after it. The last format that is tried.

    # 2024-05-01                        a date alone (with or without #) begins a session
    Anna: Are you there?                "Speaker: text"; a line without a speaker continues the one before it
    2024-05-01 18:22 Anna: hi           with the time before it,
    [2024-05-01 18:22:05] Anna: hi      in brackets,
    18:22 Anna: hi                      or with the hour alone, on the session's day

Only dates with the year first are read; others are ambiguous. If lines are dated, a pause of six hours begins a
session, too. "User", "Me" and "Human" are the user, "Assistant", "AI" and the like the assistant; otherwise the first
to speak is the user, and the others have the role `other`. Once lines have times, a line without one is a new turn only
if its speaker has spoken before.
"""

from collections.abc import Iterator
from datetime import datetime

from memory.bank.rows import clean
from memory.importers.generic.line_times import LineTime, read_date_heading, read_line_time, read_title
from memory.importers.reading.dates import NO_DATE, date_problem
from memory.importers.reading.fields import clean_text
from memory.importers.reading.session_builder import PAUSE, SessionBuilder
from memory.importers.reading.source import Record, Source, count_records, head_text, read_lines
from memory.importers.reading.speakers import RoleAssigner, split_utterance
from memory.types import PersonaDraft, Skip, TurnDraft

NAME = "transcript"

# Up to this many lines may all have different "speakers"; more are the keys of a settings file or a form.
FEW_LINES = 4


def sniff(head: bytes) -> bool:
    """Whether it begins with a speaker's line, after any headings, and speakers recur as in a dialogue."""
    speakers: list[str] = []
    for line in head_text(head).splitlines():
        text = line.strip()
        if not text or (not speakers and (read_title(text) or read_date_heading(text))):
            continue
        utterance = split_utterance(read_line_time(text).rest)
        if not utterance and not speakers:
            return False
        if utterance:
            speakers.append(utterance[0])
    return bool(speakers) and len(set(speakers)) <= max(FEW_LINES, len(speakers) / 2)


@count_records
def read(path: Source) -> Iterator[Record]:
    """The sessions of one transcript."""
    yield PersonaDraft(name=clean(path.stem))
    reader = _TranscriptReader()
    for line in read_lines(path):
        if isinstance(line, Skip):
            yield line
            continue
        skips: list[Skip] = []
        place = f"line {line.number}"
        text = clean_text(line.text, place, skips).strip()
        yield from skips
        if text:
            yield from reader.take(text, place)
    yield from reader.finish()


class _TranscriptReader:
    """Builds sessions from the lines of a transcript."""

    def __init__(self) -> None:
        self.session: SessionBuilder | None = None
        self.cast = RoleAssigner()
        self.last: datetime | None = None
        self.has_times = False

    def take(self, text: str, place: str) -> Iterator[Record]:
        """Take a line: a heading, a new turn, or more of the last one."""
        if heading := read_date_heading(text):
            yield from self.finish()
            self.session = SessionBuilder(heading[1], heading[0], place=place)
            return
        stamp = read_line_time(text, self.session.started_at if self.session else None)
        utterance = split_utterance(stamp.rest)
        if utterance and self._begins_utterance(stamp, utterance[0]):
            yield from self._start_turn(stamp, *utterance, place)
        elif self.session and self.session.has_turns:
            self.session.continue_turn(text)
        elif title := read_title(text):
            self.session = self.session or SessionBuilder(place=place)
            self.session.title = title
        else:
            yield Skip(place, "text before the first speaker")
        if self.session and self.session.is_full:
            full, self.session = self.session, self.session.split()
            yield from full.finish()

    def finish(self) -> Iterator[Record]:
        """Hand over the current session."""
        if self.session:
            released = list(self.session.finish())
            if self.session.turns and (fault := date_problem(self.session.started_at)):
                yield Skip(self.session.place, fault)
            yield from released
        self.session = self.last = None

    def _start_turn(self, stamp: LineTime, speaker: str, text: str, place: str) -> Iterator[Record]:
        if self.last and stamp.has_day and stamp.moment and stamp.moment - self.last > PAUSE:
            yield from self.finish()
        if self.session is None:
            self.session = SessionBuilder(place=place)
        if self.session.started_at is None and not self.session.has_turns:
            self.session.started_at, self.session.started_text = stamp.moment, stamp.text
        if stamp.text and stamp.moment is None:
            self.session.skips.append(Skip(place, NO_DATE))
        self.has_times = self.has_times or bool(stamp.text)
        self.last = stamp.moment or self.last
        self.session.start_turn(TurnDraft(speaker, self.cast.role_of(speaker), text, stamp.moment, stamp.text), place)

    def _begins_utterance(self, stamp: LineTime, speaker: str) -> bool:
        return bool(stamp.text) or not self.has_times or speaker in self.cast.roles
