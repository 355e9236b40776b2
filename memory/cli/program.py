"""What all command lines share: commands, types of arguments, how results and errors are printed, and progress bars."""

import argparse
import io
import json
import os
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Any

from pydantic import ValidationError
from tqdm import tqdm

from memory.dates.expressions import describe_span, last_moment, read_date
from memory.errors import Cancelled, MemoirError
from memory.formatting import format_count, format_counts, to_json_values
from memory.progress import Task

MAX_NUMBER = 2**63 - 1
"""The largest integer that SQLite stores."""

INTERRUPTED = 130
"""The exit status after Ctrl-C, as shells define it."""

OWN_FILES_ONLY = 0o077
"""The `umask` of Memoir: other accounts of the machine read neither banks nor backups and exports."""

PROGRESS_FORMAT = "{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}"

Arguments = argparse.Namespace

Argument = tuple[str, dict[str, Any]]

Run = Callable[..., int | None]
"""Does what was asked and prints the result; returns the exit status, None for 0, or raises `MemoirError`.

It is called with the parsed arguments and with what its program works on. The first line of its docstring is its help.
"""


class Commands:
    """The commands of a parser, with the arguments that all of them share.

    The parsed arguments hold the chosen command's function as `command`.
    """

    def __init__(self, parser: argparse.ArgumentParser, *shared: Argument, metavar: str = "COMMAND") -> None:
        self.parser = parser
        self._shared = shared
        self._commands = parser.add_subparsers(required=True, metavar=metavar)

    def add(self, name: str, *arguments: Argument) -> Callable[[Run], Run]:
        """Make the decorated function a command with these arguments."""

        def register(run: Run) -> Run:
            text = (run.__doc__ or "").partition("\n")[0]
            parser = self._commands.add_parser(name, help=text, description=text)
            parser.set_defaults(command=run)
            for argument_name, options in (*self._shared, *arguments):
                parser.add_argument(argument_name, **options)
            return run

        return register

    def add_group(
        self, name: str, text: str, description: str, *shared: Argument, metavar: str = "COMMAND"
    ) -> "Commands":
        """Add commands that follow one word, as in `user add`; `text` is the word's help among these commands."""
        return Commands(self._commands.add_parser(name, help=text, description=description), *shared, metavar=metavar)


def argument(name: str, text: str | None = None, **options: Any) -> Argument:  # noqa: ANN401  # argparse's own
    """An argument with its help, and what else `argparse.ArgumentParser.add_argument` takes."""
    return name, {"help": text, **options}


def flag(name: str, text: str) -> Argument:
    """An option without a value."""
    return argument(name, text, action="store_true")


def number(name: str, text: str, **options: Any) -> Argument:  # noqa: ANN401
    """An option whose value is a whole number of at least 1."""
    return argument(name, text, type=positive_number, metavar="N", **options)


def path(name: str, text: str, *, metavar: str = "FILE", **options: Any) -> Argument:  # noqa: ANN401
    """An option whose value is a file or folder."""
    return argument(name, text, type=Path, metavar=metavar, **options)


def run_command(command: Callable[[], int | None], interrupted: str = "Interrupted.") -> int:
    """Run a command and return its exit status: 1 if it failed, 130 after Ctrl-C, else what the command returns, or 0.

    Files that the command makes can be read by this account only.
    `interrupted` is the message after Ctrl-C; it says what is kept.
    """
    for stream in (sys.stdout, sys.stderr):
        # A terminal or pipe that cannot show a character shows its code instead of failing.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    os.umask(OWN_FILES_ONLY)
    try:
        return command() or 0
    except ValidationError as fault:
        for error in fault.errors():
            print_error(f"MEMOIR_{str(error['loc'][0]).upper()}: {error['msg']}")
    except KeyboardInterrupt:
        print_error(interrupted)
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of a pipe ("| head") has read enough; Python would complain again when it closes the stream.
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115
    except (MemoirError, OSError, sqlite3.Error) as fault:  # a full disk or a locked folder is not a bug
        print_error(str(fault))
        return INTERRUPTED if isinstance(fault, Cancelled) else 1
    return 1


def print_error(message: str) -> None:
    """Print a message on standard error, marked as Memoir's."""
    print(f"memoir: {message}", file=sys.stderr)


def print_result(arguments: Arguments, value: object, lines: Iterable[str], fault: str = "") -> int:
    """Print a value as JSON with `--json`, else the lines, and then what went wrong; returns the exit status."""
    if arguments.json:
        lines = [json.dumps(to_json_values(value), ensure_ascii=False, indent=2)]
    for line in lines:
        print(line)
    if fault:
        print_error(fault)
    return 1 if fault else 0


def fill_in(template: str, **values: object) -> Iterator[str]:
    """The text of a template in the folder `texts`, filled in when it is printed; nothing if it is empty."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # not needed for JSON

    folder = FileSystemLoader(Path(__file__).with_name("texts"))
    texts = Environment(loader=folder, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    texts.keep_trailing_newline = True  # of what a template includes
    texts.filters |= {"count": format_count, "counts": format_counts, "span": describe_span}
    if text := texts.get_template(template).render(values):
        yield text.removesuffix("\n")


@contextmanager
def progress_bar(label: str) -> Iterator[Task]:
    """A task with a progress bar, if there is a terminal, that Ctrl-C cancels.

    The first Ctrl-C cancels once nothing is half done. A second one interrupts at once, unless the task can no longer
    be cancelled.
    """
    with tqdm(total=1, desc=label, bar_format=PROGRESS_FORMAT, leave=False, disable=None) as bar:

        def show(share: float) -> None:
            bar.update(share - bar.n)

        task = Task(show)

        def interrupt(number: int, frame: FrameType | None) -> None:
            if task.uncancellable:
                late = "too late to cancel: the memories are deleted and the file is being cleaned up"
                tqdm.write(f"memoir: {late}", file=sys.stderr)
            elif task.cancelled:
                raise KeyboardInterrupt
            task.cancel()

        before = signal.signal(signal.SIGINT, interrupt)
        try:
            yield task
        finally:
            signal.signal(signal.SIGINT, before)


def end_of_date(text: str) -> datetime:
    """The last moment of a date, so that everything said on that day is known."""
    return last_moment(text) or start_of_date(text)


def start_of_date(text: str) -> datetime:
    """The first moment of a date."""
    span = read_date(text)
    if span is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a date; write 2023-10-22 or 22 October 2023")
    return span.start


def positive_number(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or not 0 < int(text[:20]) <= MAX_NUMBER:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a whole number of at least 1")
    return int(text)
