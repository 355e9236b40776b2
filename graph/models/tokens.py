"""How many tokens a prompt has, and how many a model can read.

A local model counts with its own tokenizer. What a server counts with is not known here (OpenAI's tables would have to
be fetched from another place than the user named), so a prompt for it is taken to be longer than it is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from graph.models.calls import Talk

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

ASCII_PER_TOKEN, OTHER_PER_TOKEN = 2.5, 2.0
"""Bytes: English prose has 4 to 5 a token, JSON full of dates some 3 and Chinese 2 to 4, so less is taken of each."""

MARKS = 8
"""Tokens around a message: its role, its beginning and end."""

UNKNOWN_CONTEXT = 4096
"""What a server is taken to read that does not say: Ollama gives a model so much unless told otherwise."""

Counted = Literal["by its tokenizer", "estimated"]


def count(model: BaseChatModel, talk: Talk) -> int:
    """Tokens of a prompt: exact for a local model, at least as many as there are for any other."""
    from graph.models.local import LocalChat

    if isinstance(model, LocalChat):
        return model.count(model._convert_input(list(talk)).to_messages())
    return sum(_estimated(text) + MARKS for _, text in talk)


def _estimated(text: str) -> int:
    size = len(text.encode())
    ascii_only = sum(map(str.isascii, text))
    return math.ceil(ascii_only / ASCII_PER_TOKEN + (size - ascii_only) / OTHER_PER_TOKEN)


def counted(model: BaseChatModel) -> Counted:
    """How `count` counts for this model."""
    return "by its tokenizer" if model._llm_type == "memoir-local" else "estimated"


def context_of(model: BaseChatModel) -> int | None:
    """Tokens of prompt and reply together that a model can take; None where nobody says."""
    from graph.models.hosted import context_told
    from graph.models.local import LocalChat

    return model.weights.context if isinstance(model, LocalChat) else context_told(model)
