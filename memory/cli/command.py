"""What the modules of the commands share: the types of a command, and how results are printed."""

import argparse
import json
from collections.abc import Callable, Iterable

from memory.bank.bank import Bank
from memory.cli.errors import print_error
from memory.exporting.json_values import to_json_values
from memory.settings import BankSettings

Arguments = argparse.Namespace

Command = Callable[[Arguments, Bank, BankSettings], int]
"""Does what was asked, prints the result, and returns the exit status; raises `MemoirError` if it cannot."""

AddCommand = Callable[[str, Command, str], argparse.ArgumentParser]
"""Adds a command, by its name, function and help text, to the command line; returns its parser."""


def print_result(arguments: Arguments, value: object, lines: Iterable[str]) -> int:
    """Print a value as JSON with `--json`, else the lines; returns 0, as a command does that succeeded."""
    if arguments.json:
        lines = [json.dumps(to_json_values(value), ensure_ascii=False, indent=2)]
    for line in lines:
        print(line)
    return 0


def status_of(fault: str) -> int:
    """Print an error message, if there is one; returns 1 if so, else 0."""
    if fault:
        print_error(fault)
    return 1 if fault else 0
