"""Train the recogniser of `graph.understanding.acts` on `messages.jsonl`: what a sentence does.

    python -m graph.training.acts [--seed N] [--out FILE]     about 5 minutes; prints figures and writes assets/models

Each message is shown as written and as typed in haste. Those marked "held_out" are only tested with.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn
from tqdm import tqdm
from transformers import BertConfig, BertModel

from graph.replies.phrases import NEWS, SMALL_TALK
from graph.training.classifier import in_haste
from graph.training.reader_data import load_chats
from graph.understanding import acts
from graph.understanding.acts import ACTS
from graph.understanding.classifier import MODELS
from memory.embedding import bert, minilm

LAYERS = 3
"""Layers of MiniLM that it begins with; six are no better and take twice the time."""

QUESTIONS = 1500
"""So many questions about the chats are trained on, too."""

RATE, EPOCHS, BATCH = 3e-4, 5, 32
"""Highest learning rate, which falls to 0; passes over all messages; messages of a step."""


class Recognising(nn.Module):
    """The lowest layers of MiniLM with a head on the mean of their states."""

    def __init__(self) -> None:
        super().__init__()
        size = bert.DIMENSIONS
        config = BertConfig(
            vocab_size=1,
            hidden_size=size,
            num_hidden_layers=LAYERS,
            num_attention_heads=bert.HEADS,
            intermediate_size=4 * size,
        )
        self.bert = BertModel(config, add_pooling_layer=False)
        weights = minilm.package_weights()
        start = {name: torch.from_numpy(weight) for name, weight in weights.items() if "word_embeddings" not in name}
        self.bert.load_state_dict(start, strict=False)
        self.acts = nn.Linear(size, len(ACTS))

    def forward(self, texts: Sequence[str]) -> torch.Tensor:
        """Logits of the acts, (texts, acts)."""
        ids = nn.utils.rnn.pad_sequence(list(map(torch.tensor, acts.tokens_of(texts))), batch_first=True)
        words = torch.from_numpy(minilm.package_weights()["embeddings.word_embeddings.weight"][ids.numpy()])
        is_token = (ids > 0).float()
        with torch.autocast("cpu", torch.bfloat16):
            states = self.bert(inputs_embeds=words, attention_mask=is_token).last_hidden_state
        mean = (states.float() * is_token[..., None]).sum(1) / is_token.sum(1, keepdim=True)
        logits: torch.Tensor = self.acts(mean)
        return logits


def messages(*, held_out: bool) -> dict[str, str]:
    """Acts by the text of messages, to train on or held out."""
    rows = map(json.loads, (MODELS / "messages.jsonl").read_text("utf-8").splitlines())
    return {row["text"]: row["act"] for row in rows if row.get("held_out", False) == held_out}


def questions(chance: random.Random) -> dict[str, str]:
    """Some questions about the chats to train on, which are no small talk."""
    asked = [pair["q"] for chat in load_chats()[0] for pair in chat["pairs"]]
    return dict.fromkeys(chance.sample(asked, QUESTIONS), "asks")


def train(seed: int) -> Recognising:
    """Train on all messages that are not held out."""
    torch.manual_seed(seed)
    chance, model = random.Random(seed), Recognising()
    written = messages(held_out=False) | questions(chance)
    rows = list(({in_haste(text): act for text, act in written.items()} | written).items())
    plan = [row for _ in range(EPOCHS) for row in chance.sample(rows, len(rows))]
    steps = len(plan) // BATCH
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: min((n + 1) / (steps / 10), 1 - n / steps))
    for step in tqdm(range(steps), unit="step"):
        texts, names = zip(*plan[step * BATCH : (step + 1) * BATCH], strict=True)
        wanted = torch.tensor([ACTS.index(name) for name in names])
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(texts), wanted, label_smoothing=0.05).backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return model.eval()


@torch.inference_mode()
def report(model: Recognising) -> None:
    """Print how many of the messages held out are recognised, of each kind."""
    held_out = messages(held_out=True)
    found = dict(zip(held_out, model(list(held_out)).argmax(1).tolist(), strict=True))
    for name, kinds in (("small talk", SMALL_TALK), *((kind, (kind,)) for kind in NEWS), ("others", ("tells", "asks"))):
        of_kind = [text for text, act in held_out.items() if act in kinds]
        right = [(ACTS[found[text]] in kinds) if name == "others" else ACTS[found[text]] == held_out[text]
                 for text in of_kind]  # fmt: skip
        print(f"{name}: {np.mean(right):.3f} (n = {len(right)})")


def main() -> None:
    """Train, print figures and write the weights."""
    parser = argparse.ArgumentParser(prog="python -m graph.training.acts", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--out", type=Path, default=acts.WEIGHTS, help="the weights to write")
    arguments = parser.parse_args()
    model = train(arguments.seed)
    report(model)
    weights = {name: w.numpy() for name, w in model.state_dict().items() if "word_embeddings" not in name}
    bert.save(weights, arguments.out)


if __name__ == "__main__":
    main()
