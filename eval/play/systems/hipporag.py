"""HippoRAG (Gutiérrez et al., NeurIPS 2024, arXiv:2405.14831): a graph of what turns name, walked from the question.

As in the paper: a chat model reads triples out of each turn; what they name are nodes, which triples join, and so does
a cosine above .8. The names in a question are linked to the nearest nodes; personalised PageRank from these, each
weighted by how few turns name it, gives the nodes their scores, and a turn has the sum of its nodes'. Without a chat
model, the nodes of a turn are its speaker, its content words and the facts that rules read; those of a sentence are
joined.
"""

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from eval.play.systems.built_in import Scores, Transcript
from eval.play.systems.contract import TEXTS, Chat, Session, Turn
from graph.learning.plain_facts import facts
from graph.understanding.sentences import split
from memory.embedding.embedder import Embedder
from memory.search.tokens import content_terms

SYNONYMS = 0.8
"""Least cosine of two nodes that are joined, as in the paper."""

RETURN, STEPS = 0.5, 30
"""Probability of going back to the question's nodes, as in the paper, and steps: what is left weighs less than 1e-9."""

ASKED = TEXTS["hipporag"]


class HippoRag(Transcript):
    """A graph of nodes, which each turn has in groups that are joined: triples, or sentences."""

    def __init__(self, folder: Path, embedder: Embedder, chat: Chat) -> None:
        super().__init__(folder, embedder, chat)
        self._groups: dict[str, list[list[str]]] = {}
        self._vectors: dict[str, np.ndarray] = {}

    def remember(self, session: Session) -> None:
        """Read the groups of each turn, and embed nodes that are new."""
        super().remember(session)
        groups = {turn.id: self._triples(turn) or _sentences(turn) for turn in session.turns}
        self._groups |= groups
        new = sorted({*chain(*chain(*groups.values()))} - self._vectors.keys())
        self._vectors |= zip(new, self.embedder.encode_document(new), strict=True)

    def index(self, turns: Sequence[Turn]) -> None:
        """Make the graph: which turns have which nodes, and the chance of a step from one node (column) to another."""
        from scipy.sparse import csr_array
        from sklearn.feature_extraction.text import CountVectorizer

        groups, nodes = [self._groups[turn.id] for turn in turns], CountVectorizer(analyzer=list, binary=True)
        self._has = csr_array(nodes.fit_transform(list(chain(*of_turn)) for of_turn in groups), dtype=float)
        self._near = np.stack([self._vectors[node] for node in nodes.get_feature_names_out()])
        joined = csr_array(nodes.transform(chain(*groups)), dtype=float)
        links = joined.T @ joined + csr_array(self._near @ self._near.T > SYNONYMS)
        links.setdiag(0)
        self._step = links.multiply(1 / np.maximum(links.sum(axis=0), 1)).tocsr()

    def scores(self, question: str) -> Scores:
        """The sum of the PageRank of each turn's nodes."""
        asked = self.chat.ask(ASKED["names"].format(question)).splitlines() or content_terms(question)
        named = [name for line in asked if (name := _plain(line))]
        linked = (self.embedder.encode_document(named) @ self._near.T).argmax(axis=1)
        rank = start = np.zeros(len(self._near))
        start[linked] = 1 / self._has.sum(axis=0)[linked]
        for _ in range(STEPS):
            rank = RETURN * start + (1 - RETURN) * (self._step @ rank)
        return np.asarray(self._has @ rank)

    def _triples(self, turn: Turn) -> list[list[str]]:
        """The subject and object of each triple that a chat model reads in a turn."""
        reply = self.chat.ask(ASKED["triples"].format(turn.line), max_tokens=500)
        lines = (line.split("|") for line in reply.splitlines())
        pairs = ([_plain(parts[0]), _plain(parts[2])] for parts in lines if len(parts) == 3)
        return [pair for pair in pairs if all(pair)]


def _sentences(turn: Turn) -> list[list[str]]:
    """The speaker and the content words of each sentence of a turn, and the two ends of each fact that rules read."""
    read = facts(turn.text, turn.speaker, turn.said_at) if turn.said_at else ()
    ends = [[_plain(fact.relation.head), _plain(fact.relation.tail)] for fact in read if fact.relation]
    speaker = [_plain(turn.speaker)] if turn.speaker else []
    return [*([*content_terms(sentence), *speaker] for sentence in split(turn.text) or [turn.text]), *ends]


def _plain(name: str) -> str:
    return name.strip(' \t-*."()').casefold()
