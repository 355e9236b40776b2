"""What each command of `python -m memory` does: it prints what came of it, and gives the status to end with.

Each raises `MemoirError` where it cannot do what was asked.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from memory import ingest
from memory.bank import backup, journal
from memory.bank import maintenance as upkeep
from memory.bank.bank import Bank
from memory.bank.rows import clean
from memory.cli import user_command as accounts
from memory.cli.terminal import watched
from memory.dates.expressions import describe_span
from memory.embedding.embedder import Embedder
from memory.errors import BankUnavailable, MemoirError
from memory.exporting import export
from memory.exporting.json_values import to_json_values
from memory.forgetting import forget, selection
from memory.progress import Task
from memory.search import indexer
from memory.search.searcher import Searcher
from memory.settings import BankSettings
from memory.types import Memory, Persona, Skip
from memory.users import Users

Arguments = argparse.Namespace


def bring_in(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Store the histories of a file, or tell what it holds."""
    if arguments.dry_run:
        with watched("Reading") as task:
            held = ingest.summarize(arguments.file, task.report)
        if arguments.json:
            return _print(to_json_values(held)) or _fault(held.fault)
        print(f"{arguments.file}: {held.format}, {len(held.histories)} histories")
        for f in held.histories:
            print(f"  {f.external_id or '-'}  {f.name}: {f.sessions} sessions, {f.turns} turns, {f.memories} memories")
        _print_skips(held.skips, held.skipped)
        return _fault(held.fault)
    with watched("Importing") as task:
        report = ingest.ingest(
            bank, arguments.file, choose=arguments.only, persona=arguments.persona, progress=task.report
        )
    missing = f"{arguments.file} has no history {', '.join(report.missing)}" if report.missing else ""
    if arguments.json:
        return _print(to_json_values(report)) or _fault(report.fault) or _fault(missing)
    print(f"{arguments.file}: {report.format}")
    for h in report.histories:
        known = h.stored.known_turns + h.stored.known_memories
        print(
            f"  {h.persona.name} ({h.persona.id}): found {h.found_sessions} sessions, {h.found_turns} turns, "
            f"{h.found_memories} memories; stored {h.stored.sessions} sessions, {h.stored.turns} turns, "
            f"{h.stored.memories} memories; known already {known}"
        )
        _print_skips(h.skips, h.skipped)
    return _fault(report.fault) or _fault(missing)


def _print_skips(skips: Sequence[Skip], count: int) -> None:
    if count:
        print(f"    left out, or kept and worth a look: {count}")
    for skip in skips:
        print(f"    {skip.place}: {skip.reason}")
    if count > len(skips):
        print(f"    ... and {count - len(skips)} more")


