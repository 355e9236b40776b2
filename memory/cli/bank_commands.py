"""The commands of `python -m memory` that fill, search, clean, check and copy the bank."""

import argparse
import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from memory import ingest
from memory.bank import backup, journal, maintenance
from memory.bank.bank import Bank
from memory.bank.queries import deletion
from memory.cli.program import (
    Arguments,
    Commands,
    argument,
    end_of_date,
    fill_in,
    flag,
    positive_number,
    print_error,
    print_result,
    progress_bar,
    start_of_date,
)
from memory.embedding.embedder import Embedder
from memory.errors import BankUnavailable, MemoirError
from memory.exporting import export
from memory.forgetting.forget import ForgetReport, forget_selected, preview_selected
from memory.formatting import format_count, format_counts
from memory.search import indexer
from memory.search.searcher import Searcher
from memory.settings import BankSettings

COMMANDS = Commands(
    argparse.ArgumentParser(prog="python -m memory", description="Manage Memoir's memory."),
    flag("--json", "print JSON"),
)
PERSONA = argument("--persona", required=True)
SESSION = argument("--session", type=positive_number, metavar="NUMBER")
FILE = argument("file", type=Path)


@COMMANDS.add(
    "import",
    argument("file", "the file to import", type=Path),
    argument("--persona", "import everything into this persona (created if missing); by default one for each history"),
    argument("--me", "which speaker you are; the persona gets the name of the other one", default="", metavar="NAME"),
    argument("--only", "import only this history; repeatable", action="append", metavar="HISTORY"),
    flag("--shared", "let your other personas know what you said in it; by default a new persona is kept apart"),
    flag("--dry-run", "only show what the file contains"),
)
def import_file(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Import the histories of a file; importing it again adds nothing."""
    file = arguments.file
    if arguments.dry_run:
        with progress_bar("Reading") as task:
            found = ingest.summarize(file, task.report)
        return print_result(arguments, found, fill_in("preview.txt", file=file, found=found), found.fault)
    with progress_bar("Importing") as task:
        report = ingest.ingest(
            bank,
            file,
            choose=arguments.only,
            persona=arguments.persona,
            user=arguments.me,
            kept_apart=not arguments.shared,
            progress=task.report,
        )
    missing = f"{file} has no history {', '.join(report.missing)}" if report.missing else ""
    return print_result(arguments, report, fill_in("import.txt", report=report), report.fault or missing)


@COMMANDS.add(
    "export",
    argument("--persona", "only this persona; all by default"),
    argument("--output", "the file to write; standard output by default", type=Path),
)
def export_personas(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Write one persona, or all, to a file that `import` reads back."""
    personas, file = [bank.persona(arguments.persona)] if arguments.persona else bank.personas(), arguments.output
    with progress_bar("Exporting") as task:
        if file is None:
            for line in export.export_lines(bank, personas, task.report):
                print(line)
            return 0
        try:
            lines = export.write_export(bank, personas, file, task.report)
        except OSError as fault:
            raise MemoirError(f"{file}: not written ({fault.strerror or fault}); left as it was") from fault
    names = ", ".join(p.name for p in personas)
    return print_result(
        arguments, {"persona": names, "file": file, "lines": lines}, [f"{file}: {lines} lines of {names}"]
    )


@COMMANDS.add("list")
def list_personas(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """List the personas and how much they know."""
    personas = [
        {**asdict(persona), "counts": bank.counts(persona.id), "range": bank.time_range(persona.id)}
        for persona in bank.personas()
    ]
    return print_result(arguments, personas, fill_in("list.txt", personas=personas, bank=bank.path))


@COMMANDS.add("show", PERSONA, SESSION, argument("memory", type=positive_number, nargs="?"))
def show(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Show a persona, a session, or a memory with its sources."""
    persona = bank.persona(arguments.persona)
    if arguments.session is not None:
        session, turns = bank.session(persona.id, arguments.session), bank.turns(persona.id, arguments.session)
        return _print_values(arguments, "session.txt", session=session, turns=turns)
    if arguments.memory is not None:
        memory, sources = bank.memory(persona.id, arguments.memory), bank.sources(persona.id, arguments.memory)
        return _print_values(arguments, "memory.txt", memory=memory, sources=sources)
    counts, sessions = bank.counts(persona.id), bank.sessions(persona.id)
    return _print_values(arguments, "persona.txt", persona=persona, counts=counts, sessions=sessions)


def _print_values(arguments: Arguments, template: str, **values: object) -> int:
    return print_result(arguments, values, fill_in(template, **values))


@COMMANDS.add(
    "search",
    argument("query"),
    PERSONA,
    argument("--as-of", "ignore what was said after this day", type=end_of_date, metavar="DATE"),
    argument("--limit", type=positive_number, default=10),
)
def search(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Search memories by words and meaning."""
    persona = bank.persona(arguments.persona)
    embedder = Embedder(bank.choice("embedding_model", settings.embedding_model))
    try:
        indexer.embed_all(bank, embedder, persona.id)
    except BankUnavailable as fault:
        print_error(f"{fault}. Memories that are not embedded yet are found by their words only.")
    searcher = Searcher(bank, embedder)
    as_of = arguments.as_of or datetime.now(UTC)
    hits = searcher.search(persona.id, searcher.views([arguments.query]), as_of)[: arguments.limit]
    return print_result(arguments, hits, fill_in("hits.txt", hits=hits))


@COMMANDS.add(
    "forget",
    argument("--persona", "the persona; with --before and --mentions all personas by default"),
    argument("--before", "everything said before this day", type=start_of_date, metavar="DATE"),
    argument("--mentions", "everything that mentions these words", metavar="TEXT"),
    flag("--yes", "do not ask before deleting by --before or --mentions"),
    SESSION,
    flag("--everything", "the persona and everything it knows"),
    flag("--dry-run", "only show what would be deleted"),
    argument("memory", "numbers of memories", type=positive_number, nargs="*"),
)
def forget(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Delete memories, a session, a persona or everything that matches, and verify that nothing is left."""
    matching = bool(arguments.before) or arguments.mentions is not None
    if not matching and arguments.persona is None:
        raise MemoirError("Name the persona with --persona.")
    if arguments.before and arguments.mentions is not None:
        raise MemoirError("Choose one of --before and --mentions.")
    personas = [bank.persona(arguments.persona)] if arguments.persona or not matching else bank.personas()
    ids = [p.id for p in personas]
    select = _selector(arguments, bank, ids)
    if arguments.dry_run or matching:
        with progress_bar("Looking") as task:
            preview = preview_selected(bank, ids, select, task)
        empty = not (preview.memories or preview.turns)
        if arguments.dry_run or empty or not (arguments.yes or _is_confirmed(preview)):
            return _print_report(arguments, bank, preview, dry_run=True)
    with progress_bar("Forgetting") as task:
        report = forget_selected(bank, ids, select, task)
    return _print_report(arguments, bank, report, dry_run=False)


def _selector(arguments: Arguments, bank: Bank, personas: list[int]) -> deletion.Selector:
    if arguments.before:
        return deletion.select_before(arguments.before)
    if arguments.mentions is not None:
        return deletion.select_mentions(arguments.mentions)
    for memory in arguments.memory:
        bank.memory(personas[0], memory)  # an unknown number must stop the command before anything is deleted
    if arguments.everything:
        return deletion.select_everything
    if arguments.session is not None:
        return deletion.select_session(arguments.session)
    return deletion.select_memories(arguments.memory)


def _is_confirmed(preview: ForgetReport) -> bool:
    """Ask whether to delete; without a terminal the answer is no, and only `--yes` deletes."""
    if not sys.stdin.isatty():
        print_error("Nothing was deleted. Add --yes to delete this.")
        return False
    print("\n".join(f"  {line[:100]}" for line in (*preview.lines, preview.about_uploads) if line), file=sys.stderr)
    memories, turns = format_count(preview.memories, "memory", "memories"), format_count(preview.turns, "turn")
    print(f"Forget {memories} and {turns} for good? [y/N] ", end="", file=sys.stderr)
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


def _print_report(arguments: Arguments, bank: Bank, report: ForgetReport, dry_run: bool) -> int:
    status = print_result(arguments, report, fill_in("forget.txt", report=report, bank=bank.path, dry_run=dry_run))
    if not arguments.json:
        for copy in report.copies:
            print_error(f"{copy} still contains some of it; delete that file too.")
        status = 1 if report.residue else 0
    return status


@COMMANDS.add(
    "journal", flag("--csv", "print the whole journal as CSV"), argument("--limit", type=positive_number, default=50)
)
def show_journal(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Show what was stored, recalled and forgotten, and by whom; newest first."""
    if arguments.csv:
        print(journal.to_csv(journal.read(bank)), end="")
        return 0
    entries = journal.read(bank, arguments.limit)
    return print_result(arguments, entries, ("  ".join(filter(None, entry.cells)) for entry in entries))


@COMMANDS.add("verify")
def verify(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Check that what was said is unchanged, and that the search index and the embeddings match it."""
    model = bank.choice("embedding_model", settings.embedding_model)
    faults = maintenance.verify(bank, model)
    waiting = None if faults else indexer.count_pending(bank, model)
    sound = f"{bank.path}: no problems found; {waiting} memories are not embedded yet"
    print_result(arguments, {"faults": faults, "waiting": waiting}, faults or [sound])
    return 1 if faults else 0


@COMMANDS.add("rebuild")
def rebuild(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Rebuild the search index and the embeddings."""
    maintenance.rebuild(bank)
    embedded = indexer.embed_all(bank, Embedder(bank.choice("embedding_model", settings.embedding_model)))
    line = f"{bank.path}: rebuilt; {format_counts({'memories': embedded})} embedded"
    return print_result(arguments, {"embedded": embedded}, [line])


@COMMANDS.add("backup", FILE)
def back_up(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Copy the whole bank to a new file, even while it is in use, and check the copy."""
    with progress_bar("Copying") as task:
        summary = backup.backup(bank, arguments.file, task)
    values = {"file": arguments.file, **asdict(summary)}
    return print_result(arguments, values, [f"{arguments.file}: {_describe(summary)}; checked"])


@COMMANDS.add("restore", FILE)
def restore(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Replace the bank with a backup; the current bank is kept beside it."""
    summary, before = backup.restore(bank, arguments.file)
    kept = f"; the previous bank is kept as {before}" if before else ""
    values = {"summary": summary, "before": before}
    return print_result(arguments, values, [f"{bank.path}: {_describe(summary)}{kept}"])


def _describe(summary: backup.BankSummary) -> str:
    return format_counts({name: getattr(summary, name) for name in ("personas", "sessions", "turns", "memories")})
