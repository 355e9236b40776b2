"""Train multilingual-e5-small further, on the questions of our own chats and the lines that answer them.

    python -m graph.training.encoder [--seed N] [--out FILE]    half an hour; prints figures, writes memory/embedding

The upper layers learn to put a question nearer to a line that answers it than to the other lines of a step, among them
one of the chat's nearest that does not answer (multiple negatives ranking loss). Afterwards the means of the scripts,
the classifier and the recogniser of what matters have to be made again: `centre`, `classifier`, `matters`.
"""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn

from graph.training.network import Network, descend, run
from graph.training.reader_data import PLAIN, Chat, load_chats, questions_with_lines
from memory.embedding import e5
from memory.embedding.bert import Array
from memory.embedding.networks import Parts, SentenceEncoder

TRAINED = 4
"""Layers that are trained, from the top."""

CHATS = 300
"""Chats that are trained on; their questions are more than the steps take."""

STEPS, BATCH, RATE = 200, 32, 5e-5
TEMPERATURE = 0.02
"""Divides cosines in the loss."""

MAX_TOKENS = 64
NEAREST = 4
"""The line that does not answer is one of so many nearest."""

SEED = 1

Row = tuple[str, str, str]
"""A question, a line that answers it, and one that does not."""


def vectors_of(model: Network, texts: Sequence[str]) -> torch.Tensor:
    """Unit vectors, (texts, 384)."""
    tokens = [ids[:MAX_TOKENS] for ids in model.parts.ids(texts)]
    return nn.functional.normalize(model.mean(tokens), dim=1)


def asked_of(chat: Chat, plain: Sequence[Chat]) -> Iterator[tuple[str, list[int]]]:
    """The questions of a chat, each with the numbers of the lines that answer it."""
    known = {line["n"] for line in chat["lines"]}
    for pair in chat["pairs"]:
        if pair["answer"] is not None:
            yield pair["q"], [pair["line"]]
    for pair in plain:
        if lines := [line["n"] for line in pair["lines"] if line["role"] == "evidence" and line["n"] in known]:
            yield pair["q"], lines


def ranked(chat: Chat, plain: Sequence[Chat], encoder: SentenceEncoder) -> Iterator[tuple[str, list[int], list[int]]]:
    """The questions of a chat, the lines that answer each, and all lines, the nearest first."""
    if not (asked := list(asked_of(chat, plain))):
        return
    texts = [encoder.document_prompt + line["text"] for line in chat["lines"]]
    lines = SentenceEncoder.encode(encoder, texts)
    questions = SentenceEncoder.encode(encoder, [encoder.query_prompt + question for question, _ in asked])
    for (question, answering), nearness in zip(asked, questions @ lines.T, strict=True):
        yield question, answering, [chat["lines"][place]["n"] for place in np.argsort(-nearness)]


def rows_of(chats: Sequence[Chat], encoder: SentenceEncoder, chance: random.Random) -> list[Row]:
    """The rows to train on, in a random order."""
    plain, rows = questions_with_lines(PLAIN), []
    for chat in chance.sample(chats, min(CHATS, len(chats))):
        text = {line["n"]: line["text"] for line in chat["lines"]}
        for question, answering, nearest in ranked(chat, plain[chat["id"]], encoder):
            if near := [number for number in nearest if number not in answering][:NEAREST]:
                rows.append((question, text[chance.choice(answering)], text[chance.choice(near)]))
    chance.shuffle(rows)
    return rows


def train(rows: Sequence[Row], parts: Parts, seed: int) -> dict[str, Array]:
    """Train; returns the weights of the layers that were trained."""
    torch.manual_seed(seed)
    model = Network(parts, {}, dropout=0.05)
    model.freeze(len(model.bert.encoder.layer) - TRAINED)
    batches = [[rows[place % len(rows)] for place in range(n * BATCH, (n + 1) * BATCH)] for n in range(STEPS)]

    def loss_of(batch: Sequence[Row]) -> torch.Tensor:
        questions, right, wrong = zip(*batch, strict=True)
        asked = [e5.E5.query_prompt + text for text in questions]
        vectors = vectors_of(model, asked + [e5.E5.document_prompt + text for text in (*right, *wrong)])
        scores = vectors[:BATCH] @ vectors[BATCH:].T / TEMPERATURE
        return nn.functional.cross_entropy(scores, torch.arange(BATCH))

    descend(model, batches, loss_of, RATE)
    return {name: w.detach().numpy() for name, w in model.bert.named_parameters() if w.requires_grad}


def right_first(chats: Sequence[Chat], encoder: SentenceEncoder) -> tuple[float, int]:
    """For how many questions of chats the nearest line answers, and how many there are."""
    plain = questions_with_lines(PLAIN)
    found = [near[0] in right for chat in chats for _, right, near in ranked(chat, plain[chat["id"]], encoder)]
    return float(np.mean(found)), len(found)


def main() -> None:
    """Train, write the weights and print figures."""
    chats, held_out = load_chats()

    def train_on_chats(seed: int, _: Path | None) -> dict[str, Array]:
        return train(rows_of(chats, e5.E5(trained=None), random.Random(seed)), e5.packaged(), seed)

    def report(weights: Path) -> None:
        for name, trained in (("as it is", None), ("trained", weights)):
            share, n = right_first(held_out, e5.E5(trained))
            print(f"{name}: of the questions of chats held out, {share:.3f} have a line first that answers (n = {n})")

    run("graph.training.encoder", __doc__, e5.TRAINED, train_on_chats, report, SEED)


if __name__ == "__main__":
    main()
