"""Write language models with random weights, to test loading and to measure speed and memory.

Their text is noise; their speed and memory are those of any model of the same shape.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

Shape = Literal["tiny", "7b"]

SHAPES: dict[Shape, dict[str, int]] = {
    "tiny": {
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "vocab_size": 512,
        "max_position_embeddings": 8192,
    },
    # Qwen2.5-7B: 7.6 billion weights.
    "7b": {
        "hidden_size": 3584,
        "intermediate_size": 18944,
        "num_hidden_layers": 28,
        "num_attention_heads": 28,
        "num_key_value_heads": 4,
        "vocab_size": 152064,
        "max_position_embeddings": 32768,
    },
}

SPECIAL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def write_model(folder: Path, shape: Shape, texts: Iterable[str], seed: int = 0) -> Path:
    """Write a model of that shape with random weights, and a byte-level tokenizer trained on some texts."""
    import torch
    from transformers import AutoModelForCausalLM, Qwen2Config

    tokenizer = _tokenizer(texts)
    tokenizer.save_pretrained(folder)
    torch.manual_seed(seed)
    config = Qwen2Config.from_dict(
        {**SHAPES[shape], "eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    )
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)  # type: ignore[no-untyped-call]
    model.save_pretrained(folder)
    return folder


def _tokenizer(texts: Iterable[str]) -> Any:  # noqa: ANN401  # transformers has no types for it
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=512, special_tokens=list(SPECIAL_TOKENS), initial_alphabet=alphabet)
    made.train_from_iterator(texts, trainer)
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=made, eos_token="<|im_end|>", pad_token="<|endoftext|>", chat_template=TEMPLATE
    )
