"""`python -m memory export`, `backup` and `restore`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from memory.bank import backup
from memory.bank.bank import Bank
from memory.cli.command import AddCommand, Arguments, print_result
from memory.cli.progress_bar import progress_bar
from memory.errors import MemoirError
from memory.exporting import export
from memory.settings import BankSettings
from memory.tab.formatting import format_count


def add_commands(add: AddCommand) -> None:
    """Add the commands to the command line."""
    command = add("export", export_personas, "Write one persona, or all, to a file that `import` reads back.")
    command.add_argument("--persona", help="only this persona; all by default")
    command.add_argument("--output", type=Path, help="the file to write; standard output by default")

    command = add("backup", back_up, "Copy the whole bank to a new file, even while it is in use, and check the copy.")
    command.add_argument("file", type=Path)

    command = add("restore", restore, "Replace the bank with a backup; the current bank is kept beside it.")
    command.add_argument("file", type=Path)


def export_personas(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Write one persona, or all, as JSON Lines."""
    personas = [bank.persona(arguments.persona)] if arguments.persona else bank.personas()
    names = ", ".join(p.name for p in personas)
    if arguments.output is None:
        with progress_bar("Exporting") as task:
            for line in export.export_lines(bank, personas, task.report):
                print(line)
        return 0
    try:
        with progress_bar("Exporting") as task:
            lines = export.write_export(bank, personas, arguments.output, task.report)
    except OSError as fault:
        raise MemoirError(f"{arguments.output}: not written ({fault.strerror or fault}); left as it was") from fault
    values = {"persona": names, "file": arguments.output, "lines": lines}
    return print_result(arguments, values, [f"{arguments.output}: {lines} lines of {names}"])


def back_up(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Copy the bank to a new file."""
    with progress_bar("Copying") as task:
        summary = backup.backup(bank, arguments.file, task)
    values = {"file": arguments.file, **asdict(summary)}
    return print_result(arguments, values, [f"{arguments.file}: {_describe(summary)}; checked"])


def restore(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Replace the bank with a backup."""
    done = backup.restore(bank, arguments.file)
    before = f"; the previous bank is kept as {done.before}" if done.before else ""
    return print_result(arguments, done, [f"{bank.path}: {_describe(done.summary)}{before}"])


def _describe(summary: backup.BankSummary) -> str:
    counts = (
        format_count(summary.personas, "persona"),
        format_count(summary.sessions, "session"),
        format_count(summary.turns, "turn"),
        format_count(summary.memories, "memory", "memories"),
    )
    return ", ".join(counts)