def list_personas(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """List the personas and how much they know."""
    known = [(p, bank.counts(p.id), bank.time_range(p.id)) for p in bank.personas()]
    if arguments.json:
        return _print([{**to_json_values(p), "counts": c, "range": to_json_values(r)} for p, c, r in known])
    for persona, counts, span in known:
        stores = ", ".join(f"{n} {name}" for name, n in counts.items())
        source = f" [{persona.external_id}]" if persona.external_id else ""
        print(f"{persona.id}  {persona.name}{source}: {stores}{'; ' + describe_span(span) if span else ''}")
    if not known:
        print(f"{bank.path}: no persona yet; import a file, or start the app")
    return 0


def show(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Show a memory with where it comes from, or a session."""
    persona = bank.persona(arguments.persona)
    if arguments.session is not None:
        session, turns = bank.session(persona.id, arguments.session), bank.turns(persona.id, arguments.session)
        if arguments.json:
            return _print({"session": to_json_values(session), "turns": to_json_values(turns)})
        print(f"session {session.id}, {session.started_text or session.started_at}: {session.title}")
        for t in turns:
            print(f"  {t.position:4}  {t.speaker}: {t.text}")
        return 0
    if arguments.memory is not None:
        memory, sources = bank.memory(persona.id, arguments.memory), bank.sources(persona.id, arguments.memory)
        if arguments.json:
            return _print({"memory": to_json_values(memory), "sources": to_json_values(sources)})
        print(_line(memory))
        for t in sources:
            print(f"  from session {t.session_id}, turn {t.position}, {t.said_text}: {t.speaker}: {t.text}")
        return 0
    counts, sessions = bank.counts(persona.id), bank.sessions(persona.id)
    if arguments.json:
        return _print({"persona": to_json_values(persona), "counts": counts, "sessions": to_json_values(sessions)})
    print(f"{persona.name}: {persona.description}\n  {', '.join(f'{n} {name}' for name, n in counts.items())}")
    for s in sessions:
        print(f"  session {s.id}  {s.started_text or s.started_at or 'undated'}  {s.turn_count} turns  {s.title}")
    return 0


def search(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Find memories by words and meaning."""
    persona, embedder = bank.persona(arguments.persona), Embedder(settings.embedding_model)
    try:
        indexer.embed_all(bank, embedder, persona.id)
    except BankUnavailable as fault:
        print(f"memoir: {fault}. What has no vector yet is found by its words alone", file=sys.stderr)
    searcher = Searcher(bank, embedder)
    as_of = arguments.as_of or datetime.now(UTC)
    hits = searcher.search(persona.id, searcher.views([clean(arguments.query)]), as_of)[: arguments.limit]
    if arguments.json:
        return _print(to_json_values(hits))
    for hit in hits:
        print(f"{hit.score:.3f}  {_line(hit.memory)}")
    return 0


def forget_wanted(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Remove what is named or fits, and prove that it is gone."""
    dry = arguments.dry_run
    if arguments.before or arguments.mentions is not None:
        return _forget_fitting(arguments, bank)
    if arguments.persona is None:
        raise MemoirError("say whose with --persona")
    persona = bank.persona(arguments.persona)
    for memory in arguments.memory:
        bank.memory(persona.id, memory)
    with watched("Looking" if dry else "Forgetting") as task:
        if arguments.everything:
            gone = forget.preview_persona(bank, persona.id) if dry else forget.forget_persona(bank, persona.id, task)
        elif arguments.session is not None:
            which = selection.select_session(bank.session(persona.id, arguments.session).id)
            gone = _meant(bank, [persona], which, task, dry)
        else:
            gone = _meant(bank, [persona], selection.select_memories(arguments.memory), task, dry)
    return _say_forgotten(arguments, bank, gone, dry)


def _forget_fitting(arguments: Arguments, bank: Bank) -> int:
    if arguments.before and arguments.mentions is not None:
        raise MemoirError("choose one of --before and --mentions")
    which = (
        selection.select_before(arguments.before) if arguments.before else selection.select_mentions(arguments.mentions)
    )
    whose = [bank.persona(arguments.persona)] if arguments.persona else bank.personas()
    with watched("Looking") as task:
        planned = _meant(bank, whose, which, task, True)
    if arguments.dry_run or not (planned.memories or planned.turns) or not (arguments.yes or _agreed(planned)):
        return _say_forgotten(arguments, bank, planned, True)
    with watched("Forgetting") as task:
        gone = _meant(bank, whose, which, task, False)
    return _say_forgotten(arguments, bank, gone, False)


def _meant(
    bank: Bank, whose: Sequence[Persona], which: selection.Selector, task: Task, dry: bool
) -> forget.ForgetReport:
    return (forget.preview_selected if dry else forget.forget_selected)(bank, [p.id for p in whose], which, task)


def _agreed(planned: forget.ForgetReport) -> bool:
    """Whether somebody at a terminal says yes to what would go; where nobody is, `--yes` has to."""
    if not sys.stdin.isatty():
        print("memoir: nothing was removed; say --yes to remove this", file=sys.stderr)
        return False
    print("\n".join(f"  {line[:100]}" for line in planned.lines), file=sys.stderr)
    print(f"Forget {planned.memories} memories and {planned.turns} turns for good? [y/N] ", end="", file=sys.stderr)
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


def _say_forgotten(arguments: Arguments, bank: Bank, gone: forget.ForgetReport, dry: bool) -> int:
    if arguments.json:
        return _print(to_json_values(gone))
    would = "would forget" if dry else "forgot"
    print(f"{would} {gone.memories} memories, {gone.turns} turns, {gone.sessions} whole sessions", end="")
    print("" if dry else f"; {gone.residue} traces left in {bank.path}")
    for line in gone.lines:
        print(f"  {line}")
    for copy in gone.copies:
        print(f"memoir: {copy}, kept by a restore, still holds some of it; delete that file, too", file=sys.stderr)
    return 1 if gone.residue else 0


def export_personas(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Write a persona, or all, as JSON Lines."""
    personas = [bank.persona(arguments.persona)] if arguments.persona else bank.personas()
    names = ", ".join(p.name for p in personas)
    if arguments.output is None:
        with watched("Exporting") as task:
            for line in export.lines(bank, personas, task.report):
                print(line)
        return 0
    try:
        with watched("Exporting") as task:
            written = export.write(bank, personas, arguments.output, task.report)
    except OSError as fault:
        raise MemoirError(f"{arguments.output}: not written ({fault.strerror or fault}); left as it was") from fault
    summary = {"persona": names, "file": str(arguments.output), "lines": written}
    return _print(summary) if arguments.json else _say(f"{arguments.output}: {written} lines of {names}")


def back_up(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Copy the bank to a new file."""
    with watched("Copying") as task:
        held = backup.backup(bank, arguments.file, task)
    if arguments.json:
        return _print({"file": str(arguments.file), **to_json_values(held)})
    return _say(f"{arguments.file}: {_holding(held)}; checked")


def restore(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Put a backup in the bank's place."""
    done = backup.restore(bank, arguments.file)
    if arguments.json:
        return _print(to_json_values(done))
    before = f"; what was there before is kept as {done.before}" if done.before else ""
    return _say(f"{bank.path}: {_holding(done.holding)}{before}")


def _holding(held: backup.Holding) -> str:
    return f"{held.personas} personas, {held.sessions} sessions, {held.turns} turns, {held.memories} memories"


def show_journal(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Tell what was done to the bank."""
    if arguments.csv:
        print(journal.as_csv(journal.entries(bank)), end="")
        return 0
    lines = journal.entries(bank, arguments.limit)
    if arguments.json:
        return _print(to_json_values(lines))
    for entry in lines:
        print("  ".join(cell for cell in entry.cells if cell))
    return 0


def verify(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Check index and vectors against the rows."""
    faults = upkeep.verify(bank, settings.embedding_model)
    waiting = indexer.count_pending(bank, settings.embedding_model)
    if arguments.json:
        _print({"faults": faults, "waiting": waiting})
    else:
        print("\n".join(faults) or f"{bank.path}: all agrees; {waiting} memories wait for a vector")
    return 1 if faults else 0


def rebuild(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Make index and vectors anew."""
    upkeep.rebuild(bank)
    done = indexer.embed_all(bank, Embedder(settings.embedding_model))
    return _print({"embedded": done}) if arguments.json else _say(f"{bank.path}: rebuilt, {done} vectors made")


def _line(memory: Memory) -> str:
    when = (
        describe_span(memory.event) if memory.event else f"{memory.said_at:%Y-%m-%d}" if memory.said_at else "undated"
    )
    teller = f"{memory.speaker}: " if memory.speaker else ""
    return f"[{memory.id}] {memory.store}, {when}: {teller}{memory.text}"


def see_to_users(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Make, list and remove users."""
    accounts.run(arguments, Users(settings.home))
    return 0


def _fault(fault: str) -> int:
    if fault:
        print(f"memoir: {fault}", file=sys.stderr)
    return 1 if fault else 0


def _say(text: str) -> int:
    print(text)
    return 0


def _print(value: object) -> int:
    print(json.dumps(value, ensure_ascii=False, indent=2))
    return 0
