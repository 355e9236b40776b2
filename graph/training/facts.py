"""Train the reader of `graph.learning.fact_reader`: which words of a message tell a fact of its speaker.

    python -m graph.training.facts [--seed N] [--mean FILE] [--out FILE]    some minutes; writes assets/models
    python -m graph.training.facts --report    the figures of the weights that are there

It goes on from the reader of lines on all-MiniLM-L6-v2. A row of `facts.jsonl` is `{"chat", "line", "facts"}`, a line
of a chat, or `{"text", "facts"}`; a fact is `{"relation", "what", "kind", "whose", "ends"}` in words of the text. The
rows of chats that are held out, and those "held_out", are not learned from.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from graph.language.facts import FACTS
from graph.learning import fact_reader
from graph.learning.fact_reader import (
    BELONGS_TO,
    FAVOURITE_KIND,
    HEADS,
    KIND,
    KIND_OF_OTHER,
    LABELS,
    OTHER,
    PERSON,
    SURE,
    tokens_of,
)
from graph.readers.line_reader import weights_of as reader_of
from graph.training.network import Network, descend, run
from graph.training.reader_data import load_chats
from graph.understanding.classifier import read_rows
from memory.embedding import minilm
from memory.embedding.bert import Array
from memory.embedding.networks import TrainedNetwork

RATE, EPOCHS, BATCH, SORTED = 2.5e-4, 3, 24, 20
"""Highest learning rate; passes over all rows; messages of a step, and steps whose messages are sorted by length."""

SHOWN_AS_WRITTEN = 1
"""Passes in which no name is another's."""


@dataclass(frozen=True, slots=True)
class Example:
    """A message's token ids and, of each token but the first and last, its label, and whether it begins or has ended.

    `links` are the first tokens of words, of those they belong to, and of all that they might belong to.
    """

    ids: list[int]
    labels: list[int]
    begins: list[float]
    ends: list[float]
    links: list[tuple[int, int, list[int]]]


def loss_of(model: Network, examples: Sequence[Example]) -> torch.Tensor:
    """The mean loss: what each token is, where words begin, what has ended, and which belong together."""
    states = model.states([each.ids for each in examples])
    told = torch.cat([row[1 : 1 + len(each.labels)] for row, each in zip(states, examples, strict=True)])
    labels = torch.tensor([label for each in examples for label in each.labels])
    loss = nn.functional.cross_entropy(model.head("labels", told), labels)
    is_value = (labels > 0) & (labels <= len(FACTS))
    for name, among in (("begins", labels > 0), ("ends", is_value)):
        wanted = torch.tensor([value for each in examples for value in getattr(each, name)])
        if among.any():
            logits = model.head(name, told)[among, 0]
            loss = loss + nn.functional.binary_cross_entropy_with_logits(logits, wanted[among]) / 4
    links = [(row[1:], *link) for row, each in zip(states, examples, strict=True) for link in each.links]
    for row, first, right, might in links:
        scores = model.head("offers", row[might]) @ model.head("seeks", row[first])
        loss = loss + nn.functional.cross_entropy(scores, torch.tensor(might.index(right))) / len(links) / 4
    return loss


@dataclass(frozen=True, slots=True)
class Span:
    """Words of a message: first and last character, label, whether it ended, and the start of what it belongs to."""

    start: int
    end: int
    label: str
    ended: bool = False
    to: int | None = None


def spans_of(row: Mapping[str, Any]) -> Iterator[Span]:
    """The words of a message's facts."""
    text, used = row["text"], list[tuple[int, int]]()
    for fact in row["facts"]:
        relation, kind, whose = fact["relation"], fact.get("kind"), fact.get("whose")
        start = _place(text, fact["what"], used)
        used.append((start, start + len(fact["what"])))
        at = min(_places(text, kind), key=lambda place: abs(place - start)) if kind else None
        yield Span(*used[-1], relation, bool(fact.get("ends")), at)
        of_whom = _places(text, whose)[0] if whose else None
        if at is not None and kind:
            label = (KIND_OF_OTHER if whose else KIND) if relation == PERSON else FAVOURITE_KIND
            yield Span(at, at + len(kind), label, to=of_whom)
        if of_whom is not None and whose:
            yield Span(of_whom, of_whom + len(whose), OTHER)


def _places(text: str, words: str) -> list[int]:
    """Where words stand in a text, as whole words if they do anywhere."""
    found = [n for n in range(len(text)) if text.startswith(words, n)]

    def is_whole(n: int) -> bool:
        around = text[n - 1 : n] + text[n + len(words) : n + len(words) + 1]
        return not any(letter.isalnum() for letter in around)

    return [n for n in found if is_whole(n)] or found


def _place(text: str, words: str, used: Sequence[tuple[int, int]]) -> int:
    """The first place of words that is not used yet."""
    places = _places(text, words)
    return next((n for n in places if not any(n < end and start < n + len(words) for start, end in used)), places[0])


