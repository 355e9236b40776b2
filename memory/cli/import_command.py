"""`python -m memory import`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from memory import ingest
from memory.bank.bank import Bank
from memory.cli.command import AddCommand, Arguments, print_result, status_of
from memory.cli.progress_bar import progress_bar
from memory.settings import BankSettings
from memory.tab.formatting import format_count
from memory.types import Skip


def add_commands(add: AddCommand) -> None:
    """Add the command to the command line."""
    command = add("import", import_file, "Import the histories of a file; importing it again adds nothing.")
    command.add_argument("file", type=Path)
    command.add_argument(
        "--persona", help="import everything into this persona (created if missing); by default one for each history"
    )
    command.add_argument("--only", action="append", metavar="HISTORY", help="import only this history; repeatable")
    command.add_argument("--dry-run", action="store_true", help="only show what the file contains")


def import_file(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Store the histories of a file, or show what it contains."""
    if arguments.dry_run:
        return _preview(arguments)
    with progress_bar("Importing") as task:
        report = ingest.ingest(
            bank, arguments.file, choose=arguments.only, persona=arguments.persona, progress=task.report
        )
    missing = f"{arguments.file} has no history {', '.join(report.missing)}" if report.missing else ""
    lines = [f"{arguments.file}: {report.format}"]
    for h in report.histories:
        lines.append(
            f"  {h.persona.name} ({h.persona.id}): "
            f"found {_describe(h.found_sessions, h.found_turns, h.found_memories)}; "
            f"stored {_describe(h.stored.sessions, h.stored.turns, h.stored.memories)}; "
            f"already known: {h.stored.known_turns + h.stored.known_memories}"
        )
        lines += _list_skips(h.skips, h.skipped)
    return print_result(arguments, report, lines) or status_of(report.fault) or status_of(missing)


def _preview(arguments: Arguments) -> int:
    with progress_bar("Reading") as task:
        summary = ingest.summarize(arguments.file, task.report)
    lines = [f"{arguments.file}: {summary.format}, {format_count(len(summary.histories), 'history', 'histories')}"]
    for h in summary.histories:
        lines.append(f"  {h.external_id or '-'}  {h.name}: {_describe(h.sessions, h.turns, h.memories)}")
    lines += _list_skips(summary.skips, summary.skipped)
    return print_result(arguments, summary, lines) or status_of(summary.fault)


def _describe(sessions: int, turns: int, memories: int) -> str:
    stored = format_count(memories, "memory", "memories")
    return f"{format_count(sessions, 'session')}, {format_count(turns, 'turn')}, {stored}"


def _list_skips(skips: Sequence[Skip], count: int) -> Iterator[str]:
    if count:
        yield f"    left out, or stored but worth checking: {count}"
    for skip in skips:
        yield f"    {skip.place}: {skip.reason}"
    if count > len(skips):
        yield f"    ... and {count - len(skips)} more"
