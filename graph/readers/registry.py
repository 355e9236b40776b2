"""The readers by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from graph.readers import chain_of_note, extractive

if TYPE_CHECKING:
    from graph.readers.interface import Reader

READERS: Mapping[str, Reader] = {"extractive": extractive.read, "chain-of-note": chain_of_note.read}