def example_of(row: Mapping[str, Any]) -> Example:
    """A message as an example; of words in two facts, the value's label counts."""
    ((ids, offsets),) = tokens_of([row["text"]])
    count, first = len(offsets), dict[int, int]()
    example = Example(ids, [0] * count, [0.0] * count, [0.0] * count, [])
    spans = sorted(spans_of(row), key=lambda span: span.label not in fact_reader.KINDS)
    for span in spans:
        inside = [n for n, (a, b) in enumerate(offsets) if a < span.end and b > span.start]
        for n in inside:
            first[span.start] = inside[0]
            example.labels[n], example.begins[n] = LABELS.index(span.label), float(n == inside[0])
            example.ends[n] = float(span.ended)
    for span in spans:
        labels = BELONGS_TO.get(span.label, ())
        might = {first[each.start] for each in spans if each.label in labels and each.start in first}
        if span.to in first and span.start in first and len(might) > 1:
            example.links.append((first[span.start], first[span.to], sorted(might | {first[span.to]})))
    return example


def with_other_names(row: Mapping[str, Any], names: Sequence[str], chance: random.Random) -> dict[str, Any]:
    """The row with other names for its people: who is told of is not to be told by knowing the name."""
    text, facts = row["text"], [dict(fact) for fact in row["facts"]]
    for fact in facts:
        if fact["relation"] in (PERSON, "name") and fact["what"].isalpha():
            old, new = fact["what"], chance.choice(names)
            new = new if old[0].isupper() else new.lower()
            if any(old in str(other) for each in facts if each is not fact for other in each.values()):
                continue
            fact["what"] = new
            for place in reversed(_places(text, old)):
                text = text[:place] + new + text[place + len(old) :]
    return {**row, "text": text, "facts": facts}


def in_lower_case(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row as typed in haste."""
    words = ("what", "kind", "whose")
    facts = [{n: v.lower() if n in words else v for n, v in fact.items()} for fact in row["facts"]]
    return {**row, "text": row["text"].lower(), "facts": facts}


def load_rows() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows with their texts, to train on and held out."""
    chats = load_chats()
    lines = ((chat["id"], line) for part in chats for chat in part for line in chat["lines"])
    texts = {(chat, line["n"]): line["text"].replace("\n", " ") for chat, line in lines}
    others = {chat["id"] for chat in chats[1]}
    parts: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
    for row in read_rows("facts.jsonl"):
        is_held_out = row.get("held_out", row.get("chat") in others)
        parts[is_held_out].append(row if "text" in row else {**row, "text": texts[row["chat"], row["line"]]})
    return parts


def train(rows: Sequence[Mapping[str, Any]], seed: int) -> dict[str, Array]:
    """Train on rows: in every other pass as typed in haste, and with other names but in the first."""
    torch.manual_seed(seed)
    chance, model, examples = random.Random(seed), Network(minilm.packaged(), HEADS), list[Example]()
    model.go_on(reader_of(minilm.NAME), heads=False)
    model.freeze()
    names = [fact["what"] for row in rows for fact in row["facts"] if fact["relation"] == PERSON]
    names = [name for name in names if name.isalpha() and name.istitle()]
    for n in range(EPOCHS):
        shown = [with_other_names(row, names, chance) if n >= SHOWN_AS_WRITTEN else row for row in rows]
        shown = [in_lower_case(row) if (n + place) % 2 else row for place, row in enumerate(shown)]
        epoch = [example_of(row) for row in shown]
        examples += chance.sample(epoch, len(epoch))
    batches = []
    for begin in range(0, len(examples), SORTED * BATCH):
        alike = sorted(examples[begin : begin + SORTED * BATCH], key=lambda each: len(each.ids))
        some = [alike[n : n + BATCH] for n in range(0, len(alike), BATCH)]
        batches += chance.sample(some, len(some))
    descend(model, batches, partial(loss_of, model), RATE)
    return model.weights()


def report(rows: Sequence[Mapping[str, Any]], network: TrainedNetwork, least: float) -> str:
    """Of the facts of rows, how many are read letter for letter where nothing less likely is told, and the reverse."""
    counts: Counter[tuple[str, str]] = Counter()
    found = fact_reader.read([row["text"] for row in rows], least, network)
    for row, read in zip(rows, found, strict=True):
        told = Counter(
            (fact["relation"], fact["what"], fact.get("kind", ""), fact.get("whose", ""), bool(fact.get("ends")))
            for fact in row["facts"]
        )
        said = Counter((fact.relation, fact.what, fact.kind, fact.whose, fact.ended) for fact in read)
        for name, facts in (("told", told), ("said", said), ("both", told & said)):
            for fact, count in facts.items():
                counts[name, "people" if fact[0] == PERSON else "other facts"] += count

    def share(group: str) -> str:
        told, said, both = (counts[name, group] for name in ("told", "said", "both"))
        return f"{both / max(1, told):.3f} of {told} {group} read, {both / max(1, said):.3f} of {said} rightly"

    return f"from {least}: {share('people')}; {share('other facts')}"


def main() -> None:
    """Train, write the weights and print figures; what chooses `SURE` is one half of what is held out."""
    rows, held_out = load_rows()

    def print_figures(weights: Path) -> None:
        network = TrainedNetwork(minilm.packaged, weights, *HEADS)
        for least in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9):
            print("to choose by,", report(held_out[::2], network, least))
        print("held out,", report(held_out[1::2], network, SURE))

    run("graph.training.facts", __doc__, fact_reader.WEIGHTS, lambda seed, _: train(rows, seed), print_figures)


if __name__ == "__main__":
    main()
