"""RAPTOR (Sarthi et al., ICLR 2024, arXiv:2401.18059): clusters of turns, summarised up a tree that is searched flat.

As in the paper: clusters of a Gaussian mixture over reduced embeddings, of which a text may be in several; their number
has the least BIC; each is summarised and embedded, and the summaries are clustered again until few are left. A question
is compared with all texts of the tree at once (its "collapsed tree"). In LongMemEval's words, values are turns and keys
are summaries: a summary stands for its turns, the nearest first. Simpler than the paper: PCA instead of UMAP, variances
without correlations, a few numbers of clusters to choose from, and no second clustering within large ones. Without a
chat model, a summary is the sentences nearest to the centroid of TF-IDF.
"""

from collections.abc import Sequence

import numpy as np

from eval.play.systems.built_in import Dense
from eval.play.systems.contract import Chat, Turn
from graph.learning.summary import TermWeights, gist
from graph.understanding.sentences import split
from memory.embedding.embedder import Vectors

DIMENSIONS = 10
"""Of a reduced embedding; a layer of hardly more texts is not clustered. As in the authors' code."""

THRESHOLD = 0.1
"""Least probability with which a text is in a cluster, as in the paper."""

SIZES = (5, 10, 20)
"""Texts of a cluster on average."""

MOST_CHARACTERS, SUMMARY_TOKENS, SENTENCES = 14_000, 100, 4
"""Of what is summarised, about 3,500 tokens, and of a summary, as in the authors' code; and of one without a model."""

NEARNESS = 1e-4
"""The weight of a turn's own cosine, which orders the turns of one summary."""

SUMMARISE = "Write a summary of the following, including as many key details as possible:\n{}"


class Raptor(Dense):
    """A tree over the known turns, which is made anew when others are known."""

    def index(self, turns: Sequence[Turn]) -> None:
        """Make the tree: the vectors of its texts, and which turns (columns) each stands for."""
        super().index(turns)
        texts, vectors, holds = [turn.line for turn in turns], self.vectors, np.eye(len(turns), dtype=bool)
        layers, held = [vectors], [holds]
        while len(texts) > DIMENSIONS + 1:
            groups = clusters(vectors)
            texts = [summary(self.chat, [texts[n] for n in group], SUMMARISE) for group in groups]
            vectors, holds = self.embedder.encode_document(texts), np.stack([holds[g].any(axis=0) for g in groups])
            layers.append(vectors)
            held.append(holds)
        self._nodes: Vectors = np.concatenate(layers)
        self._holds = np.concatenate(held)

    def scores(self, question: str) -> Sequence[float]:
        """The cosine of the best text that stands for each turn: the turn itself, or a summary."""
        near = self._nodes @ self.embedder.encode_query([question])[0]
        best = np.where(self._holds, near[:, None], -1.0).max(axis=0)
        scores: list[float] = (best + NEARNESS * near[: len(self.known)]).tolist()
        return scores


def summary(chat: Chat, texts: Sequence[str], prompt: str) -> str:
    """A chat model's summary of texts, or else a few of their sentences."""
    if told := chat.ask(prompt.format("\n".join(texts)[:MOST_CHARACTERS]), SUMMARY_TOKENS):
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
