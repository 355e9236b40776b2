"""The commands of `python -m memory` that fill, search, clean, check and copy the bank."""

import argparse
import sys
from collections.abc import Iterator, Sequence
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
    flag,
    positive_number,
    print_error,
    print_result,
    progress_bar,
    start_of_date,
)
from memory.dates.expressions import describe_span
from memory.embedding.embedder import Embedder
from memory.errors import BankUnavailable, MemoirError
from memory.exporting import export
from memory.forgetting.forget import ForgetReport, forget_selected, preview_selected
from memory.formatting import format_count, format_counts
from memory.search import indexer
from memory.search.searcher import Searcher
from memory.settings import BankSettings
from memory.types import Memory, Skip

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
    file, chosen = arguments.file, arguments.only
    if arguments.dry_run:
        return _preview(arguments)
    with progress_bar("Importing") as task:
        report = ingest.ingest(
            bank,
            file,
            choose=chosen,
            persona=arguments.persona,
            user=arguments.me,
            kept_apart=not arguments.shared,
            progress=task.report,
        )
    lines = [f"{file}: {report.format}"]
    for h in report.histories:
        found = format_counts({"sessions": h.found_sessions, "turns": h.found_turns, "memories": h.found_memories})
        stored, known = format_counts(h.stored.added), h.stored.known_turns + h.stored.known_memories
        lines.append(f"  {h.persona.name} ({h.persona.id}): found {found}; stored {stored}; already known: {known}")
        lines += _list_skips(h.skips, h.skipped)
    missing = f"{file} has no history {', '.join(report.missing)}" if report.missing else ""
    return print_result(arguments, report, lines, report.fault or missing)


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
    return print_result(arguments, summary, lines, summary.fault)


def _list_skips(skips: Sequence[Skip], count: int) -> Iterator[str]:
    if count:
        yield f"    left out, or stored but worth checking: {count}"
    for skip in skips:
        yield f"    {skip.place}: {skip.reason}"
    if count > len(skips):
        yield f"    ... and {count - len(skips)} more"


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
    values, lines = [], []
    for persona in bank.personas():
        counts, span = bank.counts(persona.id), bank.time_range(persona.id)
        values.append({**asdict(persona), "counts": counts, "range": span})
        source = f" [{persona.external_id}]" if persona.external_id else ""
        dates = f"; {describe_span(span)}" if span else ""
        lines.append(f"{persona.id}  {persona.name}{source}: {format_counts(counts)}{dates}")
    return print_result(arguments, values, lines or [f"{bank.path}: no persona yet; import a file, or start the app"])


@COMMANDS.add("show", PERSONA, SESSION, argument("memory", type=positive_number, nargs="?"))
def show(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Show a persona, a session, or a memory with its sources."""
    persona = bank.persona(arguments.persona)
    if arguments.session is not None:
        session, turns = bank.session(persona.id, arguments.session), bank.turns(persona.id, arguments.session)
        lines = [f"session {session.id}, {session.started_text or session.started_at}: {session.title}"]
        lines += [f"  {t.position:4}  {t.speaker}: {t.text}" for t in turns]
        return print_result(arguments, {"session": session, "turns": turns}, lines)
    if arguments.memory is not None:
        memory, sources = bank.memory(persona.id, arguments.memory), bank.sources(persona.id, arguments.memory)
        lines = [_describe_memory(memory)]
        for t in sources:
            lines.append(f"  from session {t.session_id}, turn {t.position}, {t.said_text}: {t.speaker}: {t.text}")
        return print_result(arguments, {"memory": memory, "sources": sources}, lines)
    counts, sessions = bank.counts(persona.id), bank.sessions(persona.id)
    card = {"scenario": persona.scenario, "first message": persona.first_message, "examples": persona.examples}
    lines = [f"{persona.name}: {persona.description}", *(f"  {label}: {text}" for label, text in card.items() if text)]
    lines.append(f"  {format_counts(counts)}")
    for s in sessions:
        started = s.started_text or s.started_at or "undated"
        lines.append(f"  session {s.id}  {started}  {format_count(s.turn_count, 'turn')}  {s.title}")
    return print_result(arguments, {"persona": persona, "counts": counts, "sessions": sessions}, lines)


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
    return print_result(arguments, hits, (f"{hit.score:.3f}  {_describe_memory(hit.memory)}" for hit in hits))


def _describe_memory(memory: Memory) -> str:
    said_on = f"{memory.said_at:%Y-%m-%d}" if memory.said_at else "undated"
    when = describe_span(memory.event) if memory.event else said_on
    speaker = f"{memory.speaker}: " if memory.speaker else ""
    return f"[{memory.id}] {memory.store}, {when}: {speaker}{memory.text}"


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
    if arguments.json:
        return print_result(arguments, report, [])
    verb = "would forget" if dry_run else "forgot"
    counts = format_counts({"memories": report.memories, "turns": report.turns})
    traces = format_count(report.residue, "trace") if report.residue else "no traces"
    left = "" if dry_run else f"; {traces} left in {bank.path}"
    print(f"{verb} {counts}, {format_count(report.sessions, 'whole session')}{left}")
    for line in filter(None, (*report.lines, report.about_uploads)):
        print(f"  {line}")
    for copy in report.copies:
        print_error(f"{copy} still contains some of it; delete that file too.")
    return 1 if report.residue else 0


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
