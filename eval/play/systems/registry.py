"""Find a memory system by its name."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path

from eval.play.systems.built_in import BUILT_IN
from eval.play.systems.contract import MEMOIR, MemorySystem, Open
from eval.play.systems.http import HttpSystem
from memory.embedding.embedder import Embedder
from memory.errors import MemoirError

GROUP = "memoir.systems"
"""The group of entry points by which an installed package brings a system: NAME = "package.module:Open"."""


class UnknownMemorySystem(MemoirError):
    """There is no memory system of this name; the message lists them."""


def names() -> list[str]:
    """The systems that are here, Memoir's own first."""
    return [MEMOIR, *BUILT_IN, *sorted(point.name for point in entry_points(group=GROUP))]


def check(name: str) -> None:
    """Check that there is a system of this name, without opening it; raises `UnknownMemorySystem`."""
    if name not in names() and not _is_address(name):
        raise UnknownMemorySystem(
            f"there is no memory system {name!r}; there are {', '.join(names())}, or http:// and an address"
        )


def _is_address(name: str) -> bool:
    return name.startswith(("http://", "https://"))


def open_system(name: str, folder: Path, embedder: Embedder) -> MemorySystem:
    """Open an empty memory of a system, which may keep files in the folder.

    Raises:
        UnknownMemorySystem: There is none of this name.
    """
    check(name)
    if _is_address(name):
        return HttpSystem(name)
    folder.mkdir(parents=True, exist_ok=True)
    brought: dict[str, Open] = {point.name: point.load() for point in entry_points(group=GROUP, name=name)}
    opened: Open = {**BUILT_IN, **brought}[name]
    return opened(folder, embedder)


def versions(name: str) -> dict[str, str]:
    """The package, with its version, that brings a system; empty for one that comes with Memoir or is behind HTTP."""
    points = entry_points(group=GROUP, name=name)
    return {point.dist.name: point.dist.version for point in points if point.dist is not None}
