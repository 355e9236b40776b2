"""Quantization of a local model's weights, and the memory it takes, estimated before loading."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from transformers import PretrainedConfig

Quantization = Literal["auto", "nf4", "int8", "bf16", "fp32"]
"""4-bit NormalFloat (Dettmers et al. 2023), 8-bit (Dettmers et al. 2022), 16 or 32 bits; "auto" chooses by machine."""

MAX_CONTEXT = 8192
"""Tokens of context used of a local model: 20 memories, notes and an answer fit into half of it, and the key-value
cache grows with it."""

NF4_BYTES = 0.5 + 0.127 / 8
"""Bytes per weight: 4 bits, and .127 bits of doubly quantised constants."""

BYTES_PER_WEIGHT = {"nf4": NF4_BYTES, "int8": 1.0, "bf16": 2.0, "fp32": 4.0}


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """Bytes that a model takes: its weights, its key-value cache at `context` tokens, and the peak of loading it."""

    parameters: int
    weights: int
    cache: int
    context: int
    loading: int

    @property
    def total(self) -> int:
        """The most that it takes at any time."""
        return max(self.weights + self.cache, self.loading)


def resolve_quantization(quantization: Quantization) -> Quantization:
    """What "auto" means on this machine: nf4 where a GPU is found, bf16 where there is none."""
    if quantization != "auto":
        return quantization
    import torch

    # The kernels for 4 bits are written for GPUs; on a CPU they cost time, and loading takes more memory than bf16.
    return "nf4" if torch.cuda.is_available() else "bf16"


def estimate_memory(config: PretrainedConfig, quantization: Quantization) -> MemoryNeed:
    """The memory that a model of this shape takes, computed on a model without weights."""
    import torch
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)  # type: ignore[no-untyped-call]
    counted = {id(p): p.numel() for p in model.parameters()}
    resolved = resolve_quantization(quantization)
    linear = 0
    if resolved in ("nf4", "int8"):  # the projections are quantised; embeddings, norms and the head stay in 16 bits
        head = model.get_output_embeddings()
        linear = sum(m.weight.numel() for m in model.modules() if isinstance(m, torch.nn.Linear) and m is not head)
    rest = sum(counted.values()) - linear
    weights = linear * BYTES_PER_WEIGHT[resolved] + rest * BYTES_PER_WEIGHT["bf16" if linear else resolved]
    context, text = usable_context(config), config.get_text_config()
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    size = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    cache = int(2 * text.num_hidden_layers * heads * size * context * (4 if resolved == "fp32" else 2))
    # Bitsandbytes quantises on a CPU what was first read there in 16 bits; on a GPU it goes layer by layer.
    extra = linear * BYTES_PER_WEIGHT["bf16"] if linear and not torch.cuda.is_available() else 0
    return MemoryNeed(sum(counted.values()), int(weights), cache, context, int(weights + extra))


def usable_context(config: Any) -> int:  # noqa: ANN401  # each family has a config class of its own
    """Tokens of context used: those the model was trained for, at most `MAX_CONTEXT`."""
    text = config.get_text_config()
    return min(MAX_CONTEXT, int(getattr(text, "max_position_embeddings", None) or MAX_CONTEXT))
