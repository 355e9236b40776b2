"""Systems that ask no model or can do without: what any memory should be better than, updated facts, and mem0's."""

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eval.play.session_rewriter import is_of_self
from eval.play.systems.contract import TEXTS, Found, MeteredChat, Session, Turn
from graph.learning.facts import facts_and_ends
from graph.understanding.sentences import split
from memory.embedding.embedder import Embedder, Vectors

Scores = NDArray[np.floating]

SHOWN, CHARACTERS, TOKENS = 20, 14_000, 500
"""Known facts that a model which updates them is shown, and the most of a session that it is shown and of its reply."""

_FACT = re.compile(r"^\W*(\d+)\s*\|\s*([^|]*\w[^|]*?)\s*(?:\|\D*(\d*).*)?$", re.MULTILINE)


@dataclass
class Transcript:
    """Remembers every turn as it was said, and scores those known by a moment."""

    folder: Path
    embedder: Embedder
    chat: MeteredChat
    turns: list[Turn] = field(default_factory=list)
    session_of: dict[str, str] = field(default_factory=dict)
    known: list[Turn] = field(default_factory=list)

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


@dataclass
class Dense(Transcript):
    """The cosine of the question and each turn with its speaker, by the encoder of the experiment."""

    _encoded: dict[str, np.ndarray] = field(default_factory=dict)

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

    def __init__(self, folder: Path, embedder: Embedder, chat: MeteredChat) -> None:
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


@dataclass
class UpdatedFacts(Dense):
    """Facts that are updated, as ChatGPT's and Coze's memories keep them: LongMemEval's table 2 says no more of these.

    After each session, a chat model is shown the facts that are known and nearest to it, and writes the new ones, each
    with the turn that tells it and the fact that it replaces, if any. Questions are compared with the facts that hold.
    Without a chat model, the sentences in which people speak of themselves are the facts, in plain words where rules
    read them; one replaces what it says anew or ends ("I live in Oslo now"). A fact is a turn whose id is that of the
    turn that tells it and a number.
    """

    _replaced_by: dict[str, str] = field(default_factory=dict)
    _about: dict[str, set[object]] = field(default_factory=dict)

    def remember(self, session: Session) -> None:
        """Add the facts of a session."""
        read = self._by_model(session) if self.chat.model else self._by_rules(session)
        super().remember(replace(session, turns=tuple(read)))

    def scores(self, question: str) -> Scores:
        """The cosine of each fact that is not replaced by a known one."""
        known = {fact.id for fact in self.known}
        is_replaced = [self._replaced_by.get(fact.id) in known for fact in self.known]
        return np.where(is_replaced, -math.inf, super().scores(question))

    def search(self, question: str, as_of: datetime, k: int) -> Sequence[Found]:
        """The k facts of the highest score, each with the turn that tells it."""
        return [replace(one, turns=(one.turns[0].rpartition(" ")[0],)) for one in super().search(question, as_of, k)]

    def _by_model(self, session: Session) -> Iterator[Turn]:
        talk = "\n".join(f"{n}. {turn.line}" for n, turn in enumerate(session.turns))[:CHARACTERS]
        known = super().search(talk, session.started_at or datetime.max.replace(tzinfo=UTC), SHOWN)
        listed = "\n".join(f"{n}. {fact.text}" for n, fact in enumerate(known))
        prompt = TEXTS["updated-facts"]["update"].format(known=listed or "none", session=talk)
        read = _FACT.findall(self.chat.ask(prompt, TOKENS))
        for n, (turn, text, replaced) in enumerate(read):
            if int(turn) < len(session.turns):  # a small model makes numbers up
                told = session.turns[int(turn)]
                fact = replace(told, id=f"{told.id} {n}", text=text)
                self._replaced_by |= {f.turns[0]: fact.id for f in known[int(replaced or len(known)) :][:1]}
                yield fact

    def _by_rules(self, session: Session) -> Iterator[Turn]:
        sentences = ((turn, sentence) for turn in session.turns for sentence in split(turn.text))
        for n, (turn, sentence) in enumerate(sentences):
            stated = facts_and_ends(sentence, turn.speaker, turn.said_at) if turn.said_at else []
            ended = {fact.memory.text for fact in stated if fact.ends}
            read = [fact.memory for fact in stated if not fact.ends]
            plain = [fact.text for fact in read]
            if plain or ended or is_of_self(sentence):
                fact = replace(turn, id=f"{turn.id} {n}", text=". ".join(plain) or sentence)
                one = {(f.relation.head, f.attribute) for f in read if f.relation and f.attribute}
                about: set[object] = {*plain, *ended, *one}
                self._replaced_by |= {old: fact.id for old, of in self._about.items() if of & about}
                self._about = {old: of for old, of in self._about.items() if not of & about} | {fact.id: about - ended}
                yield fact


class Mem0:
    """mem0 (Chhikara et al. 2025, arXiv:2504.19413), from the package mem0ai, with the encoder of the experiment.

    Its vectors are in a Qdrant file in the memory's folder, and its telemetry is off. Without a chat model, turns are
    stored as they are (`infer=False`). With one, mem0 keeps the facts that the model reads in a session; these have no
    turn, and are matched to turns by their words. mem0 asks this object for vectors and replies.
    """

    def __init__(self, folder: Path, embedder: Embedder, chat: MeteredChat) -> None:
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder)}  # read when the package is imported
        from mem0 import Memory

        self.embedder, self.chat = embedder, chat
        store = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": embedder.dimensions}
        unused = {"provider": "openai", "config": {"api_key": "of no server"}}
        vectors = {"provider": "qdrant", "config": store}
        config = {"vector_store": vectors, "history_db_path": str(folder / "log.db"), "embedder": unused, "llm": unused}
        self._memory: Any = Memory.from_config(config)
        self._memory.embedding_model = self._memory.llm = self

    def embed(self, text: str, memory_action: str) -> list[float]:
        """The vector of a text."""
        return self.embed_batch([text], memory_action)[0]

    def embed_batch(self, texts: Sequence[str], memory_action: str) -> list[list[float]]:
        """The vectors of texts."""
        encode = self.embedder.encode_query if memory_action == "search" else self.embedder.encode_document
        vectors: list[list[float]] = encode(texts).tolist()
        return vectors

    def generate_response(self, messages: Sequence[Mapping[str, str]], **how: object) -> str:
        """The chat model's reply."""
        return self.chat.ask("\n\n".join(message["content"] for message in messages), max_tokens=2000)

    def remember(self, session: Session) -> None:
        """Add each turn, or the facts of the session."""
        infer = self.chat.model is not None
        messages = [{"role": "user", "content": turn.line} for turn in session.turns]
        added = [(messages, "", session.started_at)] if infer else []
        added = added or [([m], t.id, t.said_at) for m, t in zip(messages, session.turns, strict=True)]
        for texts, turn, said_at in added:
            about = {"turn": turn, "said_at": said_at.timestamp() if said_at else 0.0}
            self._memory.add(texts, user_id="user", metadata=about, infer=infer)

    def search(self, question: str, as_of: datetime, k: int) -> Sequence[Found]:
        """What mem0 finds of what was said by then, however unlike the question."""
        known = {"user_id": "user", "said_at": {"lte": as_of.timestamp()}}
        results = self._memory.search(question, top_k=k, filters=known, threshold=0.0)["results"]
        return [Found(one["memory"], one["score"], tuple(filter(None, [one["metadata"]["turn"]]))) for one in results]
