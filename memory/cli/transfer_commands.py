"""`python -m memory import` and `export`."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from memory import ingest
from memory.bank.bank import Bank
from memory.cli.command import AddCommand, Arguments, print_result, status_of
from memory.cli.progress_bar import progress_bar
from memory.errors import MemoirError
from memory.exporting import export
from memory.formatting import format_count, format_counts
from memory.settings import BankSettings
from memory.types import Skip


def add_commands(add: AddCommand) -> None:
    """Add the commands to the command line."""
    command = add("import", import_file, "Import the histories of a file; importing it again adds nothing.")
    command.add_argument("file", type=Path, help="the file to import")
    command.add_argument(
        "--persona", help="import everything into this persona (created if missing); by default one for each history"
    )
    command.add_argument(
        "--me", default="", metavar="NAME", help="which speaker you are; the persona gets the name of the other one"
    )
    command.add_argument("--only", action="append", metavar="HISTORY", help="import only this history; repeatable")
    command.add_argument("--dry-run", action="store_true", help="only show what the file contains")

    command = add("export", export_personas, "Write one persona, or all, to a file that `import` reads back.")
    command.add_argument("--persona", help="only this persona; all by default")
    command.add_argument("--output", type=Path, help="the file to write; standard output by default")


def import_file(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Store the histories of a file, or show what it contains."""
    if arguments.dry_run:
        return _preview(arguments)
    with progress_bar("Importing") as task:
        report = ingest.ingest(
            bank,
            arguments.file,
            choose=arguments.only,
            persona=arguments.persona,
            user=arguments.me,
            progress=task.report,
        )
    missing = f"{arguments.file} has no history {', '.join(report.missing)}" if report.missing else ""
    lines = [f"{arguments.file}: {report.format}"]
    for h in report.histories:
        in_file = {"sessions": h.found_sessions, "turns": h.found_turns, "memories": h.found_memories}
        stored, known = format_counts(h.stored.added), h.stored.known_turns + h.stored.known_memories
        counts = f"found {format_counts(in_file)}; stored {stored}; already known: {known}"
        lines.append(f"  {h.persona.name} ({h.persona.id}): {counts}")
        lines += _list_skips(h.skips, h.skipped)
    return print_result(arguments, report, lines) or status_of(report.fault) or status_of(missing)


def _preview(arguments: Arguments) -> int:
    with progress_bar("Reading") as task:
        summary = ingest.summarize(arguments.file, task.report)
    lines = [f"{arguments.file}: {summary.format}, {format_count(len(summary.histories), 'history', 'histories')}"]
    for h in summary.histories:
        counts = {"sessions": h.sessions, "turns": h.turns, "memories": h.memories}
        lines.append(f"  {h.external_id or '-'}  {h.name}: {format_counts(counts)}")
    if summary.speakers:
        lines.append(f"  Speakers: {', '.join(summary.speakers)}. Say which one you are with --me.")
    lines += _list_skips(summary.skips, summary.skipped)
    return print_result(arguments, summary, lines) or status_of(summary.fault)


def _list_skips(skips: Sequence[Skip], count: int) -> Iterator[str]:
    if count:
        yield f"    left out, or stored but worth checking: {count}"
    for skip in skips:
        yield f"    {skip.place}: {skip.reason}"
    if count > len(skips):
        yield f"    ... and {count - len(skips)} more"


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
