"""What the training of all networks shares: layers of an encoder with heads, the steps, and the command line."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from torch import nn
from tqdm import tqdm
from transformers import BertConfig, BertModel

from memory.embedding import bert
from memory.embedding.networks import Parts

Batch = TypeVar("Batch")

SEED = 14


class Network(nn.Module):
    """The lowest layers of an encoder, and linear heads on their states: how many outputs each has, by its name.

    The embeddings of words stay as they are: the encoder's package has them.
    """

    def __init__(
        self,
        parts: Parts,
        heads: Mapping[str, int],
        *,
        layers: int | None = None,
        dropout: float = 0.1,
        attention_dropout: float = 0.0,  # without it, attention stays fused
    ) -> None:
        super().__init__()
        self.parts, weights = parts, parts.weights()
        config = BertConfig(
            vocab_size=1,
            hidden_size=bert.DIMENSIONS,
            num_hidden_layers=layers or bert.count_layers(weights),
            num_attention_heads=bert.HEADS,
            intermediate_size=4 * bert.DIMENSIONS,
            hidden_dropout_prob=dropout,
            attention_probs_dropout_prob=attention_dropout,
        )
        self.bert = BertModel(config, add_pooling_layer=False)
        self.bert.load_state_dict({name: torch.tensor(weight) for name, weight in weights.items()}, strict=False)
        for name, outputs in heads.items():
            self.add_module(name, nn.Linear(bert.DIMENSIONS, outputs))

    def go_on(self, start: Path, *, heads: bool = True) -> None:
        """Take the weights of a file, with those of its heads or without."""
        weights = {name.removeprefix("bert."): torch.from_numpy(weight) for name, weight in bert.load(start).items()}
        self.bert.load_state_dict(weights, strict=False)
        if heads:
            self.load_state_dict(weights, strict=False)

    def freeze(self, layers: int = 0) -> None:
        """Leave the embeddings and so many of the lowest layers as they are."""
        self.bert.embeddings.requires_grad_(False)
        self.bert.encoder.layer[:layers].requires_grad_(False)

    def states(self, tokens: Sequence[Sequence[int]], types: Sequence[Sequence[int]] | None = None) -> torch.Tensor:
        """What the layers make of each token of texts, (texts, tokens, 384), from token ids and types, if not all 0."""
        (ids, is_token), of_type = padded(tokens), padded(types)[0] if types else None
        words = torch.from_numpy(self.parts.words(ids.numpy()))
        # Twice as fast where the processor computes in bfloat16, and thirty times slower elsewhere.
        in_bfloat16 = bool(torch.cpu.get_capabilities().get("avx512_bf16"))
        with torch.autocast("cpu", torch.bfloat16, enabled=in_bfloat16):
            output = self.bert(inputs_embeds=words, token_type_ids=of_type, attention_mask=is_token)
        states: torch.Tensor = output.last_hidden_state.float()
        return states

    def mean(self, tokens: Sequence[Sequence[int]]) -> torch.Tensor:
        """The mean of the states of each text, (texts, 384)."""
        _, is_token = padded(tokens)
        return (self.states(tokens) * is_token[..., None]).sum(1) / is_token.sum(1, keepdim=True)

    def head(self, name: str, states: torch.Tensor) -> torch.Tensor:
        """The logits of a head, (..., outputs), from states, (..., 384)."""
        logits: torch.Tensor = self.get_submodule(name)(states)
        return logits

    def weights(self) -> dict[str, bert.Array]:
        """The weights that are stored: all but the embeddings of words."""
        return {name: weight.numpy() for name, weight in self.state_dict().items() if "word_embeddings" not in name}


def padded(texts: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Texts of numbers as a batch, and which places hold a token; both (texts, tokens)."""
    ids = nn.utils.rnn.pad_sequence(list(map(torch.tensor, texts)), batch_first=True)
    ids = nn.functional.pad(ids, (0, -ids.shape[1] % bert.STEP))  # oneDNN makes a kernel for each length
    return ids, (torch.arange(ids.shape[1]) < torch.tensor([[len(text)] for text in texts])).float()


def descend(
    model: nn.Module,
    batches: Sequence[Batch],
    loss_of: Callable[[Batch], torch.Tensor],
    rate: float,
    weight_decay: float = 0.01,
    watch: Callable[[int], None] | None = None,
) -> None:
    """Take a step of AdamW for each batch; its rate rises to `rate` over a tenth of the steps and falls to 0.

    In place of a bar on the terminal, `watch` is called with the number of steps after each.
    """
    trained, count = [weight for weight in model.parameters() if weight.requires_grad], len(batches)
    optimizer = torch.optim.AdamW(trained, lr=rate, weight_decay=weight_decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: min((n + 1) / (count / 10), 1 - n / count))
    model.train()
    for done, batch in enumerate(bar := tqdm(batches, unit="step", disable=watch is not None), start=1):
        optimizer.zero_grad()
        loss = loss_of(batch)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        schedule.step()
        bar.set_postfix(loss=f"{loss.item():.3f}")
        if watch:
            watch(done)


def run(
    module: str,
    doc: str,
    out: Path,
    train: Callable[[int, Path | None], bert.Weights],
    report: Callable[[Path], None],
    seed: int = SEED,
) -> None:
    """Train, write the weights and print figures, as the command line of a module says.

    `train` makes weights from a seed; it may go on from those in a file with which the mean is written. `report` prints
    the figures of the weights in a file.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=doc.splitlines()[0])
    parser.add_argument("--seed", type=int, default=seed)
    parser.add_argument("--out", type=Path, default=out, help="the weights to write")
    parser.add_argument("--mean", type=Path, help="write the mean of these weights and the new ones")
    parser.add_argument("--report", action="store_true", help="print the figures of the weights that are there")
    arguments = parser.parse_args()
    if not arguments.report:
        before = bert.load(arguments.mean) if arguments.mean else None
        weights = dict(train(arguments.seed, arguments.mean))
        if before:
            weights = {name: np.mean([before[name], weight], axis=0) for name, weight in weights.items()}
        bert.save(weights, arguments.out)
    report(arguments.out)
