"""Questions in the style of the character who asks them (section 3.1.5, appendix E).

Each question gets the style of one character of its session, drawn at random; anybody else asks it as it is. The
authors looked at samples; here names and numbers must be kept, and the model scores whether it still asks the same.
They begin every question with "By the way,", which is left to the model.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

from eval.benchmarks.dialsim.generation.asked import Question
from eval.benchmarks.dialsim.generation.scenes import Show
from eval.making.parts import Part
from eval.making.shapes import Sentence
from eval.making.writer import LeftOut, Writer, one_line
from graph.models.json_replies import StrictReply
from memory.search.tokens import FUNCTION_WORDS

MOST_LINES = 8
"""Lines of a character that show how they speak."""

_MUST_STAY = re.compile(r"\b(?:[A-Z]\w*|\d+)")
"""Names, months and numbers: words with a capital letter, but for "who" and its like at the beginning."""


class Styled(StrictReply):
    """A question in somebody's style."""

    question: Sentence


class Style(Part):
    """The styles of a session's questions: by the question's words, by who asks."""

    styles: dict[str, dict[str, str]]


def restyle(place: int, asked: Sequence[Question], show: Show, seed: int, writer: Writer) -> Style:
    """Ask for each question of a session in a character's style; a question without one keeps its words."""
    others = sorted(show.sessions[place].speakers - {show.main})
    part = Style(styles={})
    for question in writer.each("style", asked if others else ()):
        who = Random(f"{seed} {place} {question.text}").choice(others)
        with writer.leave_out():
            reply = writer.ask(Styled, character=who, lines=_lines(show, place, who), question=question.text)
            styled = one_line(reply.question)
            if not keeps(question.text, styled):
                raise LeftOut("a name or a number is lost")
            writer.score("StyleScore", "scored too low", question=question.text, the_same_in_a_style=styled)
            part.styles[question.text] = {who: styled}
    return part


def keeps(question: str, styled: str) -> bool:
    """Whether a question in a style has all names and numbers of the question."""
    said = {word.casefold() for word in re.findall(r"\w+", styled)}
    found = [(match.start(), match[0].casefold()) for match in _MUST_STAY.finditer(question)]
    must_stay = {word for start, word in found if start or word not in FUNCTION_WORDS}
    return bool(styled) and must_stay <= said


def _lines(show: Show, place: int, who: str) -> list[str]:
    """The last lines of a character up to a session."""
    spoken = [
        line.removeprefix(f"{who}: ")
        for scene in show.sessions[: place + 1]
        for line in scene.script.splitlines()
        if line.startswith(f"{who}: ")
    ]
    return spoken[-MOST_LINES:]
