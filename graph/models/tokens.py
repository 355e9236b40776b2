"""How many tokens a prompt has, and how many a model can read.

A local model counts with its own tokenizer. What a server counts with is not known here (OpenAI's tables would have to
be fetched from another place than the user named), so a prompt for it is taken to be longer than it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from graph.models.asking import Talk

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

BYTES_PER_TOKEN = 2
"""English has some 4.5 bytes a token, Chinese 3 to 4: an estimate by 2 is not met by any text that people write."""

UNKNOWN_CONTEXT = 4096
"""What a server is taken to read that does not say: Ollama gives a model so much unless told otherwise."""

Counted = Literal["by its tokenizer", "estimated"]


def count(model: BaseChatModel, talk: Talk) -> int:
    """Tokens of a prompt: exact for a local model, at least as many as there are for any other."""
    from graph.models.local import LocalChat

    if isinstance(model, LocalChat):
        return model.count(model._convert_input(list(talk)).to_messages())
    return sum(len(text.encode()) // BYTES_PER_TOKEN + 8 for _, text in talk)


def counted(model: BaseChatModel) -> Counted:
    """How `count` counts for this model."""
    return "by its tokenizer" if model._llm_type == "memoir-local" else "estimated"


def context_of(model: BaseChatModel) -> int | None:
    """Tokens of prompt and reply together that a model can take; None where nobody says."""
    from graph.models.hosted import context_told
    from graph.models.local import LocalChat

    return model.weights.context if isinstance(model, LocalChat) else context_told(model)
