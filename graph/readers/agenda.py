"""The trained reader that tells what is on at a day which a line names.

Of "mums having her hip done on the 9th, dreading it" it is "mums having her hip done", and of "any ideas for dinner
tonight?" nothing.
"""

from datetime import date

from graph.readers.line_reader import Line, LineReader
from graph.state import USER
from graph.understanding.classifier import MODELS
from graph.understanding.requests import asked_reminder
from memory.embedding import minilm
from memory.types import Memory

WEIGHTS = MODELS / "agenda.safetensors"
READER = LineReader(minilm.NAME, WEIGHTS)

WHAT_IS_ON = "what is on {}"
"""What is asked of a line, with its own words for the day."""

IS_ON = 0.5
"""Probability that something is on, from which it is told."""


def plan_at(text: str, day: str, said_on: date | None, today: date) -> tuple[int, int]:
    """The characters of a text that say what is on at a day ahead, which it calls `day`; (0, 0) if nothing is."""
    (found,) = READER.read(WHAT_IS_ON.format(day), today, [Line(text, USER, said_on)])
    return found.span if found.answers >= IS_ON else (0, 0)


def what_is_on(memory: Memory, today: date) -> str:
    """The words of a memory that say what is on at its time; empty if nothing is.

    They are all of them where they do not name the time, as those of a chat model, or are of another language.
    """
    if reminder := asked_reminder(memory.text, memory.said_at):
        return reminder
    if not memory.event_text or memory.event_text not in memory.text or not minilm.reads(memory.text):
        return memory.text
    said_on = memory.said_at and memory.said_at.date()
    return memory.text[slice(*plan_at(memory.text, memory.event_text, said_on, today))]
