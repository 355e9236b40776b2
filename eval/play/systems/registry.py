"""Find a memory system by its name, or at its address."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from importlib.metadata import entry_points, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
from pydantic import BaseModel

from eval.play.systems.built_in import Bm25, Dense, FullHistory, LangGraphStore, Mem0, UpdatedFacts
from eval.play.systems.contract import MEMOIR, TEXTS, Found, MemorySystem, MeteredChat, Open, Session
from eval.play.systems.papers import HippoRag, LdAgent, MemWalker, Raptor
from eval.types import Costs
from memory.embedding.embedder import Embedder
from memory.errors import MemoirError
from memory.formatting import to_json_values

GROUP = "memoir.systems"
"""The group of entry points by which an installed package brings a system: NAME = "package.module:Open"."""

BUILT_IN: Mapping[str, Open] = {
    "full-history": FullHistory,
    "bm25": Bm25,
    "dense": Dense,
    "langgraph-store": LangGraphStore,
    "raptor": Raptor,
    "hipporag": HippoRag,
    "memwalker": MemWalker,
    "ld-agent": LdAgent,
    "updated-facts": UpdatedFacts,
    "mem0": Mem0,
}

WITHOUT_MODEL: Mapping[str, str] = {name: texts["without_model"] for name, texts in TEXTS.items()}
"""What systems do where no chat model is set, which their papers have; nothing if they cannot do without one."""

PACKAGES: Mapping[str, str] = {"mem0": "mem0ai"}
"""Packages of systems that Memoir does not bring along, by the module that they are imported as."""

ADDRESS = ("http://", "https://")

TIMEOUT_SECONDS = 120.0
"""Longest wait for an answer of a system at an address, which may ask a model for each session."""


def names() -> list[str]:
    """The systems that are here, Memoir's own first."""
    return [MEMOIR, *BUILT_IN, *sorted(point.name for point in entry_points(group=GROUP))]


def check(name: str, *, has_model: bool) -> None:
    """Check that there is a system of this name, with what it needs; raises `MemoirError` if not."""
    if name.startswith(ADDRESS):
        HttpSystem(name, MeteredChat(None, Costs()))
        return
    if name not in names():
        raise MemoirError(
            f"there is no memory system {name!r}; there are {', '.join(names())}, or http:// and an address"
        )
    if WITHOUT_MODEL.get(name) == "" and not has_model:
        raise MemoirError(f"{name} works with a chat model alone. Name one: --set model=NAME")
    if name in PACKAGES and find_spec(name) is None:
        raise MemoirError(f"{name} is missing. Install it: .venv/bin/python -m pip install {PACKAGES[name]}")


def open_system(name: str, folder: Path, embedder: Embedder, chat: MeteredChat) -> MemorySystem:
    """Open an empty memory of a system, which may keep files in the folder; raises `MemoirError`."""
    if name.startswith(ADDRESS):
        return HttpSystem(name, chat)
    check(name, has_model=chat.model is not None)
    folder.mkdir(parents=True, exist_ok=True)
    brought: dict[str, Open] = {point.name: point.load() for point in entry_points(group=GROUP, name=name)}
    opened: Open = {**BUILT_IN, **brought}[name]
    return opened(folder, embedder, chat)


def versions(name: str) -> dict[str, str]:
    """The package, with its version, that brings a system; empty for one that comes with Memoir or is behind HTTP."""
    points = entry_points(group=GROUP, name=name)
    packages = [PACKAGES[name]] if name in PACKAGES and find_spec(name) else []
    return {p.dist.name: p.dist.version for p in points if p.dist is not None} | {p: version(p) for p in packages}


# --- systems behind HTTP


class _Reply(BaseModel):
    found: tuple[Found, ...] = ()
    answer: str | None = None
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


class HttpSystem:
    """A memory system behind HTTP: eval/README.md describes its requests, each to an address that ends in the verb."""

    def __init__(self, address: str, chat: MeteredChat) -> None:
        self.address, self._chat = address.rstrip("/"), chat
        self._client = httpx.Client(timeout=TIMEOUT_SECONDS)
        self._post("open", {})

    def remember(self, session: Session) -> None:
        """Send a session."""
        self._post("remember", asdict(session))

    def search(self, question: str, as_of: datetime, k: int) -> Sequence[Found]:
        """Ask for the best k texts."""
        return self._post("search", {"question": question, "as_of": as_of, "k": k}, needs="found").found

    def answer(self, question: str, as_of: datetime) -> str | None:
        """Ask for its own answer."""
        return self._post("answer", {"question": question, "as_of": as_of}).answer

    def _post(self, verb: str, body: dict[str, Any], needs: str = "") -> _Reply:
        try:
            response = self._client.post(f"{self.address}/{verb}", json=to_json_values(body))
            is_missing = verb == "answer" and response.status_code == httpx.codes.NOT_FOUND
            content = {} if is_missing else response.raise_for_status().json()
            reply = _Reply.model_validate(content if isinstance(content, dict) else {})
            if needs and needs not in reply.model_fields_set:
                raise ValueError(f"there is no {needs!r}")
        except (httpx.HTTPError, ValueError) as fault:
            raise MemoirError(
                f"the memory system at {self.address}/{verb} did not answer with JSON as expected: {fault}. What was "
                "answered is kept; the same command goes on"
            ) from fault
        self._chat.spend(reply.calls, reply.tokens_in, reply.tokens_out)
        return reply
