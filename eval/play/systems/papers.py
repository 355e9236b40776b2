"""Systems as papers describe them: RAPTOR, LD-Agent, HippoRAG and MemWalker.

A summary of RAPTOR's or LD-Agent's stands for its turns, the nearest first, since the shared reader reads these.
Without a chat model, it is the sentences nearest to the centroid of TF-IDF.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain, groupby

import numpy as np

from eval.play.systems.built_in import Dense, Scores, Transcript
from eval.play.systems.contract import TEXTS, MeteredChat, Session, Turn
from graph.learning.facts import facts
from graph.learning.summary import TermWeights, gist
from graph.understanding.sentences import split
from memory.embedding.embedder import Vectors
from memory.search.tokens import content_terms

DIMENSIONS = 10
"""Of a reduced embedding; a layer of hardly more texts is not clustered. As in RAPTOR's code."""

THRESHOLD = 0.1
"""Least probability with which a text is in a cluster, as in RAPTOR's paper."""

SIZES = (5, 10, 20)
"""Texts of a cluster on average."""

MOST_CHARACTERS, SUMMARY_TOKENS, SENTENCES = 14_000, 100, 4
"""Of what is summarised, about 3,500 tokens, and of a summary, as in RAPTOR's code; and of one without a model."""

NEARNESS = 1e-4
"""The weight of a turn's own cosine, which orders the turns of one summary."""

FADING = timedelta(seconds=1e7)
"""In which a score falls to 1/e, as in LD-Agent's paper."""

SYNONYMS = 0.8
"""Least cosine of two nodes that are joined, as in HippoRAG's paper."""

RETURN, STEPS = 0.5, 30
"""Probability of going back to the question's nodes, as in the paper, and steps: what is left weighs less than 1e-9."""

SEGMENT_CHARACTERS = 4_000
"""Of a segment of MemWalker's, about 1,000 tokens as in the paper, and of a text that is summarised."""

FAN_OUT = 8
"""Summaries that are summarised together, the most in the paper."""

_ACTION = re.compile(r"Action:\s*(-?\d+)", re.IGNORECASE)
_ANSWER = re.compile(r"Action:\s*-2.*?Answer:\s*(.+)", re.IGNORECASE | re.DOTALL)


class Raptor(Dense):
    """RAPTOR (Sarthi et al., ICLR 2024, arXiv:2401.18059): clusters of turns, summarised up a tree searched flat.

    As in the paper: clusters of a Gaussian mixture over reduced embeddings, of which a text may be in several; their
    number has the least BIC; each is summarised and embedded, and the summaries are clustered again until few are left.
    A question is compared with all texts of the tree at once (its "collapsed tree"). In LongMemEval's words, values are
    turns and keys are summaries. Simpler than the paper: PCA instead of UMAP, variances without correlations, a few
    numbers of clusters to choose from, and no second clustering within large ones. The tree is over the known turns,
    and is made anew when others are known.
    """

    def index(self, turns: Sequence[Turn]) -> None:
        """Make the tree: the vectors of its texts, and which turns (columns) each stands for."""
        super().index(turns)
        texts, vectors, holds = [turn.line for turn in turns], self.vectors, np.eye(len(turns), dtype=bool)
        layers, held = [vectors], [holds]
        while len(texts) > DIMENSIONS + 1:
            groups = clusters(vectors)
            texts = [_summary(self.chat, [texts[n] for n in group], "raptor") for group in groups]
            vectors, holds = self.embedder.encode_document(texts), np.stack([holds[g].any(axis=0) for g in groups])
            layers.append(vectors)
            held.append(holds)
        self._nodes: Vectors = np.concatenate(layers)
        self._holds = np.concatenate(held)

    def scores(self, question: str) -> Scores:
        """The cosine of the best text that stands for each turn: the turn itself, or a summary."""
        near = self._nodes @ self.embedder.encode_query([question])[0]
        best = np.where(self._holds, near[:, None], -1.0).max(axis=0)
        return np.asarray(best + NEARNESS * near[: len(self.known)])


