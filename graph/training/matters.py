"""Train the recogniser of `graph.understanding.classifier`: what always matters, such as allergies, illness, losses.

    python -m graph.training.matters    train for MEMOIR_EMBEDDING_MODEL, report on what is held out, write

Learned from `matters.jsonl`; every tenth row is held out.
"""

from collections.abc import Sequence

import numpy as np
from sklearn.linear_model import LogisticRegression

from graph.training.classifier import design, in_haste, learn_vocabulary, save
from graph.understanding.classifier import MattersClassifier, read_rows, weights_path
from memory.embedding.embedder import Embedder, Vectors
from memory.settings import BankSettings

STRENGTH = 3.0
"""Inverse regularisation strength."""
MIN_ROWS_OF_TERM = 2
"""A term in fewer rows is dropped."""


def sentences(*, held_out: bool) -> dict[str, bool]:
    """Sentences, as written and as typed in haste, and whether they matter whatever is talked about."""
    kept = [row for n, row in enumerate(read_rows("matters.jsonl")) if (n % 10 == 0) == held_out]
    written = {row["text"]: bool(row["matters"]) for row in kept}
    return {in_haste(text): matters for text, matters in written.items()} | written


def train(texts: Sequence[str], matters: Sequence[bool], vectors: Vectors) -> MattersClassifier:
    """Fit the recogniser; all texts that matter weigh as much as all others."""
    vocabulary = learn_vocabulary(texts, MIN_ROWS_OF_TERM)
    model = LogisticRegression(C=STRENGTH, max_iter=2_000, tol=1e-3, class_weight="balanced")
    fitted = model.fit(design(texts, vectors, vocabulary), np.array(matters))
    return MattersClassifier(
        fitted.coef_[0].astype(np.float16).astype(np.float32), float(fitted.intercept_[0]), vocabulary
    )


def main() -> None:
    """Train the recogniser, print its report and write the weights in half precision."""
    embedder = Embedder(BankSettings().embedding_model)
    examples, tested = sentences(held_out=False), sentences(held_out=True)
    model = train(list(examples), list(examples.values()), embedder.encode_document(list(examples)))
    found = [
        model.probability(*pair) > 0.5 for pair in zip(tested, embedder.encode_document(list(tested)), strict=True)
    ]
    for wanted, what in ((True, "that matters, recognised"), (False, "that does not, left alone")):
        right = [got == wanted for got, told in zip(found, tested.values(), strict=True) if told == wanted]
        print(f"held out {what}: {sum(right)} of {len(right)}")
    save(model, weights_path(embedder.model, "matters"))


if __name__ == "__main__":
    main()
