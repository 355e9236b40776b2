"""Train multilingual-e5-small further, on the questions of our own chats and the lines that answer them.

    python -m graph.training.encoder [--seed N] [--out FILE]    half an hour; prints figures, writes memory/embedding

The upper layers learn to put a question nearer to a line that answers it than to the other lines of a step, among them
one of the chat's nearest that does not answer (multiple negatives ranking loss). Afterwards the means of the scripts,
the classifier and the recogniser of what matters have to be made again: `centre`, `classifier`, `matters`.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import nn
from tqdm import tqdm
from transformers import BertConfig, BertModel

from graph.training.reader_data import PLAIN, Chat, by_chat, load_chats
from memory.embedding import bert, e5
from memory.embedding.bert import Array, Parts, SentenceEncoder

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


class Encoding(nn.Module):
    """The encoder with its lower layers frozen; the words stay the package's."""

    def __init__(self, parts: Parts) -> None:
        super().__init__()
        self._parts = parts
        weights = {name: torch.from_numpy(np.array(weight)) for name, weight in parts.weights.items()}
        layers = 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder.layer."))
        size = bert.DIMENSIONS
        config = BertConfig(
            vocab_size=1,
            hidden_size=size,
            num_hidden_layers=layers,
            num_attention_heads=bert.HEADS,
            intermediate_size=4 * size,
            hidden_dropout_prob=0.05,
            attention_probs_dropout_prob=0.0,  # keeps the fused attention
        )
        self.bert = BertModel(config, add_pooling_layer=False)
        self.bert.load_state_dict(weights, strict=False)
        self.trained = tuple(f"encoder.layer.{number}." for number in range(layers - TRAINED, layers))
        for name, weight in self.bert.named_parameters():
            weight.requires_grad_(name.startswith(self.trained))

    def forward(self, texts: Sequence[str]) -> torch.Tensor:
        """Unit vectors, (texts, 384)."""
        tokens = [text.ids[:MAX_TOKENS] for text in self._parts.tokenizer.encode_batch_fast(list(texts))]
        ids = nn.utils.rnn.pad_sequence(list(map(torch.tensor, tokens)), batch_first=True)
        ids = nn.functional.pad(ids, (0, -ids.shape[1] % bert.STEP))  # oneDNN makes a kernel for each length
        words = torch.from_numpy(self._parts.words(ids.numpy()))
        mask = (torch.arange(ids.shape[1]) < torch.tensor([[len(text)] for text in tokens])).float()
        with torch.autocast("cpu", torch.bfloat16):
            states = self.bert(inputs_embeds=words, attention_mask=mask).last_hidden_state
        mean = (states.float() * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return nn.functional.normalize(mean, dim=1)


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
    plain, rows = by_chat(PLAIN), []
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
    model = Encoding(parts)
    optimizer = torch.optim.AdamW([w for w in model.parameters() if w.requires_grad], lr=RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: min((n + 1) / 20, 1 - n / (STEPS + 1)))
    for step in tqdm(range(STEPS), unit="step"):
        batch = [rows[(step * BATCH + place) % len(rows)] for place in range(BATCH)]
        questions, right, wrong = zip(*batch, strict=True)
        prompts = e5.E5.query_prompt, e5.E5.document_prompt
        texts = [prompts[0] + text for text in questions] + [prompts[1] + text for text in (*right, *wrong)]
        vectors = model(texts)
        scores = vectors[:BATCH] @ vectors[BATCH:].T / TEMPERATURE
        optimizer.zero_grad()
        nn.functional.cross_entropy(scores, torch.arange(BATCH)).backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return {name: w.numpy() for name, w in model.bert.state_dict().items() if name.startswith(model.trained)}


def right_first(chats: Sequence[Chat], encoder: SentenceEncoder) -> tuple[float, int]:
    """For how many questions of chats the nearest line answers, and how many there are."""
    plain = by_chat(PLAIN)
    found = [near[0] in right for chat in chats for _, right, near in ranked(chat, plain[chat["id"]], encoder)]
    return float(np.mean(found)), len(found)


def main() -> None:
    """Train, print figures and write the weights."""
    parser = argparse.ArgumentParser(prog="python -m graph.training.encoder", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--out", type=Path, default=e5.TRAINED, help="the weights to write")
    arguments = parser.parse_args()
    trained_on, held_out = load_chats()
    before = e5.E5(trained=None)
    rows = rows_of(trained_on, before, random.Random(arguments.seed))
    bert.save(train(rows, e5.packaged(), arguments.seed), arguments.out)
    for name, encoder in (("as it is", before), ("trained", e5.E5(trained=arguments.out))):
        share, number = right_first(held_out, encoder)
        print(f"{name}: of the questions of chats held out, {share:.3f} have a line first that answers (n = {number})")


if __name__ == "__main__":
    main()
