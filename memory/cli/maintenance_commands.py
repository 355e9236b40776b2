"""`python -m memory journal`, `verify`, `rebuild`, `backup` and `restore`."""

from dataclasses import asdict
from pathlib import Path

from memory.bank import backup, journal, maintenance
from memory.bank.bank import Bank
from memory.cli.arguments import positive_number
from memory.cli.command import AddCommand, Arguments, print_result
from memory.cli.progress_bar import progress_bar
from memory.embedding.embedder import Embedder
from memory.formatting import format_counts
from memory.search import indexer
from memory.settings import BankSettings


def add_commands(add: AddCommand) -> None:
    """Add the commands to the command line."""
    command = add("journal", show_journal, "Show what was stored, recalled and forgotten, and by whom; newest first.")
    command.add_argument("--csv", action="store_true", help="print the whole journal as CSV")
    command.add_argument("--limit", type=positive_number, default=50)
    add(
        "verify",
        verify,
        "Check that what was said is unchanged, and that the search index and the embeddings match it.",
    )
    add("rebuild", rebuild, "Rebuild the search index and the embeddings.")

    command = add("backup", back_up, "Copy the whole bank to a new file, even while it is in use, and check the copy.")
    command.add_argument("file", type=Path)

    command = add("restore", restore, "Replace the bank with a backup; the current bank is kept beside it.")
    command.add_argument("file", type=Path)


def show_journal(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Show the newest entries of the journal, or all as CSV."""
    if arguments.csv:
        print(journal.to_csv(journal.read(bank)), end="")
        return 0
    entries = journal.read(bank, arguments.limit)
    return print_result(arguments, entries, ("  ".join(filter(None, entry.cells)) for entry in entries))


def verify(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Check what was said, the search index and the embeddings."""
    faults = maintenance.verify(bank, bank.embedding_model(settings.embedding_model))
    waiting = None if faults else indexer.count_pending(bank, bank.embedding_model(settings.embedding_model))
    sound = f"{bank.path}: no problems found; {waiting} memories are not embedded yet"
    print_result(arguments, {"faults": faults, "waiting": waiting}, faults or [sound])
    return 1 if faults else 0


def rebuild(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Rebuild the search index and the embeddings."""
    maintenance.rebuild(bank)
    embedded = indexer.embed_all(bank, Embedder(bank.embedding_model(settings.embedding_model)))
    line = f"{bank.path}: rebuilt; {format_counts({'memories': embedded})} embedded"
    return print_result(arguments, {"embedded": embedded}, [line])


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
    return format_counts({name: getattr(summary, name) for name in ("personas", "sessions", "turns", "memories")})
