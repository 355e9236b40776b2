"""Read JSON Lines, one object a line; a broken line is skipped and the others are read."""

import json
from collections.abc import Iterator

from memory.errors import UnreadableFile
from memory.importers.reading.fields import Fields, json_type
from memory.importers.reading.source import Source, TextLine, read_lines
from memory.types import Skip


def read_objects(path: Source) -> Iterator[Fields | Skip]:
    """Each line's object, with the place "line 12"; a line that is no object comes as a `Skip`.

    Raises:
        UnreadableFile: the file ends in the middle of its last line.
    """
    for line in read_lines(path):
        if isinstance(line, Skip):
            yield line
        elif line.text.strip():
            yield _read_object(path, line)


def is_truncated(text: str, fault: json.JSONDecodeError) -> bool:
    """Whether the only fault of the JSON is that it ends too early."""
    return fault.pos >= len(text.rstrip()) or fault.msg.startswith("Unterminated string")


def _read_object(path: Source, line: TextLine) -> Fields | Skip:
    try:
        value = json.loads(line.text, strict=False)
    except json.JSONDecodeError as fault:
        if not line.ended and is_truncated(line.text, fault):
            expected = f"expected the rest of an object after character {len(line.text):,}"
            raise UnreadableFile(
                f"{path.name} ends unexpectedly in its last line, {line.number}: {expected}."
            ) from fault
        return Skip(line.place, f"invalid JSON at character {fault.pos + 1:,}: {fault.msg}")
    except (ValueError, RecursionError):
        return Skip(line.place, "invalid JSON: nested too deeply, or a number of too many digits")
    if not isinstance(value, dict):
        return Skip(line.place, f"expected an object, found {json_type(value)}")
    return Fields(value, line.place, is_line=True)
