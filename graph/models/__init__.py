"""Chat models by name: a hosted one, any server that speaks OpenAI's protocol, or one that runs in this process.

One name says it all, so that a run can be recorded and done again by it:

    none                                      no model: the extractive reader and the learned classifier do all
    openai:gpt-4o-mini                        OpenAI's own service; key from OPENAI_API_KEY
    http://127.0.0.1:8000/v1#qwen2.5-7b       address, then the model there; key from MEMOIR_API_KEY, if it wants one
    hf:Qwen/Qwen2.5-7B-Instruct               a repository of Hugging Face, or a folder, run by this process

Keys come from the environment or the file of keys (`graph.models.keys`) and never go into a name, an error or a reply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graph.models.calls import Completion, ModelFailed, Unreachable, complete, converse
from graph.models.hosted import hosted_model
from graph.models.keys import without_keys
from graph.models.names import FORMS, NONE, Name, UnknownModel, is_named, parse
from graph.models.quantization import Quantization

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

__all__ = [
    "FORMS",
    "NONE",
    "Completion",
    "ModelFailed",
    "Name",
    "Quantization",
    "UnknownModel",
    "Unreachable",
    "chat_model",
    "chat_model_or_none",
    "complete",
    "converse",
    "is_named",
    "parse",
    "without_keys",
]


def chat_model(name: str, *, temperature: float = 0.0, quantization: Quantization = "auto") -> BaseChatModel:
    """The chat model of that name; nothing is asked of it yet, and a local one is not loaded yet.

    Raises:
        UnknownModel: the name has none of the forms, holds a key, or needs a key that is not set.
    """
    named = parse(name)
    if named.kind == "none":
        raise UnknownModel(f"“none” is no chat model to ask; write {FORMS}")
    if named.kind == "local":
        from graph.models.local import LocalChat

        return LocalChat(name=named.model, quantization=quantization, temperature=temperature)
    return hosted_model(named, temperature)


def chat_model_or_none(name: str, quantization: Quantization = "auto") -> BaseChatModel | None:
    """The chat model of that name; None where none is named."""
    return chat_model(name, quantization=quantization) if is_named(name) else None
