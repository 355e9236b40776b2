"""Chat models by name: a hosted one, or any server that speaks OpenAI's protocol (vLLM, Ollama, llama.cpp).

One name says it all, so that a run can be recorded and done again by it:

    openai:gpt-4o-mini                        OpenAI's own service; key from OPENAI_API_KEY
    http://127.0.0.1:8000/v1#qwen2.5-7b       address, then the model there; key from MEMOIR_API_KEY, if it wants one

Keys come from the environment alone and never go into a name, an error or a reply.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from memory.errors import MemoirError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

FORMS = "openai:MODEL (as openai:gpt-4o-mini) or ADDRESS#MODEL (as http://127.0.0.1:8000/v1#qwen2.5-7b)"

HOSTED = "https://api.openai.com/v1"
"""Fixed, so that OPENAI_BASE_URL cannot make "openai:..." mean another service than its name says."""

NO_KEY = "none"
"""What a server that wants no key is sent; without it the library would send it OpenAI's."""

TIMEOUT_SECONDS = 120.0
"""How long a reply may keep silent; a 7B model on a laptop needs half a minute to read 20 memories."""

RETRIES = 2


class UnknownModel(MemoirError):
    """A name that is no chat model's, or a model whose key is missing."""


class ModelFailed(MemoirError):
    """A chat model did not reply: unreachable, refused, too slow, or what came was empty or no reply."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What a chat model replied, and the tokens it counted; both 0 where it counts none."""

    text: str
    tokens_in: int = 0
    tokens_out: int = 0


def chat_model(name: str, *, temperature: float = 0.0) -> BaseChatModel:
    """The chat model of that name; nothing is asked of it yet.

    Raises:
        UnknownModel: the name has neither form, holds a key, or needs a key that is not set.
    """
    kind, _, hosted = name.partition(":")
    if kind == "openai" and hosted.strip():
        return _openai_compatible(HOSTED, hosted.strip(), _required_key(name, "OPENAI_API_KEY"), temperature)
    address, model = _address(name)
    return _openai_compatible(address, model, os.environ.get("MEMOIR_API_KEY", "").strip() or NO_KEY, temperature)


def chat_model_or_none(name: str) -> BaseChatModel | None:
    """The chat model of that name; None where none is named."""
    return chat_model(name) if name else None


def complete(model: BaseChatModel, prompt: str) -> Completion:
    """Ask once (the model's own bounded retries included).

    Raises:
        ModelFailed: there is no reply; the message says why, without the key even where the server repeated it.
    """
    from langchain_core.exceptions import LangChainException

    # A server that is not quite OpenAI's shows as any of the last four: a reply that is no JSON, or lacks a field.
    faults = (LangChainException, OSError, ValueError, TypeError, LookupError, RuntimeError)
    try:
        reply = model.invoke(prompt)
    except faults as fault:
        said = f"{type(fault).__name__}: {fault}"
    else:
        usage = reply.usage_metadata
        counted = (usage["input_tokens"], usage["output_tokens"]) if usage else (0, 0)
        if reply.text.strip():
            return Completion(without_keys(reply.text), *counted)
        said = f"an empty one, ended by {reply.response_metadata.get('finish_reason', 'nothing known')}"
    # Not within `except`: the fault may quote the key, and Python would print it as this error's context.
    raise ModelFailed(f"the chat model gave no usable reply ({without_keys(said)}). Nothing was kept of it; try again")


def without_keys(text: str) -> str:
    """The text with every key of the environment blanked out."""
    for variable in ("OPENAI_API_KEY", "MEMOIR_API_KEY"):
        key = os.environ.get(variable, "").strip()
        text = text.replace(key, "[key]") if len(key) > len(NO_KEY) else text
    return text


def _openai_compatible(address: str, model: str, key: str, temperature: float) -> BaseChatModel:
    from langchain_openai import ChatOpenAI
    from pydantic import SecretStr

    return ChatOpenAI(
        model=model,
        base_url=address,
        api_key=SecretStr(key),
        temperature=temperature,
        timeout=TIMEOUT_SECONDS,
        max_retries=RETRIES,
    )


def _required_key(name: str, variable: str) -> str:
    key = os.environ.get(variable, "").strip()
    if not key:
        raise UnknownModel(f"{name} needs a key: set {variable} in the environment. Nothing was sent")
    return key


def _address(name: str) -> tuple[str, str]:
    try:
        parts = urlsplit(name)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.fragment.strip()
        port = parts.port
    except ValueError:  # a port that is no number, a bracket left open
        usable, port = "", None
    if not usable or port == 0:
        raise UnknownModel(f"{without_keys(name)!r} names no chat model; write {FORMS}")
    if parts.username is not None or parts.query:
        raise UnknownModel(
            f"the address of {parts.hostname} carries a name, a password or a query; names are recorded with every "
            "run, so put the key in MEMOIR_API_KEY and give the bare address"
        )
    return name.partition("#")[0].rstrip("/"), parts.fragment.strip()
