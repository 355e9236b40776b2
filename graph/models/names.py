"""What a chat model's name says: which one it is, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from graph.models.keys import without_keys
from memory.errors import MemoirError

FORMS = (
    "none, openai:MODEL (as openai:gpt-4o-mini), hf:REPO_OR_FOLDER (as hf:Qwen/Qwen2.5-7B-Instruct) or ADDRESS#MODEL "
    "(as http://127.0.0.1:8000/v1#qwen2.5-7b)"
)
NONE = "none"

Kind = Literal["none", "openai", "server", "local"]


class UnknownModel(MemoirError):
    """A name that is no chat model's, or a model whose key or files are missing."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name taken apart: `model` is what it is called at its place, `address` where that is for a server."""

    kind: Kind
    model: str = ""
    address: str = ""


def is_named(name: str) -> bool:
    """Whether a chat model is named at all."""
    return name.strip() not in ("", NONE)


def is_local(name: str) -> bool:
    """Whether the model of that name would run in this process."""
    return name.startswith("hf:")


def parse(name: str) -> Name:
    """Take a name apart.

    Raises:
        UnknownModel: it has none of the forms, or holds a key.
    """
    if name.strip() == NONE:
        return Name("none")
    kind, _, rest = name.partition(":")
    if kind == "openai" and rest.strip():
        return Name("openai", rest.strip())
    if kind == "hf" and rest.strip():
        return Name("local", rest.strip())
    return _server(name)


def _server(name: str) -> Name:
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
    return Name("server", parts.fragment.strip(), name.partition("#")[0].rstrip("/"))
