"""`python -m memory journal`, `verify` and `rebuild`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memory.bank import journal, maintenance
from memory.cli.arguments import positive_number
from memory.cli.command import AddCommand, Arguments, print_json, print_text
from memory.embedding.embedder import Embedder
from memory.exporting.json_values import to_json_values
from memory.search import indexer

if TYPE_CHECKING:
    from memory.bank.bank import Bank
    from memory.settings import BankSettings


def add_commands(add: AddCommand) -> None:
    """Add the commands to the command line."""
    command = add("journal", show_journal, "Show what was stored, recalled and forgotten, and by whom; newest first.")
    command.add_argument("--csv", action="store_true", help="print the whole journal as CSV")
    command.add_argument("--limit", type=positive_number, default=50)
    add("verify", verify, "Check that the search index and the embeddings match what is stored.")
    add("rebuild", rebuild, "Rebuild the search index and the embeddings.")


def show_journal(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Show the newest entries of the journal, or all as CSV."""
    if arguments.csv:
        print(journal.to_csv(journal.read(bank)), end="")
        return 0
    entries = journal.read(bank, arguments.limit)
    if arguments.json:
        return print_json(to_json_values(entries))
    for entry in entries:
        print("  ".join(cell for cell in entry.cells if cell))
    return 0


def verify(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Check the search index and the embeddings against the rows."""
    faults = maintenance.verify(bank, settings.embedding_model)
    waiting = indexer.count_pending(bank, settings.embedding_model)
    if arguments.json:
        print_json({"faults": faults, "waiting": waiting})
    else:
        print("\n".join(faults) or f"{bank.path}: no problems found; {waiting} memories are not embedded yet")
    return 1 if faults else 0


def rebuild(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Rebuild the search index and the embeddings."""
    maintenance.rebuild(bank)
    embedded = indexer.embed_all(bank, Embedder(settings.embedding_model))
    if arguments.json:
        return print_json({"embedded": embedded})
    return print_text(f"{bank.path}: rebuilt; {embedded} memories embedded")