class LdAgent(Dense):
    """LD-Agent (Li et al., NAACL 2025, arXiv:2406.05925): summaries of sessions, found by meaning, topics and age.

    As in the paper: a session is summarised, and its nouns are its topics. A question is extended with its own: the
    score of a session is the cosine of question and summary plus the overlap of their topics, and fades with time.
    Simpler than the paper: content words instead of a tagger's nouns, no least cosine, and no personas, which serve the
    reply. The summaries are of what is known of each session, and are made anew when other turns are known.
    """

    def index(self, turns: Sequence[Turn]) -> None:
        """Summarise sessions, and see how much of each has faded; what has no time does not fade."""
        super().index(turns)
        sessions: dict[str, list[Turn]] = {}
        for turn in turns:
            sessions.setdefault(self.session_of[turn.id], []).append(turn)
        places = {name: place for place, name in enumerate(sessions)}
        self._place = [places[self.session_of[turn.id]] for turn in turns]
        texts = [[turn.line for turn in session] for session in sessions.values()]
        self._summaries = self.embedder.encode_document([_summary(self.chat, each, "ld-agent") for each in texts])
        self._topics = [set(content_terms(" ".join(each))) for each in texts]
        ends = [session[-1].said_at for session in sessions.values()]
        latest = max((end for end in ends if end), default=None)
        # The time from the latest session to the question is the same for all.
        self._kept = np.exp([(end - latest) / FADING if end and latest else 0.0 for end in ends])

    def scores(self, question: str) -> Scores:
        """The score of the session of each turn; the turn's own cosine orders those of one session."""
        asked, vector = set(content_terms(question)), self.embedder.encode_query([question])[0]
        shared = [(len(asked & topics), len(topics)) for topics in self._topics]
        overlap = [(n / len(asked) + n / of) / 2 if n else 0.0 for n, of in shared]
        of_session = self._kept * (self._summaries @ vector + overlap)
        return np.asarray(of_session[self._place] + NEARNESS * (self.vectors @ vector))


def _summary(chat: MeteredChat, texts: Sequence[str], system: str) -> str:
    """A chat model's summary of texts, as a system asks for it, or else a few of their sentences."""
    prompt = TEXTS[system]["summarise"].format("\n".join(texts)[:MOST_CHARACTERS])
    if told := chat.ask(prompt, SUMMARY_TOKENS):
        return told
    sentences = [sentence for text in texts for sentence in split(text)]
    return gist(sentences, SENTENCES, TermWeights.of(sentences))


