"""Memoir's own format, version 1, which is easy to write by hand: JSON Lines, or one JSON object.

memory/importers/README.md describes its fields. Memoir's exports are version 2, which contains every row of a bank and
a checksum; see `memory.exporting.format`.
"""

import json
from collections.abc import Iterator
from contextlib import suppress

from memory.bank.rows import clean
from memory.errors import UnreadableFile
from memory.exporting import format as export_format
from memory.importers.generic import memoir_export
from memory.importers.generic.memoir_records import read_memory, read_persona, read_session
from memory.importers.reading.fields import Fields, pop_skips
from memory.importers.reading.json_lines import is_truncated, read_objects
from memory.importers.reading.json_stream import Place, format_place, has_any, outline, stream_values
from memory.importers.reading.source import Record, Source, count_records, head_text, read_head
from memory.types import PersonaDraft, Skip

NAME = "Memoir"
VERSION = 1
sniff = has_any(("memoir",))
"""Whether its first object names the format."""


@count_records
def read(path: Source) -> Iterator[Record]:
    """The histories of a file: an export of Memoir, JSON Lines, or one JSON object."""
    if memoir_export.is_export(path):
        yield from memoir_export.read_records(path)
    elif _is_one_object(read_head(path)):
        yield from _read_one_object(path)
    else:
        yield from _read_lines(path)


def _is_one_object(head: bytes) -> bool:
    if not {("sessions",), ("memories",)}.isdisjoint(outline(head)):
        return True
    first, line_end, _ = head_text(head).lstrip().partition("\n")
    try:
        json.loads(first, strict=False)
    except json.JSONDecodeError as fault:
        return bool(line_end) and is_truncated(first, fault)
    except (ValueError, RecursionError):
        return False
    return False


def _read_lines(path: Source) -> Iterator[Record]:
    persona: PersonaDraft | None = None
    for line in read_objects(path):
        if isinstance(line, Skip):
            yield line
            continue
        values = line.values
        _check_version(path, values.get("memoir", VERSION))
        drafts: list[Record | None] = []
        if "persona" in values or (persona is None and ("session" in values or "memory" in values)):
            persona = read_persona(line.object("persona"), clean(path.stem))
            drafts.append(persona)
        if "session" in values and persona:
            drafts.append(read_session(line.object("session"), persona.name))
        if "memory" in values:
            drafts.append(read_memory(line.object("memory")))
        if not drafts and "memoir" not in values:
            line.report("", "expected a persona, a session or a memory")
        yield from (draft for draft in drafts if draft)
        yield from pop_skips(line.skips)


def _read_one_object(path: Source) -> Iterator[Record]:
    skips: list[Skip] = []
    persona = read_persona(Fields.of(_find_persona(path), "persona", skips), clean(path.stem))
    yield persona
    for place, value in stream_values(path, _is_opened):
        fields = Fields.of(value, format_place(place), skips) if len(place) == 2 else Fields({}, "")
        draft: Record | None = None
        if place[:1] == ("sessions",):
            draft = read_session(fields, persona.name)
        elif place[:1] == ("memories",):
            draft = read_memory(fields)
        yield from pop_skips(skips, draft)


def _find_persona(path: Source) -> object:
    """The persona, which may come after its sessions; a broken file is reported when it is read."""
    with suppress(UnreadableFile):
        for place, value in stream_values(path, _is_opened):
            if place == ("persona",):
                return value
    return {}


def _is_opened(place: Place) -> bool:
    return place in ((), ("sessions",), ("memories",))


def _check_version(path: Source, version: object) -> None:
    if version != VERSION:
        raise UnreadableFile(
            f"{path.name} is version {str(version)[:20]} of Memoir's format; this Memoir reads versions {VERSION} and "
            f"{export_format.VERSION}. Update Memoir."
        )
