"""Train the recogniser of `graph.understanding.acts` on `messages.jsonl`: what a sentence does.

    python -m graph.training.acts [--seed N] [--mean FILE] [--out FILE]    some 10 minutes; writes assets/models
    python -m graph.training.acts --report    the figures of the weights that are there

With `--mean`, it goes on from the weights in FILE. Each message is shown as written and as typed in haste; its names
are now and then replaced, as an act is not in them. Those marked "held_out" are only tested with. The network knows
English: of messages in other languages it learns that they tell or ask, no more.
"""

import random
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn

from graph.language import patterns
from graph.training.classifier import OTHER_LANGUAGES, in_haste
from graph.training.network import SEED, Network, descend, run
from graph.training.reader_data import PLAIN, load_chats, questions_with_lines
from graph.understanding import acts
from graph.understanding.acts import ACTS
from graph.understanding.classifier import read_rows
from graph.understanding.sentences import split
from memory.embedding import minilm
from memory.embedding.bert import Array
from memory.embedding.networks import TrainedNetwork

LAYERS = 3
"""Layers of MiniLM that it begins with."""

QUESTIONS, LINES = 3000, 2000
"""So many questions about the chats are trained on, too, and of their lines."""

NAMES_FILE = Path(patterns.__file__).with_name("names.txt")
RENAMED, MADE_UP = 0.5, 0.3
"""Share of the messages whose names are replaced, and of these by ones that nobody has, as nicknames are ("Bex")."""
_NAMES = sorted(set(" ".join(re.findall(r"^[^#]+$", NAMES_FILE.read_text("utf-8"), re.MULTILINE)).split()))
_KNOWN = frozenset(_NAMES)
_SYLLABLES = [a + b + c for a in "bcdfgjklmnprstvwz" for b in "aeiou" for c in "bdgklmnpstvxz"]
_WORD = re.compile(r"[^\W\d_]+")

RATE, EPOCHS, BATCH = 3e-4, 3, 32
"""Highest learning rate; passes over all messages; messages of a step."""


def messages(*, held_out: bool) -> dict[str, str]:
    """Acts by the text of messages, to train on or held out."""
    return {row["text"]: row["act"] for row in read_rows("messages.jsonl") if row.get("held_out", False) == held_out}


def of_chats(chance: random.Random, *, held_out: bool) -> dict[str, str]:
    """Some questions about the chats, with their mark and without, and sentences of their lines.

    The sentences count as telling, although every sixth tells news (by hand, 70 of 440): so the network learns how
    seldom news is in what people write.
    """
    chats, plain = load_chats()[held_out], questions_with_lines(PLAIN)
    asked = [pair["q"] for chat in chats for pair in [*chat["pairs"], *plain[chat["id"]], *plain[chat["id"]]]]
    told = [sentence for chat in chats for line in chat["lines"] for sentence in split(line["text"])]
    asked = chance.sample(list(dict.fromkeys(asked)), QUESTIONS // (10 if held_out else 1))
    told = chance.sample([s for s in dict.fromkeys(told) if not s.endswith("?")], LINES // (10 if held_out else 1))
    return dict.fromkeys(told, "tells") | {text.rstrip("? ") if n % 2 else text: "asks" for n, text in enumerate(asked)}


def renamed(text: str, chance: random.Random) -> str:
    """The message with each name replaced by a random one."""

    def other(match: re.Match[str]) -> str:
        if match[0].lower() not in _KNOWN:
            return match[0]
        name = chance.choice(_SYLLABLES if chance.random() < MADE_UP else _NAMES)
        return name.capitalize() if match[0][0].isupper() else name

    return _WORD.sub(other, text)


def in_other_languages(*, held_out: bool) -> dict[str, str]:
    """Statements and questions in other languages; every fifth is held out."""
    kept = [row for n, row in enumerate(read_rows(OTHER_LANGUAGES)) if (n % 5 == 0) == held_out]
    acts_of = {"statement": "tells", "question": "asks"}
    return {row["text"]: acts_of[row["kind"]] for row in kept if row["kind"] in acts_of}


def train(seed: int, earlier: Path | None) -> dict[str, Array]:
    """Train on all messages that are not held out, from earlier weights if there are any."""
    torch.manual_seed(seed)
    chance = random.Random(seed)
    model = Network(minilm.packaged(), {"acts": len(ACTS)}, layers=LAYERS, attention_dropout=0.1)
    if earlier:
        model.go_on(earlier)
    written = of_chats(chance, held_out=False) | in_other_languages(held_out=False) | messages(held_out=False)
    rows = list(({in_haste(text): act for text, act in written.items()} | written).items())
    plan = [row for _ in range(EPOCHS) for row in chance.sample(rows, len(rows))]
    plan = [(renamed(text, chance) if chance.random() < RENAMED else text, act) for text, act in plan]
    batches = [plan[begin : begin + BATCH] for begin in range(0, len(plan) - BATCH + 1, BATCH)]

    def loss_of(batch: Sequence[tuple[str, str]]) -> torch.Tensor:
        texts, names = zip(*batch, strict=True)
        wanted = torch.tensor([ACTS.index(name) for name in names])
        logits = model.head("acts", model.mean(acts.tokens_of(texts)))
        return nn.functional.cross_entropy(logits, wanted, label_smoothing=0.05)

    descend(model, batches, loss_of, RATE, weight_decay=0.02)
    return model.weights()


def report(weights: Path) -> None:
    """Print how many of the messages held out are recognised, of each kind, and what may ask and may tell."""
    rows = [(text, act, "") for text, act in messages(held_out=True).items()]
    rows += [(text, act, " of the chats") for text, act in of_chats(random.Random(SEED), held_out=True).items()]
    rows += [(text, act, " in other languages") for text, act in in_other_languages(held_out=True).items()]
    kinds: dict[str, list[tuple[bool, bool, bool]]] = defaultdict(list)
    network = TrainedNetwork(minilm.packaged, weights, "acts")
    for (_, act, source), said in zip(rows, acts.recognise([text for text, *_ in rows], network), strict=True):
        kind = "small talk" if act in acts.SMALL_TALK else act
        kinds[kind + source].append((said.act == act, said.asks, said.tells))
    for kind, found in kinds.items():
        right, asks, tells = np.mean(found, axis=0)
        print(f"{kind}: right {right:.3f}, may ask {asks:.3f}, may tell {tells:.3f} (n = {len(found)})")


if __name__ == "__main__":
    run("graph.training.acts", __doc__, acts.WEIGHTS, train, report)
