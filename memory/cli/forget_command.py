"""`python -m memory forget`."""

import sys
from collections.abc import Sequence

from memory.bank.bank import Bank
from memory.bank.queries.deletion import Selector, select_before, select_memories, select_mentions, select_session
from memory.cli.arguments import positive_number, start_of_date
from memory.cli.command import AddCommand, Arguments, print_result
from memory.cli.errors import print_error
from memory.cli.progress_bar import progress_bar
from memory.errors import MemoirError
from memory.forgetting.forget import ForgetReport, forget_persona, forget_selected, preview_persona, preview_selected
from memory.formatting import format_count, format_counts
from memory.settings import BankSettings
from memory.types import Persona


def add_commands(add: AddCommand) -> None:
    """Add the command to the command line."""
    text = "Delete memories, a session, a persona or everything that matches, and verify that nothing is left."
    command = add("forget", forget, text)
    command.add_argument("--persona", help="the persona; with --before and --mentions all personas by default")
    command.add_argument("--before", type=start_of_date, metavar="DATE", help="everything said before this day")
    command.add_argument("--mentions", metavar="TEXT", help="everything that mentions these words")
    command.add_argument("--yes", action="store_true", help="do not ask before deleting by --before or --mentions")
    command.add_argument("--session", type=positive_number, metavar="NUMBER")
    command.add_argument("--everything", action="store_true", help="the persona and everything it knows")
    command.add_argument("--dry-run", action="store_true", help="only show what would be deleted")
    command.add_argument("memory", type=positive_number, nargs="*", help="numbers of memories")


def forget(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Delete what was named or matches, and verify that nothing is left of it."""
    if arguments.before or arguments.mentions is not None:
        return _forget_matches(arguments, bank)
    if arguments.persona is None:
        raise MemoirError("Name the persona with --persona.")
    dry_run = arguments.dry_run
    persona = bank.persona(arguments.persona)
    for memory in arguments.memory:
        bank.memory(persona.id, memory)
    with progress_bar("Looking" if dry_run else "Forgetting") as task:
        if arguments.everything:
            report = preview_persona(bank, persona.id) if dry_run else forget_persona(bank, persona.id, task)
        else:
            run = preview_selected if dry_run else forget_selected
            report = run(bank, [persona.id], _selector(arguments, bank, persona), task)
    return _print_report(arguments, bank, report, dry_run)


def _selector(arguments: Arguments, bank: Bank, persona: Persona) -> Selector:
    if arguments.session is None:
        return select_memories(arguments.memory)
    return select_session(bank.session(persona.id, arguments.session).id)


def _forget_matches(arguments: Arguments, bank: Bank) -> int:
    if arguments.before and arguments.mentions is not None:
        raise MemoirError("Choose one of --before and --mentions.")
    select = select_before(arguments.before) if arguments.before else select_mentions(arguments.mentions)
    personas: Sequence[Persona] = [bank.persona(arguments.persona)] if arguments.persona else bank.personas()
    ids = [p.id for p in personas]
    with progress_bar("Looking") as task:
        preview = preview_selected(bank, ids, select, task)
    empty = not (preview.memories or preview.turns)
    if arguments.dry_run or empty or not (arguments.yes or _is_confirmed(preview)):
        return _print_report(arguments, bank, preview, dry_run=True)
    with progress_bar("Forgetting") as task:
        report = forget_selected(bank, ids, select, task)
    return _print_report(arguments, bank, report, dry_run=False)


def _is_confirmed(preview: ForgetReport) -> bool:
    """Ask whether to delete; without a terminal the answer is no, and only `--yes` deletes."""
    if not sys.stdin.isatty():
        print_error("Nothing was deleted. Add --yes to delete this.")
        return False
    print("\n".join(f"  {line[:100]}" for line in preview.lines), file=sys.stderr)
    memories, turns = format_count(preview.memories, "memory", "memories"), format_count(preview.turns, "turn")
    print(f"Forget {memories} and {turns} for good? [y/N] ", end="", file=sys.stderr)
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


def _print_report(arguments: Arguments, bank: Bank, report: ForgetReport, dry_run: bool) -> int:
    if arguments.json:
        return print_result(arguments, report, [])
    verb = "would forget" if dry_run else "forgot"
    counts = format_counts({"memories": report.memories, "turns": report.turns})
    print(f"{verb} {counts}, {format_count(report.sessions, 'whole session')}", end="")
    traces = format_count(report.residue, "trace") if report.residue else "no traces"
    print("" if dry_run else f"; {traces} left in {bank.path}")
    for line in report.lines:
        print(f"  {line}")
    for copy in report.copies:
        print_error(f"{copy} still contains some of it; delete that file too.")
    return 1 if report.residue else 0
