"""Systems that search summaries: RAPTOR's tree of clusters, and LD-Agent's sessions with their topics.

A summary stands for its turns, the nearest first, since the shared reader reads these. Without a chat model, it is the
sentences nearest to the centroid of TF-IDF.
"""

from collections.abc import Sequence
from datetime import timedelta

import numpy as np

from eval.play.systems.built_in import Dense, Scores
from eval.play.systems.contract import TEXTS, Chat, Turn
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
        names = [self.session_of[turn.id] for turn in turns]
        sessions: dict[str, list[Turn]] = {name: [] for name in names}
        for name, turn in zip(names, turns, strict=True):
            sessions[name].append(turn)
        places = {name: place for place, name in enumerate(sessions)}
        self._place = [places[name] for name in names]
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


def _summary(chat: Chat, texts: Sequence[str], system: str) -> str:
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
