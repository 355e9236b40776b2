"""A question while it is made: its statements, its sessions, and what the file has of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from eval.benchmarks.longmemeval.generation.kinds import Kind

Turn = dict[str, Any]
"""As in the file: role, content, has_answer."""

UNUSABLE = "unusable reply"

Value = TypeVar("Value")


class LeftOut(Exception):  # the next question is made, not an error of the program
    """A question is not kept; the message says why."""


def need(reply: Value | None) -> Value:
    """Return a reply that the question cannot do without.

    Raises:
        LeftOut: there is none.
    """
    if reply is None:
        raise LeftOut(UNUSABLE)
    return reply


@dataclass(frozen=True, slots=True)
class Statement:
    """What is said in one session, and when."""

    text: str
    said_at: datetime


@dataclass(slots=True)
class Draft:
    """A question, its answer, and as far as they are made its statements and a session for each."""

    kind: Kind
    question: str
    answer: str
    asked_at: datetime
    statements: list[Statement] = field(default_factory=list)
    sessions: list[list[Turn]] = field(default_factory=list)

    def as_record(self, question_id: str, session_ids: Sequence[str]) -> dict[str, Any]:
        """The question as in the official files; its history is its evidence, in the order of time."""
        told = zip(self.statements, session_ids, self.sessions, strict=True)
        history = sorted(told, key=lambda each: each[0].said_at)
        return {
            "question_id": question_id,
            "question_type": self.kind.name,
            "question": self.question,
            "answer": self.answer,
            "question_date": _official(self.asked_at),
            "answer_session_ids": list(session_ids),
            "haystack_dates": [_official(statement.said_at) for statement, _, _ in history],
            "haystack_session_ids": [name for _, name, _ in history],
            "haystack_sessions": [turns for _, _, turns in history],
        }

    def for_review(self, reason: str) -> dict[str, Any]:
        """What a person needs to see why it was left out, and to mend it."""
        return {
            "left_out": reason,
            "question_type": self.kind.name,
            "question": self.question,
            "answer": self.answer,
            "question_date": _official(self.asked_at),
            "statements": [{"date": _official(each.said_at), "statement": each.text} for each in self.statements],
            "sessions": self.sessions,
        }


def _official(moment: datetime) -> str:
    return f"{moment:%Y/%m/%d (%a) %H:%M}"
