"""Train the recognisers of `graph.understanding.intents` on the phrases of `graph.replies.phrases`.

    python -m graph.training.intents    train, report on the phrases held out, write assets/models

The classifier's messages and the lines of everyday chats are further examples without an intent, although a few
of the lines have one; all without one weigh as much as all with one.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from graph.replies import phrases
from graph.training.classifier import in_haste, load_questions
from graph.understanding import intents
from graph.understanding.classifier import QUESTIONS, features, terms
from graph.understanding.intents import NONE, Recogniser
from memory.embedding.embedder import Embedder

CHATS = QUESTIONS.with_name("reader_pairs.jsonl")
STRENGTH = 10.0
"""Inverse regularisation strength; by cross-validation on the examples 100 is no better."""
MIN_ROWS_OF_TERM = 2
"""A term in fewer rows is dropped."""

Rows = dict[str, str]
"""Intents by text."""


def rows(table: Mapping[str, phrases.Intent], part: str) -> Rows:
    """The texts of "examples" or "held_out", as written and as typed in haste."""
    written = {text: name for name, intent in table.items() for text in getattr(intent, part)}
    hasty = {in_haste(text): name for text, name in written.items()}
    if part == "held_out":
        return hasty | written
    others = [row.text for row in load_questions() if row.kind != "smalltalk"]
    others += [
        line["text"] for chat in map(json.loads, CHATS.read_text("utf-8").splitlines()) for line in chat["lines"]
    ]
    return dict.fromkeys(others, NONE) | hasty | written


def train(examples: Rows, embedder: Embedder) -> Recogniser:
    """Fit a recogniser."""
    texts, names = list(examples), list(examples.values())
    counts = Counter(term for text in texts for term in terms(text))
    vocabulary = {term: n for n, term in enumerate(sorted(t for t, c in counts.items() if c >= MIN_ROWS_OF_TERM))}
    matrix = design(texts, embedder, vocabulary)
    balance = dict.fromkeys(names, 1.0) | {NONE: sum(name != NONE for name in names) / names.count(NONE)}
    fitted = LogisticRegression(C=STRENGTH, max_iter=2_000, class_weight=balance, tol=1e-3).fit(matrix, names)
    weights, bias = fitted.coef_, fitted.intercept_
    if len(weights) == 1:  # of two classes scikit-learn keeps the difference
        weights, bias = np.concatenate([-weights, weights]) / 2, np.concatenate([-bias, bias]) / 2
    longest = max(len(text.split()) for text, name in examples.items() if name != NONE)
    weights = weights.astype(np.float16).astype(np.float32)
    return Recogniser(weights, bias.astype(np.float32), vocabulary, tuple(fitted.classes_), longest)


def design(texts: Sequence[str], embedder: Embedder, vocabulary: Mapping[str, int]) -> np.ndarray:
    """The features of texts, shape (n, d + terms)."""
    pairs = zip(texts, embedder.encode(texts), strict=True)
    return np.stack([features(text, vector, vocabulary) for text, vector in pairs])


def report(model: Recogniser, held_out: Rows, embedder: Embedder) -> None:
    """Print how many of the phrases held out are recognised."""
    pairs = zip(held_out, embedder.encode(list(held_out)), strict=True)
    ours = {text: model.recognise(text, vector)[0] or NONE for text, vector in pairs}
    with_intent = [text for text, name in held_out.items() if name != NONE]
    without = [text for text, name in held_out.items() if name == NONE]
    for what, texts in (("with an intent, recognised", with_intent), ("without, left alone", without)):
        print(f"  held out {what}: {sum(ours[t] == held_out[t] for t in texts)} of {len(texts)}")


def save(model: Recogniser, path: Path) -> None:
    """Write the weights in half precision."""
    np.savez_compressed(
        path,
        weights=model.weights.astype(np.float16),
        bias=model.bias,
        vocabulary=np.array("\n".join(model.vocabulary)),
        intents=np.array("\n".join(model.intents)),
        longest=np.array(model.longest),
    )


def main() -> None:
    """Train both recognisers, print their reports and write the weights."""
    argparse.ArgumentParser(prog="python -m graph.training.intents", description=__doc__.splitlines()[0]).parse_args()
    embedder = Embedder()
    for table, path in ((phrases.SMALL_TALK, intents.SMALL_TALK), (phrases.NEWS, intents.LOSSES)):
        examples = rows(table, "examples")
        model = train(examples, embedder)
        print(f"{path.stem}: {len(examples)} rows, {len(set(examples.values())) - 1} intents")
        report(model, rows(table, "held_out"), embedder)
        save(model, path)
        print(f"  wrote {path} ({path.stat().st_size / 1000:.0f} kB)")


if __name__ == "__main__":
    main()
