"""DialSim's LongDialQA scripts (Kim et al., 2024, github.com/jiho283/Simulator) as plain text: one history a file.

    [Date: September 22, 1994, Session #1]
    Monica: <what she says>
    <more of it, on a further line>
    [Scene: <what is seen>]

A header begins a session "1994-09-22#1" at midnight of its day; a line without a speaker continues the turn before it;
a line in brackets is a turn of "Scene". Every speaker has the role `other`: the script does not say whom the assistant
plays. The history is named after the file. The official pickles are refused: unpickling can run code.
"""

import re
from collections.abc import Iterator

from memory.bank.rows import clean
from memory.importers.reading.dialogue import ChatLog, split_utterance
from memory.importers.reading.fields import parse_moment
from memory.importers.reading.source import Record, Source, head_text, read_lines, record_reader
from memory.types import PersonaDraft, SessionDraft, Skip, TurnDraft

NAME = "DialSim"

HEADER = re.compile(r"\s*\[\s*Date:\s*(?P<date>[^\[\]]{1,80}?)(?:,\s*Session\s*#?(?P<number>[0-9]{1,9}))?\s*\]\s*")
SCENE = re.compile(r"\[(?:Scene:)?(?P<square>[^\[\]]+)\]|\((?P<round>[^()]+)\)")
SCENE_SPEAKER = "Scene"


def sniff(head: bytes) -> bool:
    """Whether one of its lines is the header of a session."""
    return any(HEADER.fullmatch(line) for line in head_text(head).splitlines())


@record_reader
def read(skips: list[Skip], path: Source) -> Iterator[Record | None]:
    """The sessions of one script."""
    name = clean(path.stem)
    yield PersonaDraft(name=name, external_id=name)
    log = ChatLog(skips, reports_dates=True)
    for line in read_lines(path, skips):
        yield None
        if header := HEADER.fullmatch(line.text.strip()):
            yield from log.finish()
            date, number = header["date"].strip(), header["number"]
            moment = parse_moment(date, "%B %d, %Y")
            external_id = f"{moment.date() if moment else date}#{number}" if number else ""
            log.begin(SessionDraft((), moment, date, external_id), line.place)
        elif (text := line.text.strip()) and log.session:
            yield from add_line(log, text, line.place)
        elif text:
            yield Skip(line.place, "text before the first session")
    yield from log.finish()


def add_line(log: ChatLog, text: str, place: str) -> Iterator[SessionDraft]:
    """Add a line of the script: a scene, a turn of a speaker, or more of the last turn."""
    if scene := SCENE.fullmatch(text):
        speaker, text = SCENE_SPEAKER, (scene["square"] or scene["round"]).strip()
    elif utterance := split_utterance(text):
        speaker, text = utterance
    elif log.turns:
        return log.continue_turn(text)
    else:
        speaker = SCENE_SPEAKER
    return log.add(TurnDraft(speaker, "other", text), place)
