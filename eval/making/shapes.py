"""Parts of the shapes of replies, with the bounds that a grammar holds a model to."""

from typing import Annotated, Any

from pydantic import Field

from graph.models.json_replies import StrictReply


def bound(**limits: int) -> Any:  # noqa: ANN401  # of what pydantic's functions return
    """Bounds in the schema alone: what a model without a grammar writes beyond them is not refused."""
    return Field(json_schema_extra=dict(limits))


Name = Annotated[str, bound(maxLength=40)]
Phrase = Annotated[str, bound(maxLength=120)]
Sentence = Annotated[str, bound(maxLength=400)]
Paragraph = Annotated[str, bound(maxLength=2500)]


class Score(StrictReply):
    """How good something is, from 0 to 10."""

    score: Annotated[int, Field(ge=0, le=10)]


class Question(StrictReply):
    """A question, and its answer."""

    question: Sentence
    answer: Sentence
