"""Train the recognisers of `graph.understanding.classifier`: what always matters, asks on, or asks for several things.

    python -m graph.training.recognisers matters       for MEMOIR_EMBEDDING_MODEL, from matters.jsonl
    python -m graph.training.recognisers lists         for it, too, from the questions about the chats
    python -m graph.training.recognisers follow_ups    by words alone, from the questions about the chats

Each reports on what is held out: every tenth row, or every tenth chat.
"""

import argparse
import random
from collections.abc import Sequence
from itertools import chain

import numpy as np
from sklearn.linear_model import LogisticRegression

from graph.training.acts import messages
from graph.training.classifier import design, in_haste, learn_vocabulary, load_questions, save
from graph.training.reader_data import OF_SEVERAL_LINES, PLAIN, load_chats, questions_with_lines
from graph.understanding.acts import ASKING
from graph.understanding.classifier import Recogniser, read_rows, weights_path
from memory.embedding import e5
from memory.embedding.embedder import Embedder, Vectors
from memory.settings import BankSettings

STRENGTH = {"matters": 3.0, "follow_ups": 10.0, "lists": 10.0}
"""Inverse regularisation strength."""
MIN_ROWS_OF_TERM = 2
"""A term in fewer rows is dropped."""
OTHERS = 4
"""At most so many other questions, and messages that ask nothing, for each that goes on from another or asks for
several."""


def sentences(*, held_out: bool) -> dict[str, bool]:
    """Sentences, as written and as typed in haste, and whether they matter whatever is talked about."""
    kept = [row for n, row in enumerate(read_rows("matters.jsonl")) if (n % 10 == 0) == held_out]
    written = {row["text"]: bool(row["matters"]) for row in kept}
    return {in_haste(text): matters for text, matters in written.items()} | written


def questions(*, held_out: bool) -> dict[str, bool]:
    """Questions and messages that ask nothing, as written and in haste, and whether they ask on from another."""
    of_chat, chats = questions_with_lines(PLAIN, OF_SEVERAL_LINES), load_chats()[held_out]
    asked = [row for chat in chats for row in of_chat[chat["id"]]]
    following = [row["q"] for row in asked if "before" in row]
    alone = [row["q"] for row in asked if "before" not in row]
    told = [text for text, act in messages(held_out=held_out).items() if act not in ASKING]
    chance, most = random.Random(0), OTHERS * len(following)
    chosen = [text for others in (alone, told) for text in chance.sample(others, min(most, len(others)))]
    return {each: text in following for text in chain(chosen, following) for each in (in_haste(text), text)}


def lists(*, held_out: bool) -> dict[str, bool]:
    """Questions and other messages, as written and in haste, and whether they ask for a list or a count."""
    of_chat, chats = questions_with_lines(PLAIN, OF_SEVERAL_LINES), load_chats()[held_out]
    asked = {row["q"]: row["kind"] in ("list", "count") for chat in chats for row in of_chat[chat["id"]]}
    several, others = ([text for text, many in asked.items() if many == wanted] for wanted in (True, False))
    kept = random.Random(0).sample(others, min(OTHERS * len(several), len(others)))
    written = {row.text: row.many for row in load_questions(e5.NAME) if not held_out}
    written |= dict.fromkeys(several, True) | dict.fromkeys(kept, False)
    return {in_haste(text): many for text, many in written.items()} | written


def train(name: str, texts: Sequence[str], recognised: Sequence[bool], vectors: Vectors) -> Recogniser:
    """Fit a recogniser; the sentences that matter weigh as much as all others, follow-ups are as rare as in chats."""
    vocabulary, weight = learn_vocabulary(texts, MIN_ROWS_OF_TERM), "balanced" if name == "matters" else None
    model = LogisticRegression(C=STRENGTH[name], max_iter=2_000, tol=1e-3, class_weight=weight)
    fitted = model.fit(design(texts, vectors, vocabulary), np.array(recognised))
    return Recogniser(fitted.coef_[0].astype(np.float16).astype(np.float32), float(fitted.intercept_[0]), vocabulary)


def main() -> None:
    """Train a recogniser, print its report and write the weights in half precision."""
    parser = argparse.ArgumentParser(prog="python -m graph.training.recognisers", description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=STRENGTH, help="what is recognised")
    name = parser.parse_args().name
    embedder = Embedder(BankSettings().embedding_model) if name != "follow_ups" else None
    read = {"matters": sentences, "follow_ups": questions, "lists": lists}[name]
    examples, tested = read(held_out=False), read(held_out=True)

    def vectors(texts: Sequence[str]) -> Vectors:
        if embedder is None:
            return np.empty((len(texts), 0), np.float32)
        return embedder.encode_query(texts) if name == "lists" else embedder.encode_document(texts)

    model = train(name, list(examples), list(examples.values()), vectors(list(examples)))
    found = [model.probability(*pair) > 0.5 for pair in zip(tested, vectors(list(tested)), strict=True)]
    for wanted, what in ((True, "to be recognised, recognised"), (False, "of the others, left alone")):
        right = [got == wanted for got, told in zip(found, tested.values(), strict=True) if told == wanted]
        print(f"held out {what}: {sum(right)} of {len(right)}")
    save(model, weights_path(embedder.model if embedder else "", name))


if __name__ == "__main__":
    main()
