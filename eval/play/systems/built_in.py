"""The systems that come with Memoir: what any memory should be better than."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

import numpy as np

from eval.play.systems.contract import Found, Open, Session, Turn
from memory.embedding.embedder import Embedder


class Transcript:
    """Remembers every turn as it was said, and scores those known by a moment."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        self.embedder = embedder
        self.turns: list[Turn] = []

    def remember(self, session: Session) -> None:
        """Keep the turns of a session."""
        self.turns += session.turns

    def search(self, question: str, as_of: datetime, k: int) -> Sequence[Found]:
        """The k turns of the highest score; of equal ones the older."""
        places = [n for n, turn in enumerate(self.turns) if turn.said_at is None or turn.said_at <= as_of]
        scores = self.scores(question, places) if places else ()
        best = sorted(zip(scores, places, strict=True), key=lambda pair: (-pair[0], pair[1]))[:k]
        return [Found(self.turns[n].text, score, (self.turns[n].id,)) for score, n in best]

    def scores(self, question: str, places: Sequence[int]) -> Sequence[float]:
        """The score of the turn at each place."""
        raise NotImplementedError


class FullHistory(Transcript):
    """No search at all: the latest turns, as many as the reader takes (the papers' full history)."""

    def scores(self, question: str, places: Sequence[int]) -> Sequence[float]:
        """How late each was said, from 0 to 1."""
        return [n / len(self.turns) for n in places]


class Bm25(Transcript):
    """BM25 over words split at spaces, as in LongMemEval's script (rank-bm25's BM25Okapi), speakers among them."""

    _indexed: tuple[Sequence[int], object] = ((), None)

    def scores(self, question: str, places: Sequence[int]) -> Sequence[float]:
        """The BM25 score of each."""
        from rank_bm25 import BM25Okapi

        if self._indexed[0] != places:
            self._indexed = places, BM25Okapi([self.turns[n].line.split(" ") for n in places])
        index = self._indexed[1]
        assert isinstance(index, BM25Okapi)
        scores: list[float] = index.get_scores(question.split(" ")).tolist()
        return scores


class Dense(Transcript):
    """The cosine of the question and each turn with its speaker, by the encoder of the experiment."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        super().__init__(folder, embedder)
        self._vectors: list[np.ndarray] = []

    def remember(self, session: Session) -> None:
        """Keep the turns of a session with their vectors."""
        super().remember(session)
        self._vectors += list(self.embedder.encode_document([turn.line for turn in session.turns]))

    def scores(self, question: str, places: Sequence[int]) -> Sequence[float]:
        """The cosine of each."""
        scores: list[float] = (
            np.stack([self._vectors[n] for n in places]) @ self.embedder.encode_query([question])[0]
        ).tolist()
        return scores


class LangGraphStore:
    """LangGraph's own long-term store (`InMemoryStore`) with its index over the encoder of the experiment."""

    def __init__(self, folder: Path, embedder: Embedder) -> None:
        from langgraph.store.memory import InMemoryStore

        def embed(texts: Sequence[str]) -> list[list[float]]:
            vectors: list[list[float]] = embedder.encode(list(texts)).tolist()
            return vectors

        self._store = InMemoryStore(index={"dims": embedder.dimensions, "embed": embed, "fields": ["line"]})

    def remember(self, session: Session) -> None:
        """Put each turn into the store."""
        for turn in session.turns:
            self._store.put(("turns",), turn.id, {"text": turn.text, "line": turn.line})

    def search(self, question: str, as_of: datetime, k: int) -> Sequence[Found]:
        """What the store finds; it knows no time."""
        items = self._store.search(("turns",), query=question, limit=k)
        return [Found(item.value["text"], item.score or 0.0, (item.key,)) for item in items]


BUILT_IN: Mapping[str, Open] = {
    "full-history": FullHistory,
    "bm25": Bm25,
    "dense": Dense,
    "langgraph-store": LangGraphStore,
}
