"""What a chat model is asked for: the shape of a reply, and the instruction that goes with it."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from graph.models.json_replies import StrictReply, quoted


def bound(**limits: int) -> Any:  # noqa: ANN401  # of what pydantic's functions return
    """Bounds in the schema alone: what a model without a grammar writes beyond them is not refused."""
    return Field(json_schema_extra=dict(limits))


Name = Annotated[str, bound(maxLength=40)]
Phrase = Annotated[str, bound(maxLength=120)]
Sentence = Annotated[str, bound(maxLength=400)]
Paragraph = Annotated[str, bound(maxLength=2500)]


class Asked(StrictReply):
    """A reply with the instruction that asks for it."""

    instruction: ClassVar[str]


class Score(Asked):
    """How good something is, from 0 to 10."""

    score: Annotated[int, Field(ge=0, le=10)]


def prompt(shape: type[Asked], data: dict[str, object]) -> str:
    """The data, a line each as JSON, then the instruction."""
    lines = (f"{name.replace('_', ' ').capitalize()}: {quoted(value)}" for name, value in data.items())
    return "\n".join(lines) + f"\n\n{shape.instruction}"


def one_line(text: str) -> str:
    """The text without line breaks, and without spaces at its ends or twice."""
    return " ".join(text.split())
