"""DialSim's LongDialQA scripts (Kim et al., 2024, github.com/jiho283/Simulator) as plain text: one history a file.

    [Date: September 22, 1994, Session #1]
    Monica: <what she says>
    <more of it, on a further line>
    [Scene: <what is seen>]

A header begins a session "1994-09-22#1" at midnight of its day; a line that names no speaker goes on with the
utterance before it; a line in brackets is kept as a turn of "Scene". Everybody is other: the script does not say whom
the assistant plays. The history is named after the file. The official pickles are refused: unpickling can run code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory.bank.rows import clean
from memory.importers.generic.utterance import OpenSession, split_utterance
from memory.importers.reading.dates import date_fault, match_format, read_moment
from memory.importers.reading.fields import tidy
from memory.importers.reading.source import Record, Source, counted, head_text, read_lines
from memory.types import PersonaDraft, Skip, TurnDraft

NAME = "DialSim"

HEADER = re.compile(r"\s*\[\s*Date:\s*(?P<date>[^\[\]]{1,80}?)(?:,\s*Session\s*#?(?P<number>[0-9]{1,9}))?\s*\]\s*")
SCENE = re.compile(r"\[(?:Scene:\s*)?(?P<square>[^\[\]]+)\]|\((?P<round>[^()]+)\)")
SCENE_SPEAKER = "Scene"


def sniff(head: bytes) -> bool:
    """Whether a line of it is a session's header."""
    return any(HEADER.fullmatch(line) for line in head_text(head).splitlines())


@counted
def read(path: Source) -> Iterator[Record]:
    """The sessions of one script."""
    name = clean(path.stem)
    yield PersonaDraft(name=name, external_id=name)
    session: OpenSession | None = None
    notes: list[Skip] = []
    for line in read_lines(path):
        if isinstance(line, Skip):
            yield line
            continue
        place = f"line {line.number}"
        text = tidy(line.text, place, session.notes if session else notes).strip()
        if header := HEADER.fullmatch(text):
            if session:
                yield from session.release()
            session = _open(header, place)
        elif text and session is None:
            notes.append(Skip(place, "stands before the first session"))
        elif text and session:
            _take(session, text, place)
        if session and session.is_full:
            full, session = session, session.split()
            yield from full.release()
        yield from notes
        notes.clear()
    if session:
        yield from session.release()


def _open(header: re.Match[str], place: str) -> OpenSession:
    date, number = header["date"].strip(), header["number"]
    moment = match_format(date, "%B %d, %Y") or read_moment(date)
    external_id = f"{moment.date() if moment else date}#{number}" if number else ""
    session = OpenSession(moment, date, external_id, place=place)
    if fault := date_fault(moment):
        session.notes.append(Skip(place, fault))
    return session


def _take(session: OpenSession, text: str, place: str) -> None:
    if scene := SCENE.fullmatch(text):
        session.say(TurnDraft(SCENE_SPEAKER, "other", (scene["square"] or scene["round"]).strip()), place)
    elif utterance := split_utterance(text):
        session.say(TurnDraft(utterance[0], "other", utterance[1]), place)
    elif session.has_begun:
        session.go_on(text)
    else:
        session.say(TurnDraft(SCENE_SPEAKER, "other", text), place)