def clusters(vectors: Vectors) -> list[np.ndarray]:
    """Groups of the rows of vectors, as their places; a row may be in several."""
    from sklearn.decomposition import PCA
    from sklearn.mixture import GaussianMixture

    reduced = PCA(DIMENSIONS, random_state=0).fit_transform(vectors.astype(np.float64))
    numbers = sorted({max(1, len(vectors) // size) for size in SIZES})
    fits = [GaussianMixture(n, covariance_type="diag", random_state=0).fit(reduced) for n in numbers]
    best = min(fits, key=lambda fit: fit.bic(reduced))
    member = best.predict_proba(reduced) > THRESHOLD
    return [np.flatnonzero(column) for column in member.T if column.any()]


@dataclass
class HippoRag(Transcript):
    """HippoRAG (Gutiérrez et al., NeurIPS 2024, arXiv:2405.14831): a graph of what turns name, and a walk over it.

    As in the paper: a chat model reads triples out of each turn; what they name are nodes, which triples join, and so
    does a cosine above .8. The names in a question are linked to the nearest nodes; personalised PageRank from these,
    each weighted by how few turns name it, gives the nodes their scores, and a turn has the sum of its nodes'. Without
    a chat model, the nodes of a turn are its speaker, its content words and the facts that rules read; those of a
    sentence are joined. A turn has its nodes in groups that are joined: triples, or sentences.
    """

    _groups: dict[str, list[list[str]]] = field(default_factory=dict)
    _vectors: dict[str, np.ndarray] = field(default_factory=dict)

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
        asked = self.chat.ask(TEXTS["hipporag"]["names"].format(question)).splitlines() or content_terms(question)
        named = [name for line in asked if (name := _plain(line))]
        linked = (self.embedder.encode_document(named) @ self._near.T).argmax(axis=1)
        rank = start = np.zeros(len(self._near))
        start[linked] = 1 / self._has.sum(axis=0)[linked]
        for _ in range(STEPS):
            rank = RETURN * start + (1 - RETURN) * (self._step @ rank)
        return np.asarray(self._has @ rank)

    def _triples(self, turn: Turn) -> list[list[str]]:
        """The subject and object of each triple that a chat model reads in a turn."""
        reply = self.chat.ask(TEXTS["hipporag"]["triples"].format(turn.line), max_tokens=500)
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


@dataclass(frozen=True, slots=True)
class Node:
    """A summary of a text: that of the turns at some places, or the summaries of the nodes below."""

    text: str
    summary: str
    turns: Sequence[int] = ()
    below: "Sequence[Node]" = ()


class MemWalker(Transcript):
    """MemWalker (Chen et al. 2023, arXiv:2310.05029): a tree of summaries, which a chat model walks to find the answer.

    As in the paper: segments of the text are summarised, groups of summaries again, up to a root. Asked a question, the
    model is shown the summaries below where it stands and says into which to go, or back; at a segment it answers from
    it and what it saw on its way, or goes back. What it read is found, the segment that it answers from first. The tree
    is over the known turns, and is made anew when others are known; equal parts are not summarised again.
    """

    def index(self, turns: Sequence[Turn]) -> None:
        """Summarise segments, and their summaries, up to the root."""
        segment_of = np.cumsum([len(turn.line) for turn in turns]) // SEGMENT_CHARACTERS
        segments = [list(places) for _, places in groupby(range(len(turns)), key=lambda n: int(segment_of[n]))]
        layer = [self._node([turns[n].line for n in places], places) for places in segments]
        while len(layer) > 1:
            parts = [layer[n : n + FAN_OUT] for n in range(0, len(layer), FAN_OUT)]
            layer = [self._node([node.summary for node in part], below=part) for part in parts]
        self._root = layer[0]

    def _node(self, texts: Sequence[str], turns: Sequence[int] = (), below: Sequence[Node] = ()) -> Node:
        text = "\n".join(texts)[:SEGMENT_CHARACTERS]
        return Node(text, self.chat.ask(TEXTS["memwalker"]["summarise"].format(text)), turns, below)

    def scores(self, question: str) -> Scores:
        """How late on the walk each turn was read."""
        read: list[Node] = []
        self._walk(self._root, question, read)
        step_of = {place: step for step, node in enumerate(read) for place in node.turns}
        return np.array([step_of.get(place, -math.inf) for place in range(len(self.known))])

    def answer(self, question: str, as_of: datetime) -> str | None:
        """What the model answers at the end of its walk."""
        return self._walk(self._root, question, []) if self.know(as_of) else ""

    def _walk(self, node: Node, question: str, read: list[Node], memory: str = "") -> str:
        """The answer that is found below a node; empty if there is none. Adds the segments that are read."""
        if node.turns:
            read.append(node)
            prompt = TEXTS["memwalker"]["read"].format(memory=memory, text=node.text, question=question)
            answer = _ANSWER.search(self.chat.ask(prompt))
            return answer[1].strip() if answer else ""
        below, answer_below = list(node.below), ""
        while below and not answer_below:
            passages = "\n".join(f"Summary {n}: {each.summary}" for n, each in enumerate(below))
            prompt = TEXTS["memwalker"]["choose"].format(passages=passages, question=question)
            action = _ACTION.search(self.chat.ask(prompt))
            if action is None or not 0 <= int(action[1]) < len(below):
                break
            answer_below = self._walk(below.pop(int(action[1])), question, read, f"{memory}{node.summary}\n")
        return answer_below
