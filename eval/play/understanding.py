"""What stands in for a part of Memoir's understanding: a model that reads times, and a trained classifier.

A chat model reads which time a question asks about (LongMemEval, Wu et al. 2025, section 5.4 and appendix D). The
classifier of questions, semantic or episodic, was trained on questions of a benchmark (PerLTQA, section 4.2). Its
folder holds a sequence classifier of transformers with its tokenizer, and a record of its training:

    {"base": "bert-base-chinese", "instruction": "", "seen": ["9f86d081884c7d65", ...]}

`seen` are digests of the questions that it was trained on or chosen by. It refuses to classify them: that would measure
what it remembers.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, Self, get_args

from pydantic import TypeAdapter, ValidationError

from eval.types import ChatModel, Kind
from graph.models.calls import Completion
from graph.models.faults import UnknownModel
from graph.models.json_replies import StrictReply, UnusableReply, ask_for_json, quoted
from graph.state import TraceLine
from memory.dates.expressions import TimeExpression
from memory.errors import MemoirError
from memory.types import EPISODIC, SEMANTIC, Store, TimeSpan

# --- times

# The form has "D" where an example would have a date, which a small model copies, whatever the question.
INSTRUCTION = """\
From which day to which day happened what the question asks about? Count back from the day on which it is asked. If it
names no time, both days are null.

Reply with JSON only: {"first": D, "last": D}. A day D is written as YYYY-MM-DD."""

REPLY_TOKENS = 64


class DayRange(StrictReply):
    """The first and the last day of a time, as the model writes them."""

    first: str | None
    last: str | None


def read_time_range(
    question: str, asked_at: datetime, model: "ChatModel | None"
) -> tuple[tuple[TimeExpression, ...], TraceLine]:
    """Ask which time a question is about; none if the model names none, or what it replies is no range of days.

    The other result is the line of the trace that says so. Raises `UnknownModel` if no model is set, and `ModelFailed`
    if it does not answer.
    """
    if model is None:
        raise UnknownModel("times=model needs a chat model. Name one with --set model=NAME")
    replies: list[Completion] = []
    span, decided, is_unread = None, "no time", False
    try:
        asked = f"Question of {asked_at:%A, %Y-%m-%d}: {quoted(question)}\n\n{INSTRUCTION}"
        days = asyncio.run(ask_for_json(model, [("human", asked)], DayRange, replies, max_tokens=REPLY_TOKENS))
        if days.first is not None or days.last is not None:
            first, last = date.fromisoformat(days.first or ""), date.fromisoformat(days.last or "")
            end = datetime.combine(last, time(), UTC) + timedelta(days=1)
            span, decided = TimeSpan(datetime.combine(first, time(), UTC), end), f"{first} to {last}"
    except (UnusableReply, ValueError, OverflowError):
        decided, is_unread = "the reply names no range of days", True
    figures = {"tokens in": sum(r.tokens_in for r in replies), "tokens out": sum(r.tokens_out for r in replies)}
    line = TraceLine("times", decided, figures | {"fallback": is_unread})
    return ((TimeExpression("", 0, 0, span),) if span else ()), line


# --- kinds

KINDS: tuple[Kind, ...] = get_args(Kind)
"""The classes, in the order of the classifier's outputs."""

RECORD = "training.json"

BATCH = 32
MAX_TOKENS = 128
"""Tokens read of a question, with the instruction before it; the longest of PerLTQA's sample has 41."""


@dataclass(frozen=True, slots=True)
class Training:
    """What a classifier was trained from: the base model, the instruction before each question, and questions seen."""

    base: str
    instruction: str
    seen: frozenset[str]


_TRAINING = TypeAdapter(Training)


@dataclass(frozen=True, slots=True)
class TrainedKinds:
    """A trained classifier: a model and tokenizer of transformers, on the device that the model is on."""

    folder: Path
    model: Any
    tokenizer: Any
    training: Training

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Load a classifier that `save` wrote; raises `MemoirError` if the folder has none."""
        training = read_record(folder)
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
        from transformers.utils.logging import disable_progress_bar

        disable_progress_bar()  # type: ignore[no-untyped-call]
        try:
            model = AutoModelForSequenceClassification.from_pretrained(folder)
            return cls(folder, model.eval(), AutoTokenizer.from_pretrained(folder), training)
        except (OSError, ValueError) as fault:
            raise MemoirError(f"the classifier in {folder} cannot be loaded: {fault}. Train it again") from fault

    def save(self) -> None:
        """Write the classifier to its folder; the record last, so that half a classifier is none."""
        self.model.save_pretrained(self.folder)
        self.tokenizer.save_pretrained(self.folder)
        (self.folder / RECORD).write_bytes(_TRAINING.dump_json(self.training))

    def stores(self, question: str) -> dict[Store, float]:
        """P(store | question), equal for all stores of one kind; raises `MemoirError` for a question of training."""
        if question_digest(question) in self.training.seen:
            raise MemoirError(
                f"{self.folder} was trained with the question {question!r}. Ask the test questions of the files that "
                "it was trained on: set questions=test"
            )
        ((semantic, episodic),) = self.probabilities([question])
        of_facts = dict.fromkeys(SEMANTIC, semantic / len(SEMANTIC))
        return of_facts | dict.fromkeys(EPISODIC, episodic / len(EPISODIC))

    def probabilities(self, questions: Sequence[str]) -> list[tuple[float, float]]:
        """P(semantic) and P(episodic) of each question."""
        import torch

        found: list[tuple[float, float]] = []
        with torch.inference_mode():
            for start in range(0, len(questions), BATCH):
                scores = self.model(**self.tokens(questions[start : start + BATCH])).logits
                found += [(semantic, episodic) for semantic, episodic in scores.double().softmax(-1).tolist()]
        return found

    def tokens(self, questions: Sequence[str]) -> Any:  # noqa: ANN401  # tensors by name
        """The tokens of questions, each after the instruction if there is one, on the model's device."""
        instructions = [self.training.instruction] * len(questions)
        texts = (instructions, list(questions)) if self.training.instruction else (list(questions),)
        cut = {"truncation": True, "max_length": MAX_TOKENS}
        return self.tokenizer(*texts, padding=True, return_tensors="pt", **cut).to(self.model.device)


def read_record(folder: Path) -> Training:
    """Read how the classifier in a folder was trained; raises `MemoirError` if it holds none."""
    try:
        return _TRAINING.validate_json((folder / RECORD).read_bytes())
    except (OSError, ValidationError) as fault:
        raise MemoirError(
            f"{folder} holds no trained classifier ({RECORD} is missing or unreadable). Train one with "
            "`python -m eval train perltqa --base NAME --out FOLDER`"
        ) from fault


def question_digest(question: str) -> str:
    """What a record calls a question."""
    return sha256(question.strip().encode()).hexdigest()[:16]
