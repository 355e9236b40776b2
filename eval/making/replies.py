"""Types of what a chat model is asked for; each benchmark composes its own replies of these."""

from typing import Annotated, Any

from pydantic import AfterValidator, Field

from graph.models.json_replies import StrictReply


def bound(**limits: int) -> Any:  # noqa: ANN401  # of what pydantic's functions return
    """Bounds in the schema alone: what a model without a grammar writes beyond them is not refused."""
    return Field(json_schema_extra=dict(limits))


def one_line(text: str) -> str:
    """The text without line breaks, and without spaces at its ends or twice."""
    return " ".join(text.split())


Line = Annotated[str, AfterValidator(one_line)]
Name = Annotated[Line, bound(maxLength=40)]
Phrase = Annotated[Line, bound(maxLength=120)]
Sentence = Annotated[Line, bound(maxLength=400)]
Paragraph = Annotated[Line, bound(maxLength=2500)]


class Score(StrictReply):
    """How good something is, from 0 to 10."""

    score: Annotated[int, Field(ge=0, le=10)]


class Question(StrictReply):
    """A question, and its answer."""

    question: Sentence
    answer: Sentence


class Questions(StrictReply):
    """Questions about one memory, or of one type."""

    questions: Annotated[list[Question], bound(maxItems=6)]
