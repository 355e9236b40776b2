"""What the training of all networks shares: the encoder's layers, the mean of their states, and the steps."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from tqdm import tqdm
from transformers import BertConfig, BertModel

from memory.embedding import bert

Batch = TypeVar("Batch")


def lowest_layers(
    weights: bert.Weights, layers: int, dropout: float = 0.1, attention_dropout: float = 0.1
) -> BertModel:
    """The lowest layers of an encoder; it takes the embeddings of words, which stay in the encoder's package."""
    config = BertConfig(
        vocab_size=1,
        hidden_size=bert.DIMENSIONS,
        num_hidden_layers=layers,
        num_attention_heads=bert.HEADS,
        intermediate_size=4 * bert.DIMENSIONS,
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=attention_dropout,
    )
    model = BertModel(config, add_pooling_layer=False)
    start = {name: torch.from_numpy(np.array(w)) for name, w in weights.items() if "word_embeddings" not in name}
    model.load_state_dict(start, strict=False)
    return model


def weights_of(model: nn.Module) -> dict[str, bert.Array]:
    """The weights that are stored: all but the embeddings of words."""
    return {name: weight.numpy() for name, weight in model.state_dict().items() if "word_embeddings" not in name}


def autocast() -> torch.autocast:
    """Compute in bfloat16 where the processor can: twice as fast there, and thirty times slower elsewhere."""
    capabilities = torch.cpu.get_capabilities()
    return torch.autocast("cpu", torch.bfloat16, enabled=bool(capabilities.get("avx512_bf16")))


def padded(texts: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Texts of numbers as a batch, and which places hold a token; both (texts, tokens)."""
    ids = nn.utils.rnn.pad_sequence(list(map(torch.tensor, texts)), batch_first=True)
    ids = nn.functional.pad(ids, (0, -ids.shape[1] % bert.STEP))  # oneDNN makes a kernel for each length
    return ids, (torch.arange(ids.shape[1]) < torch.tensor([[len(text)] for text in texts])).float()


def mean_states(
    model: BertModel, embeddings: Callable[[NDArray[np.int64]], bert.Array], tokens: Sequence[Sequence[int]]
) -> torch.Tensor:
    """The mean of the last layer over the tokens of each text, (texts, 384); `embeddings` are those of token ids."""
    ids, is_token = padded(tokens)
    with autocast():
        words = torch.from_numpy(embeddings(ids.numpy()))
        states = model(inputs_embeds=words, attention_mask=is_token).last_hidden_state
    mean: torch.Tensor = (states.float() * is_token[..., None]).sum(1) / is_token.sum(1, keepdim=True)
    return mean


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
