"""Write a generated table into a Markdown file, between two marks."""

from __future__ import annotations

from pathlib import Path

from memory.errors import MemoirError


def write_between_marks(file: Path, command: str, content: str) -> None:
    """Replace what stands between the `marks` of a command; raises `MemoirError`, and changes nothing, without them."""
    begin, end = marks(command)
    text = file.read_text("utf-8")
    before, found_begin, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found_begin or not found_end:
        raise MemoirError(f"{file} has no place for the table. Put {begin} and {end} on lines of their own")
    file.write_text(f"{before}{begin}\n\n{content}\n\n{end}{after}", "utf-8")


def marks(command: str) -> tuple[str, str]:
    """The lines before and after what a command writes."""
    return f"<!-- python -m eval {command} -->", f"<!-- /python -m eval {command} -->"
