"""Find a memory system by its name."""

from collections.abc import Mapping
from importlib.metadata import entry_points, version
from importlib.util import find_spec
from pathlib import Path

from eval.play.systems.built_in import Bm25, Dense, FullHistory, LangGraphStore
from eval.play.systems.contract import MEMOIR, TEXTS, Chat, MemorySystem, Open
from eval.play.systems.http import HttpSystem
from eval.play.systems.mem0 import Mem0
from eval.play.systems.papers import HippoRag, LdAgent, MemWalker, Raptor
from eval.play.systems.updated_facts import UpdatedFacts
from eval.types import Costs
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
    "ld-agent": LdAgent,
    "updated-facts": UpdatedFacts,
    "mem0": Mem0,
}

WITHOUT_MODEL: Mapping[str, str] = {name: texts["without_model"] for name, texts in TEXTS.items()}
"""What systems do where no chat model is set, which their papers have; nothing if they cannot do without one."""

PACKAGES: Mapping[str, str] = {"mem0": "mem0ai"}
"""Packages of systems that Memoir does not bring along, by the module that they are imported as."""

ADDRESS = ("http://", "https://")


class UnknownMemorySystem(MemoirError):
    """There is no memory system of this name, or it lacks something; the message says what there is, or what to do."""


def names() -> list[str]:
    """The systems that are here, Memoir's own first."""
    return [MEMOIR, *BUILT_IN, *sorted(point.name for point in entry_points(group=GROUP))]


def check(name: str, *, has_model: bool) -> None:
    """Check that there is a system of this name, with what it needs; raises `UnknownMemorySystem` or `SystemFailed`."""
    if name.startswith(ADDRESS):
        HttpSystem(name, Chat(None, Costs()))
        return
    if name not in names():
        raise UnknownMemorySystem(
            f"there is no memory system {name!r}; there are {', '.join(names())}, or http:// and an address"
        )
    if WITHOUT_MODEL.get(name) == "" and not has_model:
        raise UnknownMemorySystem(f"{name} works with a chat model alone. Name one: --set model=NAME")
    if name in PACKAGES and find_spec(name) is None:
        raise UnknownMemorySystem(f"{name} is missing. Install it: .venv/bin/python -m pip install {PACKAGES[name]}")


def open_system(name: str, folder: Path, embedder: Embedder, chat: Chat) -> MemorySystem:
    """Open an empty memory of a system, which may keep files in the folder; raises `UnknownMemorySystem`."""
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
