"""Train the reader of `graph.learning.correction_reader`: which line a message puts right, and which words of it.

    python -m graph.training.corrections [--seed N] [--mean FILE] [--out FILE]    some minutes; writes assets/models
    python -m graph.training.corrections --report    the figures of the weights that are there

It goes on from the reader of lines on all-MiniLM-L6-v2. A row of `corrections.jsonl` is `{"lines", "message", "which",
"wrong", "right"}`: what somebody said, and then says; it puts right the line `which`, or none (-1). In our chats, a
line or a question puts right none of those before it. Rows that are "held_out" are not learned from.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from graph.learning import correction_reader
from graph.learning.correction_reader import HEADS, SURE, Tokens, read, tokens_of
from graph.readers.line_reader import weights_of as reader_of
from graph.training.acts import messages
from graph.training.network import SEED, Network, descend, run
from graph.training.reader_data import Chat, load_chats
from graph.understanding.classifier import read_rows
from memory.dates.expressions import find_times
from memory.embedding import minilm
from memory.embedding.bert import Array
from memory.embedding.networks import TrainedNetwork
from memory.search.tokens import terms

RATE, EPOCHS, BATCH = 1.5e-4, 3, 24
"""Highest learning rate; passes over all rows; pairs of a message and a line of a step."""
OF_CHAT, TESTED_OF_CHAT = 1, 6
"""Messages that are taken from each chat in a pass, and from each chat held out."""
LONGEST = 300
"""Most characters of a message that is taken from a chat."""
OF_MESSAGES, AMONG = 2500, 60
"""Messages that are taken of `messages.jsonl` in a pass, and those among which the likest is looked for."""
TELLING, PROTESTING = {"tells", "good", "hard", "loss"}, {"disagreement", "apology"}
"""The acts of messages that may stand before another, and of those that might put one right."""


@dataclass(frozen=True, slots=True)
class Example:
    """A message with a line and, if it corrects it, the first and last tokens of the right and the wrong words."""

    tokens: Tokens
    spans: tuple[tuple[int, int], tuple[int, int]] | None


def loss_of(model: Network, examples: Sequence[Example]) -> torch.Tensor:
    """The mean loss: whether a line is corrected, and the ends of the right and the wrong words if it is."""
    states = model.states([each.tokens.ids for each in examples], [each.tokens.types for each in examples])
    is_correction = torch.tensor([float(each.spans is not None) for each in examples])
    logits = model.head("corrects", states[:, 0])[:, 0]
    loss = nn.functional.binary_cross_entropy_with_logits(logits, is_correction)
    held = [(each.tokens, each.spans, row) for each, row in zip(examples, states, strict=True) if each.spans]
    for tokens, (right, wrong), row in held:
        message, line = row[1 : 1 + len(tokens.offsets[0])], row[tokens.first :][: len(tokens.offsets[1])]
        for ends, span in ((model.head("right", message), right), (model.head("wrong", line), wrong)):
            loss = loss + nn.functional.cross_entropy(ends.T, torch.tensor(span)) / 2 / len(held)
    return loss


def examples_of(row: dict[str, Any]) -> list[Example]:
    """A message with each line before it."""
    examples = []
    for place, (line, tokens) in enumerate(zip(row["lines"], tokens_of(row["message"], row["lines"]), strict=True)):
        spans = None
        if place == row["which"]:
            right, wrong = (
                _tokens(row["message"], row["right"], tokens.offsets[0]),
                _tokens(line, row["wrong"], tokens.offsets[1]),
            )
            if right is None or wrong is None:
                continue
            spans = right, wrong
        examples.append(Example(tokens, spans))
    return examples


def _tokens(text: str, words: str, offsets: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
    """The first and last token of words of a text; None where they are beyond what is read."""
    start = text.rindex(words)
    inside = [n for n, (a, b) in enumerate(offsets) if a < start + len(words) and b > start]
    return (inside[0], inside[-1]) if inside else None


def beside(message: str, lines: Sequence[str]) -> dict[str, Any]:
    """A message with that of several lines that has most words of it, as one that puts it not right."""
    words = set(terms(message))
    likest = max(lines, key=lambda line: len(words.intersection(terms(line))))
    return {"lines": [likest], "message": message, "which": -1, "wrong": "", "right": ""}


def of_chats(chats: Sequence[Chat], chance: random.Random) -> list[dict[str, Any]]:
    """Of each chat a line beside one told before it, or a question beside any."""
    rows = []
    for chat in chats:
        lines = [line["text"] for line in chat["lines"] if len(line["text"]) <= LONGEST]
        place = chance.randrange(len(lines)) if lines else 0
        if chat["pairs"] and lines and chance.random() < 1 / 4:
            rows.append(beside(chance.choice(chat["pairs"])["q"], lines))
        elif place:
            rows.append(beside(lines[place], lines[:place]))
    return rows


def of_messages(chance: random.Random, *, held_out: bool) -> list[dict[str, Any]]:
    """Messages, each beside one of some other people's."""
    said = messages(held_out=held_out)
    told = [text for text, act in said.items() if act in TELLING]
    others = [text for text, act in said.items() if act not in PROTESTING]
    chosen = chance.sample(others, min(OF_MESSAGES, len(others)))
    return [beside(text, [line for line in chance.sample(told, AMONG) if line != text]) for text in chosen]


