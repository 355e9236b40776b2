"""Parse the names of chat models."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast
from urllib.parse import urlsplit

from graph.models.hosted.keys import redact_keys
from memory.errors import MemoirError

FORMS = (
    "none, openai:MODEL (as openai:gpt-4o-mini), gguf:FILE (as gguf:~/qwen2.5-3b-instruct-q4_k_m.gguf), "
    "hf:REPO_OR_FOLDER (as hf:Qwen/Qwen2.5-7B-Instruct) or ADDRESS#MODEL (as http://127.0.0.1:8000/v1#qwen2.5-7b)"
)
NONE = "none"

Kind = Literal["none", "openai", "server", "hf", "gguf"]


class UnknownModel(MemoirError):
    """A name is not that of a chat model, or the model's key or files are missing."""


@dataclass(frozen=True, slots=True)
class ModelName:
    """A parsed name: `model` is the name at its server or hub, or a file, `address` that of the server."""

    kind: Kind
    model: str = ""
    address: str = ""


def is_named(name: str) -> bool:
    """Whether a name is other than "none"."""
    return name.strip() not in ("", NONE)


def is_local(name: str) -> bool:
    """Whether the model of that name runs in this process."""
    return name.startswith(("hf:", "gguf:"))


def parse_name(name: str) -> ModelName:
    """Parse a name.

    Raises:
        UnknownModel: it has none of the forms, or contains a key.
    """
    if name.strip() == NONE:
        return ModelName("none")
    kind, _, rest = name.partition(":")
    if kind in ("openai", "hf", "gguf") and rest.strip():
        return ModelName(cast("Kind", kind), rest.strip())
    return _server(name)


def _server(name: str) -> ModelName:
    try:
        parts = urlsplit(name)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.fragment.strip()
        port = parts.port
    except ValueError:  # a port that is not a number, an unclosed bracket
        usable, port = "", None
    if not usable or port == 0:
        raise UnknownModel(f"{redact_keys(name)!r} is not the name of a chat model; write {FORMS}")
    if parts.username is not None or parts.query:
        raise UnknownModel(
            f"the address of {parts.hostname} contains a user name, a password or a query, and names are recorded with "
            "every run; put the key into MEMOIR_API_KEY and give the address alone"
        )
    return ModelName("server", parts.fragment.strip(), name.partition("#")[0].rstrip("/"))
