"""Read the script of a show (dated scenes, and the main character) and quiz questions about it.

A script is a text file for each episode, with a line such as "[Date: March 3, 2001, Session #1]" before each scene and
lines "Name: words" in it. The authors dated their scenes while watching (appendix B), so a script brings its dates.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from eval.benchmarks.reading import gather
from graph.understanding.sentences import shorten
from memory.errors import MemoirError
from memory.importers.benchmarks import dialsim as script_format
from memory.importers.reading.fields import parse_moment
from memory.importers.reading.source import read_lines
from memory.types import TurnDraft

MINUTE = timedelta(minutes=1)

_LIKE_A_HEADING = re.compile(r"\[\s*(?:date|session)\b", re.IGNORECASE)
_BRACKETS = re.compile(r"[()\[\]]")


@dataclass(frozen=True, slots=True)
class Scene:
    """A scene: its episode, its number there from 1, its day at midnight, its lines, and who speaks in it.

    `time` is a minute later for each scene of the same day before it, so that times are in the order of the scenes.
    """

    episode: str
    number: int
    date: datetime
    time: datetime
    script: str
    speakers: frozenset[str]

    @property
    def day(self) -> str:
        """The date as LongDialQA's files have it: "March 3, 2001"."""
        return f"{self.date:%B} {self.date.day}, {self.date.year}"


@dataclass(frozen=True, slots=True)
class Show:
    """All scenes in their order, and the character with the most lines, whom the agent plays (section 3.1.1)."""

    name: str
    main: str
    scenes: Sequence[Scene]

    @property
    def sessions(self) -> Sequence[Scene]:
        """The scenes with the main character, which alone make up the dialogue."""
        return [scene for scene in self.scenes if self.main in scene.speakers]


class Quiz(BaseModel):
    """A quiz question about an episode, with four choices, one of them the answer."""

    episode: str
    question: str = Field(min_length=1)
    options: list[str] = Field(min_length=2)
    answer: str


def read_show(path: Path) -> Show:
    """Read a script, or a folder of scripts, one for each episode in the order of their names.

    Raises `MemoirError` if there is no script, or a line is under no date.
    """
    files = sorted(path.glob("*.txt")) if path.is_dir() else [path]
    scenes, lines, of_day = list[Scene](), Counter[str](), Counter[datetime]()
    for file in files:
        (script,) = gather(script_format.read(file))
        _check_headings(file)
        for number, session in enumerate(script.sessions, start=1):
            day = session.started_at
            if day is None:
                continue
            spoken = [turn.speaker for turn in session.turns if turn.speaker != script_format.SCENE_SPEAKER]
            lines.update(spoken)
            text = "\n".join(map(_line, session.turns))
            scenes.append(Scene(file.stem, number, day, day, text, frozenset(spoken)))
    if not lines:
        raise MemoirError(
            f"{path} has no dated scene in which somebody speaks; expected .txt files with lines such as [Date: March "
            "3, 2001, Session #1] and Name: words"
        )
    scenes.sort(key=lambda scene: scene.date)
    for place, scene in enumerate(scenes):
        scenes[place] = replace(scene, time=scene.date + of_day[scene.date] * MINUTE)
        of_day[scene.date] += 1
    return Show(path.stem, lines.most_common(1)[0][0], scenes)


def _check_headings(file: Path) -> None:
    """Raise `MemoirError` at the first line that is under no date, or is a heading that cannot be read."""
    is_dated = False
    for line in read_lines(file, []):
        text = line.text.strip()
        heading = script_format.HEADER.fullmatch(text)
        if heading and parse_moment(heading["date"].strip(), "%B %d, %Y"):
            is_dated = True
        elif text and (heading or not is_dated or _LIKE_A_HEADING.match(text)):
            fault = "has no date that can be read" if heading or is_dated else "is under no date"
            raise MemoirError(
                f"{file.name}, {line.place}: {shorten(text, 60)!r} {fault}; expected a line such as [Date: March 3, "
                "2001, Session #1] before each scene"
            )


def _line(turn: TurnDraft) -> str:
    text = " ".join(turn.text.split())
    if turn.speaker != script_format.SCENE_SPEAKER:
        return f"{turn.speaker}: {text}"
    return f"({_BRACKETS.sub('', text)})"


def read_quizzes(file: Path, show: Show) -> list[Quiz]:
    """Read a JSON list of quiz questions.

    Raises `MemoirError` if it is no such list, or a question's episode or answer is not there.
    """
    try:
        quizzes = TypeAdapter(list[Quiz]).validate_json(file.read_bytes())
    except (OSError, ValidationError) as fault:
        why = fault.errors()[0] if isinstance(fault, ValidationError) else {"loc": (), "msg": str(fault)}
        place = ", ".join(map(str, why["loc"]))
        raise MemoirError(
            f'{file}{f", item {place}" if place else ""}: {why["msg"]}. Expected [{{"episode": "...", "question": '
            '"...", "options": ["...", ...], "answer": "one of them"}]'
        ) from fault
    episodes = {scene.episode for scene in show.scenes}
    for number, quiz in enumerate(quizzes):
        if quiz.episode not in episodes:
            known = ", ".join(sorted(episodes))
            raise MemoirError(f"{file}, item {number}: there is no episode {quiz.episode!r}; there are {known}")
        if quiz.answer not in quiz.options:
            raise MemoirError(f"{file}, item {number}: the answer is not among the options")
    return quizzes
