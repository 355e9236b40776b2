"""The bank from the command line: python -m memory import|list|show|search|forget|export|backup|restore|user|..."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from memory.bank import journal
from memory.bank.bank import Bank
from memory.cli import commands
from memory.cli import user_command as accounts
from memory.dates.expressions import last_moment, read_date
from memory.errors import Cancelled, MemoirError
from memory.settings import BankSettings

Arguments = argparse.Namespace

STOPPED = 130
"""The exit status of a command ended by Ctrl-C, as shells give it."""

LAST_NUMBER = 2**63 - 1
"""The largest number that SQLite counts to."""


def main(argv: list[str] | None = None) -> int:
    """Run one command; 0 if it did what was asked, 1 if it could not, 2 for wrong arguments, 130 if it was stopped."""
    arguments = _parser().parse_args(argv)
    for stream in (sys.stdout, sys.stderr):
        # A terminal or pipe that cannot show a character of somebody's memory shows its code instead of failing.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        settings = BankSettings()
        command: Callable[[Arguments, Bank, BankSettings], int] = arguments.command
        with journal.requested("command line"):
            return command(arguments, Bank(settings.bank_path), settings)
    except ValidationError as fault:
        for error in fault.errors():
            print(f"memoir: MEMOIR_{str(error['loc'][0]).upper()}: {error['msg']}", file=sys.stderr)
    except MemoirError as fault:
        print(f"memoir: {fault}", file=sys.stderr)
        if isinstance(fault, Cancelled):
            return STOPPED
    except KeyboardInterrupt:
        print(
            "memoir: stopped; what was stored before is whole, and the same command goes on from there", file=sys.stderr
        )
        return STOPPED
    except BrokenPipeError:
        # The reader of a pipe ("| head") has seen enough; Python would complain again when it closes the stream.
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115
    return 1


def moment(text: str) -> datetime:
    """A date as typed; a day means its end, so that all said on it is known."""
    last = last_moment(text)
    if last is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no date; write 2023-10-22 or 22 October 2023")
    return last


def first_moment(text: str) -> datetime:
    """A date as typed; a day means its start."""
    span = read_date(text)
    if span is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no date; write 2023-10-22 or 22 October 2023")
    return span.start


def number(text: str) -> int:
    """A number as the bank gives them out, or an amount."""
    if not text.isdecimal() or not 0 < int(text[:20]) <= LAST_NUMBER:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no number from 1 on")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m memory", description="What Memoir knows, from the command line.")
    offered = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, run: Callable[[Arguments, Bank, BankSettings], int], text: str) -> argparse.ArgumentParser:
        command = offered.add_parser(name, help=text, description=text)
        command.add_argument("--json", action="store_true", help="print JSON")
        command.set_defaults(command=run)
        return command

    command = add("import", commands.bring_in, "Store the histories of a file; a second time adds nothing.")
    command.add_argument("file", type=Path)
    command.add_argument("--persona", help="one persona that takes all (made if missing); else one a history")
    command.add_argument("--only", action="append", metavar="HISTORY", help="take this history; may be repeated")
    command.add_argument("--dry-run", action="store_true", help="only tell what the file holds")

    add("list", commands.list_personas, "List the personas and how much they know.")

    command = add("show", commands.show, "Show a memory with where it comes from, or a session.")
    command.add_argument("--persona", required=True)
    command.add_argument("--session", type=number, metavar="NUMBER")
    command.add_argument("memory", type=number, nargs="?")

    command = add("search", commands.search, "Find memories by words and meaning.")
    command.add_argument("query")
    command.add_argument("--persona", required=True)
    command.add_argument("--as-of", type=moment, metavar="DATE", help="know nothing said after this day")
    command.add_argument("--limit", type=number, default=10)

    command = add(
        "forget",
        commands.forget_wanted,
        "Remove memories, a session, a persona or what fits, and prove that it is gone.",
    )
    command.add_argument("--persona", help="whose; with --before and --mentions everybody's if left out")
    command.add_argument("--before", type=first_moment, metavar="DATE", help="all that was said before this day")
    command.add_argument("--mentions", metavar="TEXT", help="all that mentions these words")
    command.add_argument("--yes", action="store_true", help="do not ask before --before and --mentions")
    command.add_argument("--session", type=number, metavar="NUMBER")
    command.add_argument("--everything", action="store_true", help="the persona and all it knows")
    command.add_argument("--dry-run", action="store_true", help="only tell what memories would go")
    command.add_argument("memory", type=number, nargs="*")

    command = add(
        "export",
        commands.export_personas,
        "Write a persona, or all, as Memoir's own JSON Lines, which import reads back.",
    )
    command.add_argument("--persona", help="this one only; all if left out")
    command.add_argument("--output", type=Path, help="file to write; standard output if left out")

    command = add(
        "backup", commands.back_up, "Copy the whole bank to a new file, whoever else is using it, and check the copy."
    )
    command.add_argument("file", type=Path)

    command = add(
        "restore", commands.restore, "Put a backup in the bank's place; the bank that was there is kept beside it."
    )
    command.add_argument("file", type=Path)

    command = add(
        "journal",
        commands.show_journal,
        "Tell what was written, recalled and forgotten, and by whom; the newest first.",
    )
    command.add_argument("--csv", action="store_true", help="print all of it as CSV")
    command.add_argument("--limit", type=number, default=50)

    add("verify", commands.verify, "Check that index and vectors agree with what is stored.")
    add("rebuild", commands.rebuild, "Make index and vectors anew.")

    text = "Make, list and remove those who may log in to the app with --auth."
    command = offered.add_parser("user", help=text, description=text)
    command.set_defaults(command=commands.see_to_users)
    accounts.describe(command)
    return parser


if __name__ == "__main__":
    sys.exit(main())
