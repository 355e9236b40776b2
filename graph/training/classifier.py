"""Train the classifier of `graph.understanding.classifier` on assets/models/questions.jsonl, or measure it on a
PerLTQA file.

    python -m graph.training.classifier                    cross-validate, report, write assets/models/classifier.npz
    python -m graph.training.classifier --evaluate FILE    semantic against episodic on a perltqa_en_v2.json

Every row of the training file was written for it by hand; none comes from a benchmark. Each is seen three times: as
written, as typed in haste (lower case, no punctuation) and with other names; all copies fall into the same fold.

On the PerLTQA sample (n = 202, always "episodic": .851) accuracy is .901 and log loss .24, against .934 and .16 by
cross-validation on our own rows. What is missed are mostly events and dialogues that ask like a profile, of a post or a
possession of somebody; without the benchmark's own questions nothing in the words tells them. The sample has been
looked at while the rows were written, so a fresh one is likely to score no higher. A prior corrected to the benchmark's
own share of episodic questions (85%) was tried and taken out: it cost every tenth question that a chat asks of facts.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedGroupKFold

from graph.training.questions import Question, copies, load_questions
from graph.understanding.classifier import HEADS, KINDS, QUESTIONS, WEIGHTS, Classifier, features, terms
from memory.embedding.embedder import Embedder, Vectors
from memory.settings import BankSettings
from memory.types import EPISODIC, SEMANTIC, STORES

FOLDS = 5
BLOCK = 20
"""Rows that stand together are of one theme or one form: as many fall into the same fold, or a question would be
judged by its neighbours.
"""
STRENGTHS = (1.0, 3.0, 10.0, 30.0)
"""Inverse regularisation tried for each head; the least cross-validated log loss wins."""
TOLERANCE = 1e-3
"""Of the gradient, ten times scikit-learn's own: cross-validation fits a hundred models."""
RAREST_TERM = 3
"""A term in fewer rows is dropped."""
TEMPERATURES = np.geomspace(0.25, 4.0, 65)
BINS = 10
RESAMPLES = 10_000

Labels = NDArray[np.int64]
Scores = NDArray[np.float64]
Matrix = csr_array


@dataclass(frozen=True, slots=True)
class Setting:
    """What cross-validation chose for one head: the strength C, and the temperature its scores are divided by."""

    strength: float
    temperature: float


def embed(questions: Sequence[Question], embedder: Embedder) -> Vectors:
    """Embed every copy of every question; shape (3n, d)."""
    return embedder.encode(copies(questions))


def targets(questions: Sequence[Question]) -> dict[str, Labels]:
    """The class number of every question for every head; -1 where the head learns nothing from it."""
    rows = {
        "stores": [-1 if row.store is None else STORES.index(row.store) for row in questions],
        "kind": [KINDS.index(row.kind) for row in questions],
        "many": [row.many for row in questions],
        "recall": [row.recall for row in questions],
        "state": [row.state for row in questions],
    }
    return {head: np.array(labels, dtype=np.int64) for head, labels in rows.items()}


def learn_vocabulary(questions: Sequence[Question]) -> dict[str, int]:
    """Number the terms that are not too rare, in alphabetical order; in haste a name would pass for a word."""
    counts = Counter(term for row in questions for term in terms(row.text))
    return {term: column for column, term in enumerate(sorted(t for t, n in counts.items() if n >= RAREST_TERM))}


def design(questions: Sequence[Question], vectors: Vectors, vocabulary: Mapping[str, int]) -> Matrix:
    """The features of every copy of every question, shape (3n, d + terms)."""
    pairs = zip(copies(questions), vectors, strict=True)
    return csr_array(np.stack([features(text, vector, vocabulary) for text, vector in pairs]))


def fit(matrix: Matrix, labels: Labels, chosen: Labels, strength: float) -> LogisticRegression:
    """Fit one head on all copies of the chosen questions, leaving out those without a label."""
    known = chosen[labels[chosen] >= 0]
    times = matrix.shape[0] // len(labels)
    rows = np.concatenate([known + copy * len(labels) for copy in range(times)])
    return LogisticRegression(C=strength, max_iter=5_000, tol=TOLERANCE).fit(
        matrix[rows], np.tile(labels[known], times)
    )


