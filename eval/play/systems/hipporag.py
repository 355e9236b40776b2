"""HippoRAG (Gutiérrez et al., NeurIPS 2024, arXiv:2405.14831): a graph of what turns name, walked from the question.

As in the paper: a chat model reads triples out of each turn; what they name are nodes, which triples join, and so does
a cosine above .8. The names in a question are linked to the nearest nodes; personalised PageRank from these, each
weighted by how few turns name it, gives the nodes their scores, and a turn has the sum of its nodes'. Without a chat
model, the nodes of a turn are its speaker, its content words and the facts that rules read; those of a sentence are
joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path

import numpy as np

from eval.play.systems.built_in import Transcript
from eval.play.systems.contract import Chat, Session, Turn
from graph.learning.plain_facts import facts
from graph.understanding.sentences import split
from memory.embedding.embedder import Embedder
from memory.search.tokens import content_terms

SYNONYMS = 0.8
"""Least cosine of two nodes that are joined, as in the paper."""

RETURN = 0.5
"""Probability of going back to the question's nodes at each step, as in the paper."""

STEPS = 30
"""Steps of PageRank: what is left after them weighs less than 1e-9."""

TRIPLES = """Construct an RDF graph from the passage. Write one triple in each line: subject | relation | object. Each
should contain a named entity of the passage, and names instead of pronouns.

Passage: {}"""
NAMES = """Extract all named entities that are important for solving the question, one in each line.

Question: {}"""

Group = tuple[str, ...]
"""Nodes that are joined with each other: in a triple, or without a model in a sentence."""


class HippoRag(Transcript):
    """A graph of nodes, of which each turn has some."""

    def __init__(self, folder: Path, embedder: Embedder, chat: Chat) -> None:
        super().__init__(folder, embedder, chat)
        self._groups: dict[str, list[Group]] = {}
        self._vectors: dict[str, np.ndarray] = {}

    def remember(self, session: Session) -> None:
        """Read the groups of each turn, and embed nodes that are new."""
        super().remember(session)
        for turn in session.turns:
            self._groups[turn.id] = self._triples(turn) or groups(turn)
        read = (node for turn in session.turns for group in self._groups[turn.id] for node in group)
        new = [node for node in dict.fromkeys(read) if node not in self._vectors]
        self._vectors |= zip(new, self.embedder.encode_document(new), strict=True)

    def index(self, turns: Sequence[Turn]) -> None:
        """Make the graph: which turns have which nodes, and the chance of a step from one node (column) to another."""
        from scipy.sparse import csr_array
        from sklearn.feature_extraction.text import CountVectorizer

        of_turns = [self._groups[turn.id] for turn in turns]
        nodes = CountVectorizer(analyzer=list, binary=True)
        self._has = csr_array(nodes.fit_transform(list(chain(*groups)) for groups in of_turns), dtype=float)
        self._near = np.stack([self._vectors[node] for node in nodes.get_feature_names_out()])
        joined = csr_array(nodes.transform(chain(*of_turns)), dtype=float)
        links = joined.T @ joined + csr_array(self._near @ self._near.T > SYNONYMS)
        links.setdiag(0)
        self._step = links.multiply(1 / np.maximum(links.sum(axis=0), 1)).tocsr()

    def scores(self, question: str) -> Sequence[float]:
        """The sum of the PageRank of each turn's nodes."""
        asked = self.chat.ask(NAMES.format(question)).splitlines() or content_terms(question)
        named = [name for line in asked if (name := _plain(line))]
        linked = (self.embedder.encode_document(named) @ self._near.T).argmax(axis=1)
        start = np.zeros(len(self._near))
        start[linked] = 1 / self._has.sum(axis=0)[linked]
        rank = start
        for _ in range(STEPS):
            rank = RETURN * start + (1 - RETURN) * (self._step @ rank)
        scores: list[float] = (self._has @ rank).tolist()
        return scores

    def _triples(self, turn: Turn) -> list[Group]:
        """The subject and object of each triple that a chat model reads in a turn."""
        lines = (line.split("|") for line in self.chat.ask(TRIPLES.format(turn.line), 500).splitlines())
        pairs = [(_plain(parts[0]), _plain(parts[2])) for parts in lines if len(parts) == 3]
        return [pair for pair in pairs if all(pair)]


def groups(turn: Turn) -> list[Group]:
    """The speaker and the content words of each sentence of a turn, and the two ends of each fact that rules read."""
    read = facts(turn.text, turn.speaker, turn.said_at) if turn.said_at else ()
    ends = [(_plain(fact.relation.head), _plain(fact.relation.tail)) for fact in read if fact.relation]
    speaker = [_plain(turn.speaker)] if turn.speaker else []
    return [*((*content_terms(sentence), *speaker) for sentence in split(turn.text) or [turn.text]), *ends]


def _plain(name: str) -> str:
    return name.strip(' \t-*."()').casefold()
