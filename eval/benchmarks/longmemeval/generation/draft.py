"""The types of LongMemEval's questions, and a question while it is made (section 3.2)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

Turn = dict[str, Any]
"""As in the file: role, content, has_answer."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of question: the prompt that asks for it, and from how many statements its answer follows.

    `is_dated`: the statements have days of their own. `is_quoted`: the answer is in the words of its statement.
    `is_update`: the second statement replaces the first. `has_premise`: there can be such a question with a false one.
    """

    name: str
    questions: str
    least: int = 1
    most: int = 1
    is_dated: bool = False
    is_quoted: bool = False
    is_update: bool = False
    has_premise: bool = True
    task: str = "UserTask"
    telling: Mapping[str, str] = field(default_factory=lambda: {"user": "Mention"})
    """The prompts, by role, of the round in which the statement is said; only those who are asked so know it."""

    @property
    def speaker(self) -> str:
        """Who says the statement."""
        return "assistant" if "assistant" in self.telling else "user"


KINDS = (
    Kind("single-session-user", "UserQuestions", is_quoted=True),
    Kind(
        "single-session-assistant",
        "AssistantQuestions",
        is_quoted=True,
        task="AssistantTask",
        telling={"user": "Inquiry", "assistant": "Telling"},
    ),
    Kind("single-session-preference", "PreferenceQuestions", has_premise=False),
    Kind("multi-session", "MultiSessionQuestions", 2, 6),
    Kind("knowledge-update", "UpdateQuestions", 2, 2, is_dated=True, is_update=True),
    Kind("temporal-reasoning", "TemporalQuestions", 1, 6, is_dated=True),
)
"""In figure 9, answers have up to six pieces of evidence."""


@dataclass(slots=True)
class Evidence:
    """A statement, when it is said, and the turns of its session, once they are written."""

    statement: str
    said_at: datetime
    turns: list[Turn] = field(default_factory=list)


@dataclass(slots=True)
class Draft:
    """A question, its answer, and the evidence as far as it is made."""

    kind: Kind
    question: str
    answer: str
    asked_at: datetime
    evidence: list[Evidence] = field(default_factory=list)

    @property
    def prompt_data(self) -> dict[str, object]:
        """The question as it stands in prompts."""
        return {"question": self.question, "answer": self.answer}

    def as_record(self, question_id: str, session_ids: Sequence[str]) -> dict[str, Any]:
        """The question as in the official files; its history is its evidence, in the order of time."""
        history = sorted(zip(self.evidence, session_ids, strict=True), key=lambda each: each[0].said_at)
        return {
            "question_id": question_id,
            **self._question(),
            "answer_session_ids": list(session_ids),
            "haystack_dates": [_official(each.said_at) for each, _ in history],
            "haystack_session_ids": [name for _, name in history],
            "haystack_sessions": [each.turns for each, _ in history],
        }

    def for_review(self, reason: str) -> dict[str, Any]:
        """What a person needs to see why it was left out, and to mend it."""
        return {
            "left_out": reason,
            **self._question(),
            "statements": [{"date": _official(each.said_at), "statement": each.statement} for each in self.evidence],
            "sessions": [each.turns for each in self.evidence if each.turns],
        }

    def _question(self) -> dict[str, Any]:
        return {"question_type": self.kind.name, **self.prompt_data, "question_date": _official(self.asked_at)}


def weekday_and_date(moment: datetime | date) -> str:
    """A day as it stands in prompts."""
    return f"{moment:%A, %Y-%m-%d}"


def _official(moment: datetime) -> str:
    return f"{moment:%Y/%m/%d (%a) %H:%M}"
