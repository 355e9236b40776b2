"""The models of a replay: embeddings that all runs and processes cache, and what stands in for Memoir's understanding.

A chat model reads which time a question asks about (LongMemEval, Wu et al. 2025, section 5.4 and appendix D). The
classifier of questions, semantic or episodic, was trained on questions of a benchmark (PerLTQA, section 4.2). Its
folder holds a sequence classifier of transformers with its tokenizer, and a record of its training:

    {"base": "bert-base-chinese", "instruction": "", "seen": ["9f86d081884c7d65", ...]}

`seen` are digests of the questions that it was trained on or chosen by. It refuses to classify them: that would measure
what it remembers.
"""

import asyncio
import json
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, Self, get_args

import numpy as np
from pydantic import BaseModel, ValidationError

from eval.runs.experiment import Experiment
from eval.types import ChatModel, Kind
from graph.models.calls import Completion
from graph.models.faults import UnknownModel
from graph.models.json_replies import StrictReply, UnusableReply, ask_for_json, quoted
from graph.models.registry import chat_model_or_none
from graph.state import TraceLine
from graph.understanding.classifier import Classifier
from memory import read_table
from memory.dates.expressions import TimeExpression
from memory.embedding.embedder import ENCODING, Embedder, Encoder, Vectors
from memory.errors import MemoirError
from memory.types import EPISODIC, SEMANTIC, Store, TimeSpan

# --- embeddings

BUSY_SECONDS = 60.0


class CachedEmbedder(Embedder):
    """An embedder that looks texts up in a cache first and loads the model only when one is missing.

    `seconds` is the time spent encoding, `texts` the number of texts encoded, `cached` the number found in the cache.
    """

    def __init__(self, path: Path, inner: Embedder) -> None:
        super().__init__(inner.model)
        self.path = path
        self.inner = inner
        self.seconds = 0.0
        self.texts = 0
        self.cached = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(self._open()) as db:
            # SQLite does not wait here: of two processes that create the file, one is refused.
            with suppress(sqlite3.OperationalError):
                db.execute("PRAGMA journal_mode = WAL")
            db.execute(
                "CREATE TABLE IF NOT EXISTS embeddings (model TEXT NOT NULL, digest TEXT NOT NULL, "
                "vector BLOB NOT NULL, PRIMARY KEY (model, digest)) STRICT, WITHOUT ROWID"
            )

    def load(self) -> Encoder:
        """Load the model's weights, which cached texts do not need."""
        return self.inner.load()

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Embed texts; float32 of shape (len(texts), dimensions), every row of length 1."""
        if not texts:
            return self.inner.encode(texts)
        made_by, digests = f"{self.model} {ENCODING}", [sha256(text.encode()).hexdigest() for text in texts]
        select = "SELECT digest, vector FROM embeddings WHERE model = ? AND digest IN (SELECT value FROM json_each(?))"
        with closing(self._open()) as db:
            rows = db.execute(select, (made_by, json.dumps(digests)))
            known = {digest: np.frombuffer(blob, dtype=np.float32) for digest, blob in rows}
        missing = {d: t for d, t in zip(digests, texts, strict=True) if d not in known}
        self.cached += len(texts) - len(missing)
        if missing:
            self.load()  # once, so it is not counted as encoding
            started = time.perf_counter()
            known |= zip(missing, self.inner.encode(list(missing.values())), strict=True)
            self.seconds += time.perf_counter() - started
            self.texts += len(missing)
            with closing(self._open()) as db, db:
                new = ((made_by, digest, known[digest].tobytes()) for digest in missing)
                db.executemany("INSERT OR IGNORE INTO embeddings VALUES (?, ?, ?)", new)
        return np.stack([known[d] for d in digests])

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS)
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection


# --- times

INSTRUCTION: str = read_table(__file__)["times"]
REPLY_TOKENS = 64
MIDNIGHT = datetime.min.time()


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
            end = datetime.combine(last, MIDNIGHT, UTC) + timedelta(days=1)
            span, decided = TimeSpan(datetime.combine(first, MIDNIGHT, UTC), end), f"{first} to {last}"
    except (UnusableReply, ValueError, OverflowError):
        decided, is_unread = "the reply names no range of days", True
    line = TraceLine("times", decided, sum(replies, Completion("")).cost | {"fallback": is_unread})
    return ((TimeExpression("", 0, 0, span),) if span else ()), line


# --- kinds

KINDS: tuple[Kind, ...] = get_args(Kind)
"""The classes, in the order of the classifier's outputs."""

RECORD = "training.json"

BATCH = 32
MAX_TOKENS = 128
"""Tokens read of a question, with the instruction before it; the longest of PerLTQA's sample has 41."""


class Training(BaseModel, frozen=True):
    """What a classifier was trained from: the base model, the instruction before each question, and questions seen."""

    base: str
    instruction: str
    seen: frozenset[str]


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
        (self.folder / RECORD).write_text(self.training.model_dump_json(), "utf-8")

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
        return Training.model_validate_json((folder / RECORD).read_bytes())
    except (OSError, ValidationError) as fault:
        raise MemoirError(
            f"{folder} holds no trained classifier ({RECORD} is missing or unreadable). Train one with "
            "`python -m eval train perltqa --base NAME --out FOLDER`"
        ) from fault


def question_digest(question: str) -> str:
    """What a record calls a question."""
    return sha256(question.strip().encode()).hexdigest()[:16]


# --- all of them


@dataclass(frozen=True, slots=True)
class Models:
    """The models that a replay uses; `chat` is None where no chat model is set.

    `kinds` is the classifier that was trained on a benchmark, if one is set.
    """

    embedder: CachedEmbedder
    classifier: Classifier
    chat: "ChatModel | None" = None
    kinds: TrainedKinds | None = None


def load_models(experiment: Experiment, cache: Path, encoder: Embedder | None = None) -> Models:
    """Load the models of an experiment.

    `encoder` is used where it is given; otherwise the embedding model loads once a text is not in the cache.
    """
    embedder = CachedEmbedder(cache, encoder or Embedder(experiment.embedding_model))
    chat = chat_model_or_none(experiment.pipeline.model, experiment.pipeline.quantization)
    trained = experiment.trained_classifier
    kinds = TrainedKinds.load(Path(trained)) if trained else None
    return Models(embedder, Classifier.load(embedder.model), chat, kinds)
