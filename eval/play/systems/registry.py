"""Find a memory system by its name."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from eval.play.systems.built_in import Bm25, Dense, FullHistory, LangGraphStore
from eval.play.systems.contract import MEMOIR, Chat, MemorySystem, Open
from eval.play.systems.hipporag import HippoRag
from eval.play.systems.http import HttpSystem
from eval.play.systems.memwalker import MemWalker
from eval.play.systems.raptor import Raptor
from graph.models.registry import is_named
from memory.embedding.embedder import Embedder
from memory.errors import MemoirError

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
}

NEED_MODEL = ("memwalker",)

WITHOUT_MODEL: Mapping[str, str] = {
    "raptor": "its summaries are the sentences nearest to the centroid of TF-IDF",
    "hipporag": "its graph is of speakers, content words and the facts that rules read",
}
"""What systems do where no chat model is set, which their papers have."""


class UnknownMemorySystem(MemoirError):
    """There is no memory system of this name, or it lacks something; the message says what there is, or what to do."""


def names() -> list[str]:
    """The systems that are here, Memoir's own first."""
    return [MEMOIR, *BUILT_IN, *sorted(point.name for point in entry_points(group=GROUP))]


def check(name: str, *, has_model: bool) -> None:
    """Check that there is a system of this name, with what it needs; raises `UnknownMemorySystem`."""
    if name not in names() and not _is_address(name):
        raise UnknownMemorySystem(
            f"there is no memory system {name!r}; there are {', '.join(names())}, or http:// and an address"
        )
    if name in NEED_MODEL and not has_model:
        raise UnknownMemorySystem(f"{name} works with a chat model alone. Name one: --set model=NAME")


def _is_address(name: str) -> bool:
    return name.startswith(("http://", "https://"))


def open_system(name: str, folder: Path, embedder: Embedder, chat: Chat) -> MemorySystem:
    """Open an empty memory of a system, which may keep files in the folder.

    Raises:
        UnknownMemorySystem: There is none of this name, or it lacks something.
    """
    check(name, has_model=chat.model is not None)
    if _is_address(name):
        return HttpSystem(name, chat)
    folder.mkdir(parents=True, exist_ok=True)
    brought: dict[str, Open] = {point.name: point.load() for point in entry_points(group=GROUP, name=name)}
    opened: Open = {**BUILT_IN, **brought}[name]
    return opened(folder, embedder, chat)


def remark(settings: Mapping[str, Any]) -> str:
    """What the system of a run did without the chat model that its paper has; empty if it had one, or needs none."""
    system = settings.get("system", MEMOIR)
    is_told = system in WITHOUT_MODEL and not is_named(settings.get("model", ""))
    return f"{system} had no chat model: {WITHOUT_MODEL[system]}." if is_told else ""


def versions(name: str) -> dict[str, str]:
    """The package, with its version, that brings a system; empty for one that comes with Memoir or is behind HTTP."""
    points = entry_points(group=GROUP, name=name)
    return {point.dist.name: point.dist.version for point in points if point.dist is not None}
