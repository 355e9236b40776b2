"""The types of LongMemEval's questions, and how each is made (section 3.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from eval.benchmarks.longmemeval.generation import question_prompts as prompts
from eval.benchmarks.longmemeval.generation.session_prompts import (
    AssistantTask,
    Inquiry,
    Mention,
    Message,
    Task,
    Telling,
    UserTask,
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A type of question: what asks for it, and from how many statements its answer follows.

    `is_dated`: the statements have days of their own. `is_quoted`: the answer is in the words of its statement.
    `is_update`: the second statement replaces the first. `has_premise`: there can be such a question with a false one.
    """

    name: str
    questions: type[prompts.Questions]
    least: int = 1
    most: int = 1
    is_dated: bool = False
    is_quoted: bool = False
    is_update: bool = False
    has_premise: bool = True
    task: type[Task] = UserTask
    telling: Mapping[str, type[Message]] = field(default_factory=lambda: {"user": Mention})
    """What is asked for in the round in which the statement is said; only those who are asked so know it."""

    @property
    def speaker(self) -> str:
        """Who says the statement."""
        return "assistant" if "assistant" in self.telling else "user"


KINDS = (
    Kind("single-session-user", prompts.UserQuestions, is_quoted=True),
    Kind(
        "single-session-assistant",
        prompts.AssistantQuestions,
        is_quoted=True,
        task=AssistantTask,
        telling={"user": Inquiry, "assistant": Telling},
    ),
    Kind("single-session-preference", prompts.PreferenceQuestions, has_premise=False),
    Kind("multi-session", prompts.MultiSessionQuestions, 2, 6),
    Kind("knowledge-update", prompts.UpdateQuestions, 2, 2, is_dated=True, is_update=True),
    Kind("temporal-reasoning", prompts.TemporalQuestions, 1, 6, is_dated=True),
)
"""In figure 9, answers have up to six pieces of evidence."""
