"""Read histories in other programs' formats: one module for each format, recognised by content and never by file name.

README.md lists the formats and shows how to add one. An importer turns bytes into records and knows no bank.
"""

from collections.abc import Iterator
from typing import Protocol

from memory.importers.benchmarks import dialsim, locomo, longmemeval, madial, memorybank, perltqa
from memory.importers.chats import sillytavern, telegram, whatsapp
from memory.importers.chats.assistants import chatgpt, claude, librechat, openwebui
from memory.importers.generic import character_card, memoir, transcript
from memory.importers.reading.source import Record, Source


class Importer(Protocol):
    """What the module of a format defines."""

    @property
    def NAME(self) -> str:  # noqa: N802  # a constant of the module
        """The name in reports."""

    def sniff(self, head: bytes, /) -> bool:
        """Whether a file that starts with these bytes (at most `HEAD_BYTES`) is of this format."""

    def read(self, path: Source, /) -> Iterator[Record]:
        """Stream the records of a file, so that no file has to fit in memory.

        A `PersonaDraft` begins a history, or returns to an earlier one of the same id; its sessions and memories follow
        in any order. A `Skip` reports what was left out, or was kept but needs a look.

        Raises:
            UnreadableFile: the rest of the file is unreadable; everything before it was handed over.
        """


# Tried in this order: the most specific format first, plain text last.
IMPORTERS: dict[str, Importer] = {
    "memoir": memoir,
    "longmemeval": longmemeval,
    "locomo": locomo,
    "chatgpt": chatgpt,
    "claude": claude,
    "openwebui": openwebui,
    "librechat": librechat,
    "telegram": telegram,
    "card": character_card,
    "sillytavern": sillytavern,
    "perltqa": perltqa,
    "madial": madial,
    "memorybank": memorybank,
    "dialsim": dialsim,
    "whatsapp": whatsapp,
    "transcript": transcript,
}

CHATS: tuple[Importer, ...] = (chatgpt, claude, openwebui, librechat, telegram, sillytavern, whatsapp, transcript)
"""The formats of conversations that the user may have had."""

BENCHMARKS: tuple[Importer, ...] = (longmemeval, locomo, perltqa, madial, memorybank, dialsim)
"""The formats of invented lives, which are never the user's."""
