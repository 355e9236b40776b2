"""Let a chat model read which time a question asks about (LongMemEval, Wu et al. 2025, section 5.4 and appendix D)."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from eval.types import ChatModel
from graph.models.calls import Completion, Messages
from graph.models.json_replies import StrictReply, UnusableReply, ask_for_json, quoted
from memory.dates.expressions import TimeExpression
from memory.types import TimeSpan

# The form has "D" where an example would have a date, which a small model copies, whatever the question.
INSTRUCTION = """\
From which day to which day happened what the question asks about? Count back from the day on which it is asked. If it
names no time, both days are null.

Reply with JSON only: {"first": D, "last": D}. A day D is written as YYYY-MM-DD."""

MAX_TOKENS = 64


class DayRange(StrictReply):
    """The first and the last day of a time, as the model writes them."""

    first: str | None
    last: str | None


@dataclass(frozen=True, slots=True)
class TimeRange:
    """The time that a question asks about, if any, and the replies that it took; `fallback` if none was a range."""

    times: tuple[TimeExpression, ...] = ()
    replies: Sequence[Completion] = ()
    fallback: bool = False


def read_time_range(question: str, asked_at: datetime, model: ChatModel) -> TimeRange:
    """Ask which time a question is about; no time if the model names none, or what it replies is no range of days.

    Raises `ModelFailed` if the model does not answer.
    """
    replies: list[Completion] = []
    try:
        days = asyncio.run(ask_for_json(model, prompt(question, asked_at), DayRange, replies, max_tokens=MAX_TOKENS))
        if days.first is None and days.last is None:
            return TimeRange((), replies)
        first, last = date.fromisoformat(days.first or ""), date.fromisoformat(days.last or "")
        start = datetime.combine(first, time(), UTC)
        span = TimeSpan(start, datetime.combine(last, time(), UTC) + timedelta(days=1))
    except (UnusableReply, ValueError, OverflowError):
        return TimeRange((), replies, fallback=True)
    return TimeRange((TimeExpression("", 0, 0, span),), replies)


def prompt(question: str, asked_at: datetime) -> Messages:
    """The question and the day on which it is asked, then the instruction."""
    return [("human", f"Question of {asked_at:%A, %Y-%m-%d}: {quoted(question)}\n\n{INSTRUCTION}")]