def in_lower_case(row: dict[str, Any]) -> dict[str, Any]:
    """The row as typed in haste."""
    lower = {name: row[name].lower() for name in ("message", "right", "wrong")}
    return {**row, **lower, "lines": [line.lower() for line in row["lines"]]}


def is_name(row: dict[str, Any]) -> bool:
    """Whether one name takes the place of another."""
    both = row["right"], row["wrong"]
    return all(each.isalpha() and each.istitle() and not find_times(each, datetime.now(UTC)) for each in both)


def with_another(row: dict[str, Any], names: Sequence[str], chance: random.Random) -> dict[str, Any]:
    """The row with another name or number for the right one: that it corrects is not to be told by knowing that."""
    right = row["right"]
    if right.isdigit():
        other = str(chance.randrange(1, 10 ** len(right)))
    elif is_name(row):
        other = chance.choice(names)
    else:
        return row
    start, _, end = row["message"].rpartition(right)
    return {**row, "message": start + other + end, "right": other}


def train(rows: Sequence[dict[str, Any]], chats: Sequence[Chat], seed: int) -> dict[str, Array]:
    """Train on rows and chats: in every other pass as typed in haste, and with other names and numbers but in one."""
    torch.manual_seed(seed)
    chance, model, examples = random.Random(seed), Network(minilm.packaged(), HEADS), list[Example]()
    model.go_on(reader_of(minilm.NAME), heads=False)
    model.freeze()
    names = [row["right"] for row in rows if is_name(row)]
    for n in range(EPOCHS):
        told = [with_another(row, names, chance) for row in rows] if n else rows
        of_chat = [row for _ in range(OF_CHAT) for row in of_chats(chats, chance)]
        shown = [*told, *of_chat, *of_messages(chance, held_out=False)]
        shown = [in_lower_case(row) if (n + place) % 2 else row for place, row in enumerate(shown)]
        epoch = [each for row in shown for each in examples_of(row)]
        examples += chance.sample(epoch, len(epoch))
    batches = [examples[begin : begin + BATCH] for begin in range(0, len(examples) - BATCH + 1, BATCH)]
    descend(model, batches, partial(loss_of, model), RATE)
    return model.weights()


def report(rows: Sequence[dict[str, Any]], network: TrainedNetwork, least: float) -> str:
    """What comes of messages where nothing less likely is carried out: of corrections, and of others."""
    put_right, wrongly = list[bool](), list[bool]()
    for row in rows:
        found = read(row["message"], row["lines"], network)
        place = int(np.argmax([each.probability for each in found]))
        each, line = found[place], row["lines"][place]
        changes = each.probability >= least
        if row["which"] < 0:
            wrongly.append(changes)
            continue
        text = line[: each.wrong[0]] + row["message"][slice(*each.right)] + line[each.wrong[1] :]
        start, _, end = row["lines"][row["which"]].rpartition(row["wrong"])
        put_right.append(changes and place == row["which"] and text == start + row["right"] + end)
    names = "corrections put right word for word", "others taken for one"
    both = zip((put_right, wrongly), names, strict=True)
    rates = [f"{np.mean(each):.3f} of {len(each)} {name}" for each, name in both if each]
    return f"from {least}: {', '.join(rates)}"


def main() -> None:
    """Train, write the weights and print figures; what chooses `SURE` is one half of what is held out."""
    rows, (chats, others) = read_rows("corrections.jsonl"), load_chats()
    learned, held_out = ([row for row in rows if row.get("held_out", False) == each] for each in (False, True))

    def print_figures(weights: Path) -> None:
        network, chance = TrainedNetwork(minilm.packaged, weights, *HEADS), random.Random(SEED)
        for least in (0.5, 0.7, 0.8, 0.9, 0.95, 0.98):
            print("to choose by,", report(held_out[::2], network, least))
        print("held out,", report(held_out[1::2], network, SURE))
        of_chat = [row for _ in range(TESTED_OF_CHAT) for row in of_chats(others, chance)]
        for name, others_of in (("chats", of_chat), ("messages", of_messages(chance, held_out=True))):
            print(f"of {name},", report(others_of, network, SURE))

    out = correction_reader.WEIGHTS
    run("graph.training.corrections", __doc__, out, lambda seed, _: train(learned, chats, seed), print_figures)


if __name__ == "__main__":
    main()
