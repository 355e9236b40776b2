"""What the commands share: their parser and arguments, progress bars, and how results are shown."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from tqdm import tqdm

from eval.benchmarks import BENCHMARKS, PRESETS
from eval.benchmarks.longmemeval import histories
from eval.fetching.fetch import SOURCES
from eval.play.execute import ENGINES
from eval.play.systems import registry
from eval.reporting.exports import FORMATS
from eval.runs.experiment import HALVES
from eval.speed.synthetic import Size
from eval.types import Watch
from memory import read_table
from memory.cli.program import Argument, Arguments, Commands, Run, argument, flag, positive_number, print_error
from memory.errors import MemoirError
from memory.formatting import to_json_values

JSON = flag("--json", "print one JSON object")
COMMANDS = Commands(
    argparse.ArgumentParser(prog="python -m eval", description="Measure how good the memory is, on benchmarks."), JSON
)

SHARES = ",".join(f"{source}={share}" for source, share in histories.SHARES.items())


def _read_sizes(text: str) -> tuple[int, ...]:
    return tuple(positive_number(part.strip()) for part in text.split(","))


def _read_size(text: str) -> Size:
    personas, _, memories = text.partition("x")
    return Size(positive_number(personas), positive_number(memories))


_ARGUMENTS = read_table(__file__, "commands.toml")
_KINDS: Mapping[str, dict[str, Any]] = {
    "text": {},
    "number": {"type": positive_number, "metavar": "N"},
    "integer": {"type": int},
    "score": {"type": int, "choices": range(11), "metavar": "N"},
    "file": {"type": Path, "metavar": "FILE"},
    "flag": {"action": "store_true"},
    "list": {"action": "append", "default": []},
    "sizes": {"type": _read_sizes, "metavar": "N,N"},
    "size": {"type": _read_size, "metavar": "PxN"},
}
_CHOICES: Mapping[str, Collection[str]] = {
    "benchmarks": BENCHMARKS,
    "trained": ["perltqa"],
    "sources": SOURCES,
    "presets": PRESETS,
    "halves": HALVES,
    "engines": ENGINES,
    "formats": FORMATS,
}
_NAMED = {
    "systems": ", ".join(registry.names()),
    "formats": "; ".join(f"{name}: {found.about}" for name, found in FORMATS.items()),
    "shares": SHARES,
}
"""What helps name that is listed elsewhere."""

SECONDS_BETWEEN_LINES = 30.0
"""How often progress is told where the output is not a terminal."""


def arguments_of(command: str) -> Iterator[Argument]:
    """The arguments of a command, or of a group of commands, as commands.toml has them."""
    for name, own in _ARGUMENTS[command].items():
        options = dict(_ARGUMENTS["shared"][name] if own is True else own)
        options = _KINDS[options.pop("kind", "text")] | options
        if "choices" in options and isinstance(options["choices"], str):
            options["choices"] = _CHOICES[options["choices"]]
        yield argument(name, options.pop("help", "").format(**_NAMED) or None, **options)


def command(name: str) -> Callable[[Run], Run]:
    """Make the decorated function a command with its arguments."""
    return COMMANDS.add(name, *arguments_of(name))


def show(arguments: Arguments, value: object, text: str) -> None:
    """Print a value as JSON if `--json` was given, otherwise the text."""
    print(json.dumps(to_json_values(value), ensure_ascii=False) if arguments.json else text)


def show_table(arguments: Arguments, command: str, value: object, table: str) -> None:
    """Show a value as JSON or the table; put the table into the file that `--write` names."""
    if arguments.write:
        write_between_marks(arguments.write, command, table)
    show(arguments, value, table)


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
    bars: dict[str, tqdm[Any]] = {}
    printed_at = time.monotonic()
    with ExitStack() as stack:

        def watch(label: str, done: int, total: int) -> None:
            nonlocal printed_at
            if not sys.stderr.isatty() and time.monotonic() - printed_at >= SECONDS_BETWEEN_LINES:
                printed_at = time.monotonic()
                print_error(f"{label}: {done:,} of {total:,} {unit}s")
            if label not in bars:
                stack.close()
                bars.clear()
                bars[label] = stack.enter_context(tqdm(unit=unit, desc=label, disable=None, **options))
            bars[label].total = total
            bars[label].update(done - bars[label].n)

        yield watch
