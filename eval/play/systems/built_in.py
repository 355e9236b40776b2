"""The systems that come with Memoir and ask no model: what any memory should be better than."""

import math
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.play.systems.contract import Chat, Found, Session, Turn
from memory.embedding.embedder import Embedder, Vectors

Scores = NDArray[np.floating]


class Transcript:
    """Remembers every turn as it was said, and scores those known by a moment."""

    def __init__(self, folder: Path, embedder: Embedder, chat: Chat) -> None:
        self.embedder, self.chat = embedder, chat
        self.turns: list[Turn] = []
        self.session_of: dict[str, str] = {}
        self.known: list[Turn] = []

    def remember(self, session: Session) -> None:
        """Keep the turns of a session."""
        self.turns += session.turns
        self.session_of |= dict.fromkeys((turn.id for turn in session.turns), session.id)

    def know(self, as_of: datetime) -> Sequence[Turn]:
        """What was said by a moment; nothing else is known until the next question."""
        known = [turn for turn in self.turns if turn.said_at is None or turn.said_at <= as_of]
        if known and known != self.known:
            self.index(known)
        self.known = known
        return known

    def index(self, turns: Sequence[Turn]) -> None:
        """Prepare to score these turns."""

    def search(self, question: str, as_of: datetime, k: int) -> Sequence[Found]:
        """The k turns of the highest score; of equal ones the older."""
        known = self.know(as_of)
        scores = self.scores(question) if known else np.zeros(0)
        best = (n for n in np.argsort(-scores, stable=True)[:k].tolist() if scores[n] > -math.inf)
        return [Found(known[n].text, float(scores[n]), (known[n].id,)) for n in best]

    def scores(self, question: str) -> Scores:
        """The score of each known turn; minus infinity for one that is not found."""
        raise NotImplementedError


class FullHistory(Transcript):
    """No search at all: the latest turns, as many as the reader takes (the papers' full history)."""

    def scores(self, question: str) -> Scores:
        """How late each was said, from 0 to 1."""
        return np.arange(len(self.known)) / len(self.known)


class Bm25(Transcript):
    """BM25 over words split at spaces, as in LongMemEval's script (rank-bm25's BM25Okapi), speakers among them."""

    def index(self, turns: Sequence[Turn]) -> None:
        """Count their words."""
        from rank_bm25 import BM25Okapi

        self._index = BM25Okapi([turn.line.split(" ") for turn in turns])

    def scores(self, question: str) -> Scores:
        """The BM25 score of each."""
        return np.asarray(self._index.get_scores(question.split(" ")))


class Dense(Transcript):
    """The cosine of the question and each turn with its speaker, by the encoder of the experiment."""

    def __init__(self, folder: Path, embedder: Embedder, chat: Chat) -> None:
        super().__init__(folder, embedder, chat)
        self._encoded: dict[str, np.ndarray] = {}

    def remember(self, session: Session) -> None:
        """Keep the turns of a session with their vectors."""
        super().remember(session)
        lines = [turn.line for turn in session.turns]
        self._encoded |= zip((turn.id for turn in session.turns), self.embedder.encode_document(lines), strict=True)

    def index(self, turns: Sequence[Turn]) -> None:
        """Stack their vectors."""
        self.vectors: Vectors = np.stack([self._encoded[turn.id] for turn in turns])

    def scores(self, question: str) -> Scores:
        """The cosine of each."""
        return np.asarray(self.vectors @ self.embedder.encode_query([question])[0])


class LangGraphStore:
    """LangGraph's own long-term store (`InMemoryStore`) with its index over the encoder of the experiment."""

    def __init__(self, folder: Path, embedder: Embedder, chat: Chat) -> None:
        from langgraph.store.memory import InMemoryStore

        def embed(texts: Sequence[str]) -> Any:  # noqa: ANN401  # numpy's lists have no type
            return embedder.encode(list(texts)).tolist()

        self._store = InMemoryStore(index={"dims": embedder.dimensions, "embed": embed, "fields": ["line"]})

    def remember(self, session: Session) -> None:
        """Put each turn into the store."""
        for turn in session.turns:
            self._store.put(("turns",), turn.id, {"text": turn.text, "line": turn.line})

    def search(self, question: str, as_of: datetime, k: int) -> Sequence[Found]:
        """What the store finds; it knows no time."""
        items = self._store.search(("turns",), query=question, limit=k)
        return [Found(item.value["text"], item.score or 0.0, (item.key,)) for item in items]
