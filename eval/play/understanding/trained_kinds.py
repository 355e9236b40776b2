"""A classifier of questions, semantic or episodic, that was trained on questions of a benchmark (PerLTQA, section 4.2).

Its folder holds a sequence classifier of transformers with its tokenizer, and a record of its training:

    {"base": "bert-base-chinese", "instruction": "", "seen": ["9f86d081884c7d65", ...]}

`seen` are digests of the questions that it was trained on or chosen by. It refuses to classify them: that would measure
what it remembers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Self, get_args

from pydantic import TypeAdapter, ValidationError

from eval.types import Kind
from memory.errors import MemoirError
from memory.types import EPISODIC, SEMANTIC, Store

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
        if digest(question) in self.training.seen:
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


def digest(question: str) -> str:
    """What a record calls a question."""
    return sha256(question.strip().encode()).hexdigest()[:16]
