"""Train the recognisers of `graph.understanding.intents`: what asks, and what always matters.

    python -m graph.training.intents [NAME ...]    train for MEMOIR_EMBEDDING_MODEL, report on what is held out, write

What asks is learned from the questions about the chats, and their lines; what always matters (allergies, illness,
losses) from `matters.jsonl`, every tenth row held out.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression

from graph.training.classifier import design, in_haste, learn_vocabulary, load_questions
from graph.training.reader_data import OF_SEVERAL_LINES, by_chat, load_chats
from graph.understanding import intents
from graph.understanding.classifier import MODELS, weights_path
from graph.understanding.intents import ALWAYS, ASKS, NONE, Recogniser
from graph.understanding.sentences import split
from memory.embedding.embedder import Embedder, Vectors
from memory.settings import BankSettings

STRENGTH, STRENGTH_OF_MATTERS = 10.0, 3.0
"""Inverse regularisation strengths; by cross-validation on the examples 100 is no better."""
MIN_ROWS_OF_TERM = 2
"""A term in fewer rows is dropped."""

Rows = dict[str, str]
"""Intents by text."""
Encode = Callable[[Sequence[str]], Vectors]


def questions(part: str) -> Rows:
    """Questions without their mark and statements, of the chats to train on ("examples") or of those "held_out"."""
    examples: Rows = {}
    several = by_chat(OF_SEVERAL_LINES)
    for chat in load_chats()[part == "held_out"]:
        sentences = [sentence for line in chat["lines"] for sentence in split(line["text"])]
        examples |= {text: NONE for text in sentences if not text.endswith("?")}
        examples |= {pair["q"].rstrip("? "): ASKS for pair in [*chat["pairs"], *several[chat["id"]]]}
    if part == "examples":
        examples |= {row.text.rstrip("? "): ASKS if row.kind == "question" else NONE for row in load_questions()}
    return {in_haste(text): name for text, name in examples.items()} | examples


def matters(part: str) -> Rows:
    """Sentences that matter whatever is talked about, and others, as written and as typed in haste."""
    lines = (MODELS / "matters.jsonl").read_text("utf-8").splitlines()
    kept = [json.loads(line) for n, line in enumerate(lines) if (n % 10 == 0) == (part == "held_out")]
    written = {row["text"]: ALWAYS if row["matters"] else NONE for row in kept}
    return {in_haste(text): name for text, name in written.items()} | written


def train(examples: Rows, encode: Encode, strength: float = STRENGTH) -> Recogniser:
    """Fit a recogniser, in which all texts without an intent weigh as much as all with one."""
    texts, names = list(examples), list(examples.values())
    vocabulary = learn_vocabulary(texts, max(MIN_ROWS_OF_TERM, len(texts) // 5_000))
    matrix = design(texts, encode(texts), vocabulary)
    is_none = np.array([name == NONE for name in names])
    weight = np.where(is_none, (~is_none).sum() / is_none.sum(), 1.0)
    fitted = LogisticRegression(C=strength, max_iter=2_000, tol=1e-3).fit(matrix, names, sample_weight=weight)
    weights, bias = fitted.coef_, fitted.intercept_
    if len(weights) == 1:  # of two classes scikit-learn keeps the difference
        weights, bias = np.concatenate([-weights, weights]) / 2, np.concatenate([-bias, bias]) / 2
    longest = max(len(text.split()) for text, name in examples.items() if name != NONE)
    weights = weights.astype(np.float16).astype(np.float32)
    return Recogniser(weights, bias.astype(np.float32), vocabulary, tuple(fitted.classes_), longest)


def report(model: Recogniser, held_out: Rows, encode: Encode) -> None:
    """Print how many of the phrases held out are recognised."""
    pairs = zip(held_out, encode(list(held_out)), strict=True)
    ours = {text: model.recognise(text, vector)[0] or NONE for text, vector in pairs}
    with_intent = [text for text, name in held_out.items() if name != NONE]
    without = [text for text, name in held_out.items() if name == NONE]
    for what, texts in (("with an intent, recognised", with_intent), ("without, left alone", without)):
        print(f"  held out {what}: {sum(ours[t] == held_out[t] for t in texts)} of {len(texts)}")


def save(model: Recogniser, path: Path) -> None:
    """Write the weights in half precision."""
    path.parent.mkdir(exist_ok=True)
    np.savez_compressed(
        path,
        weights=model.weights.astype(np.float16),
        bias=model.bias,
        vocabulary=np.array("\n".join(model.vocabulary)),
        intents=np.array("\n".join(model.intents)),
        longest=np.array(model.longest),
    )


def main() -> None:
    """Train the recognisers, print their reports and write the weights."""
    parser = argparse.ArgumentParser(prog="python -m graph.training.intents", description=__doc__.splitlines()[0])
    parser.add_argument("name", nargs="*", help="train these files of weights only, such as matters")
    wanted = parser.parse_args().name
    embedder = Embedder(BankSettings().embedding_model)
    sources: dict[str, tuple[Callable[[str], Rows], Callable[[Rows, Encode], Recogniser]]] = {
        intents.QUESTIONS: (questions, train),
        intents.MATTERS: (matters, partial(train, strength=STRENGTH_OF_MATTERS)),
    }
    for name, (source, fit) in sources.items():
        if wanted and name not in wanted:
            continue
        # A message is looked up as a question; what always matters is sought in lines.
        encode = embedder.encode_document if name == intents.MATTERS else embedder.encode_query
        examples, path = source("examples"), weights_path(embedder.model, name)
        model = fit(examples, encode)
        print(f"{name}: {len(examples)} rows, {len(set(examples.values())) - 1} intents")
        report(model, source("held_out"), encode)
        save(model, path)
        print(f"  wrote {path} ({path.stat().st_size / 1000:.0f} kB)")


if __name__ == "__main__":
    main()
