"""The models of a replay: embeddings that all runs and processes cache by model and text, classifiers, chat model."""

import json
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np

from eval.play.understanding import TrainedKinds
from eval.runs.experiment import Experiment
from eval.types import ChatModel
from graph.models.registry import chat_model_or_none
from graph.understanding.classifier import Classifier
from memory.embedding.embedder import ENCODING, Embedder, Encoder, Vectors

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