def held_out_scores(matrix: Matrix, labels: Labels, strength: float) -> Scores:
    """The scores of every labelled question as written, by the fold that did not see it; a binary s as (-s/2, s/2)."""
    known = np.flatnonzero(labels >= 0)
    scores = np.zeros((len(known), int(labels.max()) + 1))
    folds = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=0)
    for train, test in folds.split(known, labels[known], groups=known // BLOCK):
        found = fit(matrix, labels, known[train], strength).decision_function(matrix[known[test]])
        scores[test] = np.stack([-found / 2, found / 2], axis=1) if found.ndim == 1 else found
    return scores


def softmax(scores: Scores) -> Scores:
    """Probabilities along the last axis."""
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


def log_loss(probabilities: Scores, labels: Labels) -> float:
    """Mean negative log probability of the true class, in nats."""
    return float(-np.log(probabilities[np.arange(len(labels)), labels]).mean())


def calibration_error(probabilities: Scores, labels: Labels) -> float:
    """Expected calibration error of the likeliest class over ten bins of equal width (Guo et al. 2017)."""
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == labels
    bins = np.minimum((confidence * BINS).astype(int), BINS - 1)
    gaps = [abs(confidence[bins == b].mean() - right[bins == b].mean()) * (bins == b).mean() for b in np.unique(bins)]
    return float(np.sum(gaps))


def interval(right: NDArray[np.bool_]) -> tuple[float, float]:
    """The 95% percentile bootstrap interval of an accuracy."""
    draws = np.random.default_rng(0).binomial(len(right), right.mean(), RESAMPLES) / len(right)
    low, high = np.percentile(draws, [2.5, 97.5])
    return float(low), float(high)


def choose(matrix: Matrix, labels: Labels) -> tuple[Setting, Scores]:
    """The setting for one head, with the held-out scores it gives, calibrated."""
    known = labels[labels >= 0]
    tried = {strength: held_out_scores(matrix, labels, strength) for strength in STRENGTHS}
    strength = min(tried, key=lambda strength: log_loss(softmax(tried[strength]), known))
    temperature = min(TEMPERATURES, key=lambda degree: log_loss(softmax(tried[strength] / degree), known))
    return Setting(strength, float(temperature)), tried[strength] / temperature


def train(questions: Sequence[Question], vectors: Vectors, settings: Mapping[str, Setting], model: str) -> Classifier:
    """Fit every head on every question.

    Args:
        questions: The training rows.
        vectors: Their embeddings as `embed` gives them, shape (3n, d).
        settings: One for each head.
        model: The name of the embedding model.
    """
    vocabulary = learn_vocabulary(questions)
    matrix = design(questions, vectors, vocabulary)
    weights = np.zeros((max(rows.stop for rows in HEADS.values()), matrix.shape[1]))
    bias = np.zeros(len(weights))
    for head, labels in targets(questions).items():
        fitted = fit(matrix, labels, np.arange(len(labels)), settings[head].strength)
        weights[HEADS[head]] = fitted.coef_ / settings[head].temperature
        bias[HEADS[head]] = fitted.intercept_ / settings[head].temperature
    return Classifier(weights.astype(np.float32), bias.astype(np.float32), vocabulary, model)


def save(classifier: Classifier, settings: Mapping[str, Setting], data_hash: str, path: Path = WEIGHTS) -> None:
    """Write the weights in half precision, with the settings and the hash of the data that gave them."""
    np.savez_compressed(
        path,
        weights=classifier.weights.astype(np.float16),
        bias=classifier.bias,
        vocabulary=np.array("\n".join(classifier.vocabulary)),
        model=np.array(classifier.model),
        settings=np.array([[settings[head].strength, settings[head].temperature] for head in HEADS]),
        data_sha256=np.array(data_hash),
    )


def load_settings(path: Path = WEIGHTS) -> dict[str, Setting]:
    """The settings that gave the weights in a file."""
    with np.load(path, allow_pickle=False) as arrays:
        return {head: Setting(*map(float, row)) for head, row in zip(HEADS, arrays["settings"], strict=True)}


def hash_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def is_episodic(probabilities: Scores) -> NDArray[np.bool_]:
    """Whether event and dialogue together outweigh the semantic stores, for rows of store probabilities."""
    return np.asarray(probabilities[..., len(SEMANTIC) :].sum(axis=-1) > 0.5)


def sides_of(probabilities: Scores) -> Scores:
    """P(semantic) and P(episodic), shape (n, 2), from rows of store probabilities."""
    episodic = probabilities[:, len(SEMANTIC) :].sum(axis=1)
    return np.asarray(np.clip(np.stack([1 - episodic, episodic], axis=1), 1e-9, 1))


def retrain() -> None:
    """Cross-validate, print the report and write the weights."""
    questions, embedder = load_questions(), Embedder(BankSettings().embedding_model)
    vectors = embed(questions, embedder)
    matrix = design(questions, vectors, learn_vocabulary(questions))
    settings: dict[str, Setting] = {}
    print(f"{len(questions)} rows, {FOLDS}-fold cross-validation on the rows as written")
    print(f"{'head':8}{'n':>6}{'C':>6}{'T':>6}{'accuracy':>10}  {'95% interval':14}{'log loss':>9}{'ECE':>7}")
    for head, labels in targets(questions).items():
        settings[head], scores = choose(matrix, labels)
        probabilities, known = softmax(scores), labels[labels >= 0]
        print(
            f"{head:8}{len(known):6}{settings[head].strength:6g}{settings[head].temperature:6.2f}"
            f"{_accuracy(probabilities.argmax(axis=1) == known)}"
            f"{log_loss(probabilities, known):9.3f}{calibration_error(probabilities, known):7.3f}"
        )
        if head == "stores":
            _report_sides(probabilities, known)
    save(train(questions, vectors, settings, embedder.model), settings, hash_of(QUESTIONS))
    print(f"wrote {WEIGHTS} ({WEIGHTS.stat().st_size / 1000:.0f} kB)")


def _report_sides(probabilities: Scores, labels: Labels) -> None:
    episodic = labels >= len(SEMANTIC)
    sides, right = sides_of(probabilities), is_episodic(probabilities) == episodic
    print(
        f"  {'semantic or episodic':24}{_accuracy(right)}"
        f"{log_loss(sides, episodic.astype(int)):9.3f}{calibration_error(sides, episodic.astype(int)):7.3f}"
        f"  semantic found {right[~episodic].mean():.3f}, episodic {right[episodic].mean():.3f}"
    )


def load_perltqa(path: Path) -> list[tuple[str, str]]:
    """The questions of a PerLTQA file (Du et al. 2024), each with its section: profile, ..., dialogues.

    `profile` is a flat list of items; the other sections are lists of {memory id: [item, ...]}.
    """
    found = []
    for character in json.loads(path.read_text(encoding="utf-8")):
        for sections in character.values():
            found += [(item["Question"], name) for name, section in sections.items() for item in _items(section)]
    return found


def _items(section: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if section and "Question" in section[0]:
        return section
    return [item for group in section for items in group.values() for item in items]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Semantic against episodic on PerLTQA: P of both and the true one, and the store given to each section's."""

    sides: Scores
    labels: Labels
    confusion: Mapping[str, Counter[str]]

    @property
    def right(self) -> NDArray[np.bool_]:
        """Which questions were right."""
        return np.asarray(self.sides.argmax(axis=1) == self.labels)

    @property
    def accuracy(self) -> float:
        """The share that is right."""
        return float(self.right.mean())


def evaluate(path: Path, classifier: Classifier, embedder: Embedder) -> Evaluation:
    """Classify every question of a PerLTQA file; its profile and social_relationship sections are semantic."""
    questions = load_perltqa(path)
    vectors = embedder.encode([text for text, _ in questions])
    rows = []
    confusion: dict[str, Counter[str]] = {}
    for (text, section), vector in zip(questions, vectors, strict=True):
        stores = classifier.classify(text, vector).stores
        rows.append([stores[store] for store in STORES])
        confusion.setdefault(section, Counter())[max(STORES, key=lambda store: stores[store])] += 1
    episodic = np.array([section in ("events", "dialogues") for _, section in questions], dtype=np.int64)
    return Evaluation(sides_of(np.array(rows)), episodic, confusion)


def report(evaluation: Evaluation) -> None:
    """Print an evaluation."""
    sides, labels = evaluation.sides, evaluation.labels
    share = float(labels.mean())
    print(f"semantic or episodic: n = {len(labels)}, accuracy{_accuracy(evaluation.right)}", end="")
    print(f", always the commoner {max(share, 1 - share):.3f}")
    print(f"log loss {log_loss(sides, labels):.3f}, calibration error {calibration_error(sides, labels):.3f}")
    print(f"{'section':22}" + "".join(f"{store:>14}" for store in (*SEMANTIC, *EPISODIC)))
    for section, counts in evaluation.confusion.items():
        print(f"{section:22}" + "".join(f"{counts[store]:14}" for store in (*SEMANTIC, *EPISODIC)))


def _accuracy(right: NDArray[np.bool_]) -> str:
    low, high = interval(right)
    return f"{right.mean():10.3f}  [{low:.3f}, {high:.3f}]"


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m graph.training.classifier", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--evaluate", type=Path, metavar="FILE", help="measure on this perltqa_en_v2.json, train nothing"
    )
    path = parser.parse_args().evaluate
    if path is None:
        retrain()
    else:
        model = BankSettings().embedding_model
        report(evaluate(path, Classifier.load(embedding_model=model), Embedder(model)))


if __name__ == "__main__":
    main()
