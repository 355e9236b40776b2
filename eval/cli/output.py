"""Print what commands make: JSON or text, and progress bars; write tables into Markdown files."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tqdm import tqdm

from eval.types import Watch
from memory.errors import MemoirError


def show(arguments: argparse.Namespace, value: object, text: str) -> int:
    """Print a value as JSON if `--json` was given, otherwise the text; return exit status 0."""
    print(json.dumps(value, ensure_ascii=False) if arguments.json else text)
    return 0


@contextmanager
def progress_bars(unit: str, **options: Any) -> Iterator[Watch]:  # noqa: ANN401  # tqdm's own
    """Show one bar after another, a new one whenever the label changes; nothing if the output is not a terminal."""
    bars: dict[str, tqdm[Any]] = {}

    def watch(label: str, done: int, total: int) -> None:
        if label not in bars:
            close()
            bars[label] = tqdm(total=total, unit=unit, desc=label, disable=None, **options)
        bars[label].total = total
        bars[label].update(done - bars[label].n)

    def close() -> None:
        while bars:
            bars.popitem()[1].close()

    try:
        yield watch
    finally:
        close()


def write_between_marks(file: Path | None, command: str, content: str) -> None:
    """Replace what stands between the `marks` of a command in a file, if one is given.

    Raises `MemoirError`, and changes nothing, if the file lacks the marks.
    """
    if file is None:
        return
    begin, end = marks(command)
    text = file.read_text("utf-8")
    before, has_begin, rest = text.partition(begin)
    _, has_end, after = rest.partition(end)
    if not has_begin or not has_end:
        raise MemoirError(f"{file} has no place for the table. Put {begin} and {end} on lines of their own")
    file.write_text(f"{before}{begin}\n\n{content}\n\n{end}{after}", "utf-8")


def marks(command: str) -> tuple[str, str]:
    """The lines before and after what a command writes."""
    return f"<!-- python -m eval {command} -->", f"<!-- /python -m eval {command} -->"
