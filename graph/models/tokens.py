"""Count the tokens of a prompt, and get the length of a model's context.

A local model counts with its own tokenizer. A server's tokenizer is unknown here (OpenAI's tables would have to be
downloaded from a place that the user did not name), so the length of its prompts is overestimated.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from graph.models.calls import Messages

ASCII_PER_TOKEN, OTHER_PER_TOKEN = 2.5, 2.0
"""Bytes: English prose has 4 to 5 a token, JSON full of dates some 3 and Chinese 2 to 4, so these are low estimates."""

MESSAGE_OVERHEAD = 8
"""Tokens around a message: its role, beginning and end."""

UNKNOWN_CONTEXT = 4096
"""Assumed of a server that does not report its context: Ollama's default."""


def count_tokens(model: BaseChatModel, talk: Messages) -> int:
    """Tokens of a prompt: exact for a local model, an upper estimate for others."""
    from graph.models.local_model import LocalModel

    if isinstance(model, LocalModel):
        return model.count(model._convert_input(list(talk)).to_messages())
    return sum(_estimated(text) + MESSAGE_OVERHEAD for _, text in talk)


def _estimated(text: str) -> int:
    size = len(text.encode())
    ascii_only = sum(map(str.isascii, text))
    return math.ceil(ascii_only / ASCII_PER_TOKEN + (size - ascii_only) / OTHER_PER_TOKEN)


def counting_method(model: BaseChatModel) -> str:
    """How `count_tokens` counts for this model."""
    return "by its tokenizer" if model._llm_type == "memoir-local" else "estimated"


def context_length(model: BaseChatModel) -> int | None:
    """Tokens that a prompt and its reply may have together; None if unknown."""
    from graph.models.hosted import context_length
    from graph.models.local_model import LocalModel

    return model.context if isinstance(model, LocalModel) else context_length(model)
