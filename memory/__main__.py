"""The bank from the command line: python -m memory import|list|show|search|forget|export|backup|restore|user|..."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from memory import accounts, backup, export, forget, indexer, ingest, journal, scope, upkeep
from memory.as_json import plain
from memory.bank import Bank
from memory.embedder import Embedder
from memory.errors import BankUnavailable, MemoirError, Stopped
from memory.rows import clean
from memory.search import Searcher
from memory.settings import BankSettings
from memory.tasks import Task
from memory.terminal import watched
from memory.timespan import describe, last_moment, read_date
from memory.types import Memory, Persona, Skip
from memory.users import Users

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
        if isinstance(fault, Stopped):
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
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, run: Callable[[Arguments, Bank, BankSettings], int], text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("--json", action="store_true", help="print JSON")
        command.set_defaults(command=run)
        return command

    command = add("import", _import, "Store the histories of a file; a second time adds nothing.")
    command.add_argument("file", type=Path)
    command.add_argument("--persona", help="one persona that takes all (made if missing); else one a history")
    command.add_argument("--only", action="append", metavar="HISTORY", help="take this history; may be repeated")
    command.add_argument("--dry-run", action="store_true", help="only tell what the file holds")

    add("list", _list, "List the personas and how much they know.")

    command = add("show", _show, "Show a memory with where it comes from, or a session.")
    command.add_argument("--persona", required=True)
    command.add_argument("--session", type=number, metavar="NUMBER")
    command.add_argument("memory", type=number, nargs="?")

    command = add("search", _search, "Find memories by words and meaning.")
    command.add_argument("query")
    command.add_argument("--persona", required=True)
    command.add_argument("--as-of", type=moment, metavar="DATE", help="know nothing said after this day")
    command.add_argument("--limit", type=number, default=10)

    command = add("forget", _forget, "Remove memories, a session, a persona or what fits, and prove that it is gone.")
    command.add_argument("--persona", help="whose; with --before and --mentions everybody's if left out")
    command.add_argument("--before", type=first_moment, metavar="DATE", help="all that was said before this day")
    command.add_argument("--mentions", metavar="TEXT", help="all that mentions these words")
    command.add_argument("--yes", action="store_true", help="do not ask before --before and --mentions")
    command.add_argument("--session", type=number, metavar="NUMBER")
    command.add_argument("--everything", action="store_true", help="the persona and all it knows")
    command.add_argument("--dry-run", action="store_true", help="only tell what memories would go")
    command.add_argument("memory", type=number, nargs="*")

    command = add("export", _export, "Write a persona, or all, as Memoir's own JSON Lines, which import reads back.")
    command.add_argument("--persona", help="this one only; all if left out")
    command.add_argument("--output", type=Path, help="file to write; standard output if left out")

    command = add("backup", _backup, "Copy the whole bank to a new file, whoever else is using it, and check the copy.")
    command.add_argument("file", type=Path)

    command = add("restore", _restore, "Put a backup in the bank's place; the bank that was there is kept beside it.")
    command.add_argument("file", type=Path)

    command = add("journal", _journal, "Tell what was written, recalled and forgotten, and by whom; the newest first.")
    command.add_argument("--csv", action="store_true", help="print all of it as CSV")
    command.add_argument("--limit", type=number, default=50)

    add("verify", _verify, "Check that index and vectors agree with what is stored.")
    add("rebuild", _rebuild, "Make index and vectors anew.")

    text = "Make, list and remove those who may log in to the app with --auth."
    command = commands.add_parser("user", help=text, description=text)
    command.set_defaults(command=_user)
    accounts.describe(command)
    return parser


def _import(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    if arguments.dry_run:
        with watched("Reading") as task:
            held = ingest.contents(arguments.file, task.at)
        if arguments.json:
            return _print(plain(held)) or _fault(held.fault)
        print(f"{arguments.file}: {held.format}, {len(held.histories)} histories")
        for f in held.histories:
            print(f"  {f.external_id or '-'}  {f.name}: {f.sessions} sessions, {f.turns} turns, {f.memories} memories")
        _print_skips(held.skips, held.skipped)
        return _fault(held.fault)
    with watched("Importing") as task:
        report = ingest.ingest(bank, arguments.file, choose=arguments.only, persona=arguments.persona, progress=task.at)
    missing = f"{arguments.file} has no history {', '.join(report.missing)}" if report.missing else ""
    if arguments.json:
        return _print(plain(report)) or _fault(report.fault) or _fault(missing)
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


def _list(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    known = [(p, bank.counts(p.id), bank.time_range(p.id)) for p in bank.personas()]
    if arguments.json:
        return _print([{**plain(p), "counts": c, "range": plain(r)} for p, c, r in known])
    for persona, counts, span in known:
        stores = ", ".join(f"{n} {name}" for name, n in counts.items())
        source = f" [{persona.external_id}]" if persona.external_id else ""
        print(f"{persona.id}  {persona.name}{source}: {stores}{'; ' + describe(span) if span else ''}")
    if not known:
        print(f"{bank.path}: no persona yet; import a file, or start the app")
    return 0


def _show(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    persona = bank.persona(arguments.persona)
    if arguments.session is not None:
        session, turns = bank.session(persona.id, arguments.session), bank.turns(persona.id, arguments.session)
        if arguments.json:
            return _print({"session": plain(session), "turns": plain(turns)})
        print(f"session {session.id}, {session.started_text or session.started_at}: {session.title}")
        for t in turns:
            print(f"  {t.position:4}  {t.speaker}: {t.text}")
        return 0
    if arguments.memory is not None:
        memory, sources = bank.memory(persona.id, arguments.memory), bank.sources(persona.id, arguments.memory)
        if arguments.json:
            return _print({"memory": plain(memory), "sources": plain(sources)})
        print(_line(memory))
        for t in sources:
            print(f"  from session {t.session_id}, turn {t.position}, {t.said_text}: {t.speaker}: {t.text}")
        return 0
    counts, sessions = bank.counts(persona.id), bank.sessions(persona.id)
    if arguments.json:
        return _print({"persona": plain(persona), "counts": counts, "sessions": plain(sessions)})
    print(f"{persona.name}: {persona.description}\n  {', '.join(f'{n} {name}' for name, n in counts.items())}")
    for s in sessions:
        print(f"  session {s.id}  {s.started_text or s.started_at or 'undated'}  {s.turn_count} turns  {s.title}")
    return 0


def _search(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    persona, embedder = bank.persona(arguments.persona), Embedder(settings.embedding_model)
    try:
        indexer.embed_all(bank, embedder, persona.id)
    except BankUnavailable as fault:
        print(f"memoir: {fault}. What has no vector yet is found by its words alone", file=sys.stderr)
    searcher = Searcher(bank, embedder)
    as_of = arguments.as_of or datetime.now(UTC)
    hits = searcher.search(persona.id, searcher.views([clean(arguments.query)]), as_of)[: arguments.limit]
    if arguments.json:
        return _print(plain(hits))
    for hit in hits:
        print(f"{hit.score:.3f}  {_line(hit.memory)}")
    return 0


def _forget(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
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
            which = scope.session(bank.session(persona.id, arguments.session).id)
            gone = _meant(bank, [persona], which, task, dry)
        else:
            gone = _meant(bank, [persona], scope.memories(arguments.memory), task, dry)
    return _say_forgotten(arguments, bank, gone, dry)


def _forget_fitting(arguments: Arguments, bank: Bank) -> int:
    if arguments.before and arguments.mentions is not None:
        raise MemoirError("choose one of --before and --mentions")
    which = scope.before(arguments.before) if arguments.before else scope.mentions(arguments.mentions)
    whose = [bank.persona(arguments.persona)] if arguments.persona else bank.personas()
    with watched("Looking") as task:
        planned = _meant(bank, whose, which, task, True)
    if arguments.dry_run or not (planned.memories or planned.turns) or not (arguments.yes or _agreed(planned)):
        return _say_forgotten(arguments, bank, planned, True)
    with watched("Forgetting") as task:
        gone = _meant(bank, whose, which, task, False)
    return _say_forgotten(arguments, bank, gone, False)


def _meant(bank: Bank, whose: Sequence[Persona], which: scope.Scope, task: Task, dry: bool) -> forget.Forgotten:
    return (forget.preview_meant if dry else forget.forget_meant)(bank, [p.id for p in whose], which, task)


def _agreed(planned: forget.Forgotten) -> bool:
    """Whether somebody at a terminal says yes to what would go; where nobody is, `--yes` has to."""
    if not sys.stdin.isatty():
        print("memoir: nothing was removed; say --yes to remove this", file=sys.stderr)
        return False
    print("\n".join(f"  {line[:100]}" for line in planned.lines), file=sys.stderr)
    print(f"Forget {planned.memories} memories and {planned.turns} turns for good? [y/N] ", end="", file=sys.stderr)
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


def _say_forgotten(arguments: Arguments, bank: Bank, gone: forget.Forgotten, dry: bool) -> int:
    if arguments.json:
        return _print(plain(gone))
    would = "would forget" if dry else "forgot"
    print(f"{would} {gone.memories} memories, {gone.turns} turns, {gone.sessions} whole sessions", end="")
    print("" if dry else f"; {gone.residue} traces left in {bank.path}")
    for line in gone.lines:
        print(f"  {line}")
    for copy in gone.copies:
        print(f"memoir: {copy}, kept by a restore, still holds some of it; delete that file, too", file=sys.stderr)
    return 1 if gone.residue else 0


def _export(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    personas = [bank.persona(arguments.persona)] if arguments.persona else bank.personas()
    names = ", ".join(p.name for p in personas)
    if arguments.output is None:
        with watched("Exporting") as task:
            for line in export.lines(bank, personas, task.at):
                print(line)
        return 0
    try:
        with watched("Exporting") as task:
            written = export.write(bank, personas, arguments.output, task.at)
    except OSError as fault:
        raise MemoirError(f"{arguments.output}: not written ({fault.strerror or fault}); left as it was") from fault
    summary = {"persona": names, "file": str(arguments.output), "lines": written}
    return _print(summary) if arguments.json else _say(f"{arguments.output}: {written} lines of {names}")


def _backup(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    with watched("Copying") as task:
        held = backup.backup(bank, arguments.file, task)
    if arguments.json:
        return _print({"file": str(arguments.file), **plain(held)})
    return _say(f"{arguments.file}: {_holding(held)}; checked")


def _restore(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    done = backup.restore(bank, arguments.file)
    if arguments.json:
        return _print(plain(done))
    before = f"; what was there before is kept as {done.before}" if done.before else ""
    return _say(f"{bank.path}: {_holding(done.holding)}{before}")


def _holding(held: backup.Holding) -> str:
    return f"{held.personas} personas, {held.sessions} sessions, {held.turns} turns, {held.memories} memories"


def _journal(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    if arguments.csv:
        print(journal.as_csv(journal.entries(bank)), end="")
        return 0
    lines = journal.entries(bank, arguments.limit)
    if arguments.json:
        return _print(plain(lines))
    for entry in lines:
        print("  ".join(cell for cell in entry.cells if cell))
    return 0


def _verify(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    faults = upkeep.verify(bank, settings.embedding_model)
    waiting = indexer.waiting(bank, settings.embedding_model)
    if arguments.json:
        _print({"faults": faults, "waiting": waiting})
    else:
        print("\n".join(faults) or f"{bank.path}: all agrees; {waiting} memories wait for a vector")
    return 1 if faults else 0


def _rebuild(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    upkeep.rebuild(bank)
    done = indexer.embed_all(bank, Embedder(settings.embedding_model))
    return _print({"embedded": done}) if arguments.json else _say(f"{bank.path}: rebuilt, {done} vectors made")


def _line(memory: Memory) -> str:
    when = describe(memory.event) if memory.event else f"{memory.said_at:%Y-%m-%d}" if memory.said_at else "undated"
    teller = f"{memory.speaker}: " if memory.speaker else ""
    return f"[{memory.id}] {memory.store}, {when}: {teller}{memory.text}"


def _user(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
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


if __name__ == "__main__":
    sys.exit(main())
