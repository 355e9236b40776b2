"""Train the reader that tells what is on at a day which a line names (`graph.readers.agenda`).

    python -m graph.training.agenda [--seed N] [--out FILE] [--report]    three minutes; writes assets/models

It goes on from the reader of lines on all-MiniLM-L6-v2. A row of `agenda.jsonl` is `{"chat", "line", "time", "day",
"plan"}`: a line of a chat, words of it for a day ahead, that day, and the words that say what is on then, or null. The
rows of chats that are held out are not learned from.
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.metrics import roc_auc_score

from graph.readers import agenda
from graph.readers.agenda import IS_ON, WHAT_IS_ON
from graph.readers.line_reader import LineReader, weights_of
from graph.training.network import descend, run
from graph.training.reader import batches, loss_of, network_on, new_weights, rows_of
from graph.training.reader_data import Chat, Example, lines_of, load_chats, questions_with_lines, typed_otherwise
from memory.embedding import minilm
from memory.embedding.bert import Array

RATE, EPOCHS = 1e-4, 4
"""Highest learning rate; passes over all rows."""


def examples_of(chat: Chat, rows: Sequence[Mapping[str, Any]]) -> Iterator[list[Example]]:
    """The rows about a chat as examples, each with a line that tells of another day, if there is one."""
    lines = lines_of(chat)
    for row in rows:
        line, chance = lines[row["line"]], random.Random(f"{row['line']} {row['time']} {chat['id']}")
        assert line.said_on is not None
        days_ahead = (date.fromisoformat(row["day"]) - line.said_on).days
        asked_on = line.said_on + timedelta(days=chance.randint(0, max(0, days_ahead)))
        at, span = line.text.find(row["time"]), None
        if row["plan"] is not None:
            places = [found.start() for found in re.finditer(re.escape(row["plan"]), line.text)]
            start = min(places, key=lambda place: abs(place - at))
            span = start, start + len(row["plan"])
        others = [other["line"] for other in rows if other["line"] != row["line"] and other["day"] != row["day"]]
        named = [(line, span), *((lines[n], None) for n in chance.sample(others, min(1, len(others))))]
        yield [Example(WHAT_IS_ON.format(row["time"]), asked_on, each, answer) for each, answer in named]


def train(chats: Sequence[Chat], seed: int) -> dict[str, Array]:
    """Train on the rows about some chats."""
    torch.manual_seed(seed)
    chance, model, rows = random.Random(seed), network_on(minilm.NAME), questions_with_lines("agenda.jsonl")
    model.go_on(weights_of(minilm.NAME))
    model.freeze()
    days = [group for chat in chats for group in examples_of(chat, rows[chat["id"]])]
    passes = [rows_of([typed_otherwise(day, chance) for day in days], model.parts) for _ in range(EPOCHS)]
    descend(model, [batch for groups in passes for batch in batches(groups, chance)], partial(loss_of, model), RATE)
    return new_weights(model)


def report(chats: Sequence[Chat], reader: LineReader, least: float) -> str:
    """What the reader says of the rows about some chats, where nothing less likely is told."""
    rows = questions_with_lines("agenda.jsonl")
    days = [group[0] for chat in chats for group in examples_of(chat, rows[chat["id"]])]
    found = [reader.read(day.question, day.asked_on, [day.line])[0] for day in days]
    sure, is_on = np.array([one.answers for one in found]), np.array([day.answer is not None for day in days])
    right = np.mean([one.span == day.answer for one, day in zip(found, days, strict=True) if day.answer])
    told = [f"{(sure[which] >= least).mean():.3f} of {which.sum()}" for which in (is_on, ~is_on)]
    area = roc_auc_score(is_on, sure)
    return f"from {least}: {told[0]} plans told, {told[1]} others; AUC {area:.3f}; words of plans right {right:.3f}"


def main() -> None:
    """Train, write the weights and print figures; what chooses `IS_ON` is one half of the chats held out."""
    chats, others = load_chats()

    def print_figures(weights: Path) -> None:
        reader = LineReader(minilm.NAME, weights)
        for least in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
            print("to choose by,", report(others[::2], reader, least))
        print("held out,", report(others[1::2], reader, IS_ON))

    run("graph.training.agenda", __doc__, agenda.WEIGHTS, lambda seed, _: train(chats, seed), print_figures)


if __name__ == "__main__":
    main()
