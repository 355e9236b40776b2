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

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from memory import fill, read_table
from memory.bank.rows import clean
from memory.importers.reading.dialogue import ChatLog, RoleAssigner, split_utterance
from memory.importers.reading.fields import NO_DATE, parse_moment, to_utc
from memory.importers.reading.source import Record, Source, head_text, read_lines, record_reader
from memory.types import PersonaDraft, SessionDraft, Skip, TurnDraft

NAME = "transcript"

_PATTERNS = read_table(__file__)
WITH_DAY, CLOCK_ALONE, HEADING = (
    re.compile(fill(pattern, _PATTERNS["parts"]), re.DOTALL) for pattern in _PATTERNS["patterns"].values()
)
AFTER_STAMP = "]-– \t"

# Up to this many lines may all have different "speakers"; more are the keys of a settings file or a form.
FEW_LINES = 4


@dataclass(frozen=True, slots=True)
class LineTime:
    """The time before a line: its spelling, its moment if known, whether it includes a day; and the rest."""

    text: str
    moment: datetime | None
    has_day: bool
    rest: str


def sniff(head: bytes) -> bool:
    """Whether it begins with a speaker's line, after any headings, and speakers recur as in a dialogue."""
    speakers: list[str] = []
    for line in head_text(head).splitlines():
        text = line.strip()
        if not text or (not speakers and read_heading(text)):
            continue
        utterance = split_utterance(read_line_time(text).rest)
        if not utterance and not speakers:
            return False
        if utterance:
            speakers.append(utterance[0])
    return bool(speakers) and len(set(speakers)) <= max(FEW_LINES, len(speakers) / 2)


@record_reader
def read(skips: list[Skip], path: Source) -> Iterator[Record | None]:
    """The sessions of one transcript."""
    yield PersonaDraft(name=clean(path.stem))
    log, cast, has_times = ChatLog(skips, reports_dates=True), RoleAssigner(), False
    for line in read_lines(path, skips):
        yield None
        if not (text := line.text.strip()):
            continue
        title, moment = read_heading(text) or ("", None)
        if moment:
            yield from log.finish()
            log.begin(SessionDraft((), moment, title), line.place)
            continue
        stamp = read_line_time(text, log.session.started_at if log.session else None)
        speaker, said = split_utterance(stamp.rest) or ("", "")
        if speaker and (stamp.text or not has_times or speaker in cast.roles):
            if log.session and log.session.started_at is None and not log.turns:
                log.session = replace(log.session, started_at=stamp.moment, started_text=stamp.text)
            if stamp.text and stamp.moment is None:
                skips.append(Skip(line.place, NO_DATE))
            has_times = has_times or bool(stamp.text)
            turn = TurnDraft(speaker, cast.role_of(speaker), said, stamp.moment, stamp.text)
            yield from log.add(turn, line.place, may_pause=stamp.has_day)
        elif log.turns:
            yield from log.continue_turn(text)
        elif title:
            log.begin(replace(log.session or SessionDraft(()), title=title), log.place if log.session else line.place)
        else:
            skips.append(Skip(line.place, "text before the first speaker"))
    yield from log.finish()


def read_line_time(line: str, day: datetime | None = None) -> LineTime:
    """The time that a line begins with, an hour alone on the given day; without a time, the rest is the whole line."""
    for form in (WITH_DAY, CLOCK_ALONE):
        if match := form.fullmatch(line):
            rest = match["rest"].lstrip(AFTER_STAMP)
            return LineTime(match["stamp"], _read_moment(match, day), form is WITH_DAY, rest)
    return LineTime("", None, False, line)


def read_heading(line: str) -> tuple[str, datetime | None] | None:
    """The text and moment of a line that is only a date, or of a `#` heading, whose moment may be in any wording."""
    heading = HEADING.fullmatch(line)
    text = (heading["text"] if heading else line).strip(" #")
    dated = WITH_DAY.fullmatch(text)
    if dated and not dated["rest"].strip(AFTER_STAMP):
        moment = _read_moment(dated, None)
    else:
        moment = parse_moment(text) if heading else None
    return (text, moment) if moment or (heading and text) else None


def _read_moment(match: re.Match[str], day: datetime | None) -> datetime | None:
    """The moment of a time, in UTC unless it names a zone; an hour alone is on the given day."""
    parts = match.groupdict()
    hour = int(parts["hour"] or 0)
    if half := parts["half"]:
        hour = hour % 12 + (12 if half in "Pp" else 0)
    zone = "Z" if parts["zone"] in (None, "UTC") else parts["zone"]
    try:
        if parts.get("year"):
            day = datetime(int(parts["year"]), int(parts["month"]), int(parts["day"]))
        if day is None:
            return None
        clock = f"{hour:02}:{parts['minute'] or '00'}:{parts['second'] or '00'}{zone}"
        return to_utc(datetime.fromisoformat(f"{day.date()}T{clock}"))
    except (ValueError, OverflowError):
        return None
