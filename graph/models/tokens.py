"""Count the tokens of a prompt, and get the length of a model's context.

A local model counts with its own tokenizer, and llama.cpp and llama-cpp-python count when they are asked. Any other
server's tokenizer is unknown here (OpenAI's tables would have to be downloaded from a place that the user did not
name), so the length of its prompts is overestimated.
"""

import math
from typing import TYPE_CHECKING, TypeGuard

from langchain_core.language_models import BaseChatModel

from graph.models.hosted.profile import count_at_server, server_profile
from graph.models.local_model import LocalModel, Messages

if TYPE_CHECKING:
    from langchain_openai.chat_models.base import BaseChatOpenAI

ASCII_PER_TOKEN, OTHER_PER_TOKEN = 2.5, 2.0
"""Bytes: English prose has 4 to 5 a token, JSON full of dates some 3 and Chinese 2 to 4, so these are low estimates."""

MESSAGE_OVERHEAD = 8
"""Tokens around a message: its role, beginning and end."""

UNKNOWN_CONTEXT = 4096
"""Assumed of a server that does not report its context: Ollama's default."""


def count_tokens(model: BaseChatModel, talk: Messages) -> int:
    """Tokens of a prompt: exact for a local model, an upper estimate for others; blocks while a server counts."""
    if isinstance(model, LocalModel):
        return len(model.weights.prompt(talk))
    if is_hosted(model) and (count := count_at_server(model, "\n".join(text for _, text in talk))) is not None:
        return count + MESSAGE_OVERHEAD * len(talk)
    return estimated_size(talk)


def estimated_size(talk: Messages) -> int:
    """Tokens of a prompt, at most."""
    return sum(estimated_tokens(text) + MESSAGE_OVERHEAD for _, text in talk)


def estimated_tokens(text: str) -> int:
    """Tokens of a text, at most."""
    size = len(text.encode())
    ascii_only = sum(map(str.isascii, text))
    return math.ceil(ascii_only / ASCII_PER_TOKEN + (size - ascii_only) / OTHER_PER_TOKEN)


def counting_method(model: BaseChatModel) -> str:
    """How `count_tokens` counts for this model; blocks while a server is asked."""
    if isinstance(model, LocalModel):
        return "by its tokenizer"
    return "by its server" if is_hosted(model) and server_profile(model).count else "estimated"


def context_length(model: BaseChatModel) -> int | None:
    """Tokens that a prompt and its reply may have together; None if unknown; blocks while a server is asked."""
    if isinstance(model, LocalModel):
        return model.weights.context
    return server_profile(model).context if is_hosted(model) else None


def is_hosted(model: BaseChatModel) -> "TypeGuard[BaseChatOpenAI]":
    """Whether a model is behind an address."""
    return model._llm_type == "openai-chat"
