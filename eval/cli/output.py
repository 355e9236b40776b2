"""What the commands share: their parser, arguments of several of them, progress bars, and how results are shown."""

import argparse
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tqdm import tqdm

from eval.runs.experiment import HALVES
from eval.types import Watch
from memory.cli.program import Arguments, Commands, argument, flag, number, path, print_error
from memory.errors import MemoirError
from memory.formatting import to_json_values

JSON = flag("--json", "print one JSON object")
COMMANDS = Commands(
    argparse.ArgumentParser(prog="python -m eval", description="Measure how good the memory is, on benchmarks."), JSON
)

SECONDS_BETWEEN_LINES = 30.0
"""How often progress is told where the output is not a terminal."""

DATA = path("--data", "its file or folder, if not in Memoir's own data folder")
LIMIT = number("--limit", "ask the first N probes only")
SAMPLE = number("--sample", "ask N probes, drawn over histories and kinds of question")
HALF = argument("--half", "ask the half that tunes, or the half that reports; default: both", choices=HALVES)
JOBS = number("--jobs", "processes; they do not change the results", default=1)
WRITE = path("--write", "put the table between its marks in this file")


def show(arguments: Arguments, value: object, text: str, command: str = "") -> None:
    """Print a value as JSON if `--json` was given, otherwise the text; put a command's into the file of `--write`."""
    if command and arguments.write:
        write_between_marks(arguments.write, command, text)
    print(json.dumps(to_json_values(value), ensure_ascii=False) if arguments.json else text)


def write_between_marks(file: Path, command: str, content: str) -> None:
    """Replace what stands between the `marks` of a command in a file.

    Raises `MemoirError`, and changes nothing, if the file lacks the marks.
    """
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


@contextmanager
def progress_bars(unit: str, **options: Any) -> Iterator[Watch]:  # noqa: ANN401  # tqdm's own
    """Show one bar after another, a new one whenever the label changes; a line now and then if nobody sees bars."""
    bar: tqdm[Any] = tqdm(disable=True)
    shown, printed_at = "", time.monotonic()

    def watch(label: str, done: int, total: int) -> None:
        nonlocal bar, shown, printed_at
        if not sys.stderr.isatty() and time.monotonic() - printed_at >= SECONDS_BETWEEN_LINES:
            printed_at = time.monotonic()
            print_error(f"{label}: {done:,} of {total:,} {unit}s")
        if label != shown:
            bar.close()
            bar, shown = tqdm(unit=unit, desc=label, disable=None, **options), label
        bar.total = total
        bar.update(done - bar.n)

    try:
        yield watch
    finally:
        bar.close()
