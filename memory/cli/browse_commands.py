"""`python -m memory list`, `show` and `search`."""

from dataclasses import asdict
from datetime import UTC, datetime

from memory.bank.bank import Bank
from memory.cli.arguments import end_of_date, positive_number
from memory.cli.command import AddCommand, Arguments, print_result
from memory.cli.errors import print_error
from memory.dates.expressions import describe_span
from memory.embedding.embedder import Embedder
from memory.errors import BankUnavailable
from memory.formatting import format_count, format_counts
from memory.search import indexer
from memory.search.searcher import Searcher
from memory.settings import BankSettings
from memory.types import Memory


def add_commands(add: AddCommand) -> None:
    """Add the commands to the command line."""
    add("list", list_personas, "List the personas and how much they know.")

    command = add("show", show, "Show a persona, a session, or a memory with its sources.")
    command.add_argument("--persona", required=True)
    command.add_argument("--session", type=positive_number, metavar="NUMBER")
    command.add_argument("memory", type=positive_number, nargs="?")

    command = add("search", search, "Search memories by words and meaning.")
    command.add_argument("query")
    command.add_argument("--persona", required=True)
    command.add_argument("--as-of", type=end_of_date, metavar="DATE", help="ignore what was said after this day")
    command.add_argument("--limit", type=positive_number, default=10)


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


def show(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Show a persona, a session, or a memory with its sources."""
    persona = bank.persona(arguments.persona)
    if arguments.session is not None:
        return _show_session(arguments, bank, persona.id)
    if arguments.memory is not None:
        return _show_memory(arguments, bank, persona.id)
    counts, sessions = bank.counts(persona.id), bank.sessions(persona.id)
    card = {"scenario": persona.scenario, "first message": persona.first_message, "examples": persona.examples}
    lines = [f"{persona.name}: {persona.description}", *(f"  {label}: {text}" for label, text in card.items() if text)]
    lines.append(f"  {format_counts(counts)}")
    for s in sessions:
        started = s.started_text or s.started_at or "undated"
        lines.append(f"  session {s.id}  {started}  {format_count(s.turn_count, 'turn')}  {s.title}")
    return print_result(arguments, {"persona": persona, "counts": counts, "sessions": sessions}, lines)


def _show_session(arguments: Arguments, bank: Bank, persona_id: int) -> int:
    session, turns = bank.session(persona_id, arguments.session), bank.turns(persona_id, arguments.session)
    heading = f"session {session.id}, {session.started_text or session.started_at}: {session.title}"
    lines = [heading, *(f"  {t.position:4}  {t.speaker}: {t.text}" for t in turns)]
    return print_result(arguments, {"session": session, "turns": turns}, lines)


def _show_memory(arguments: Arguments, bank: Bank, persona_id: int) -> int:
    memory, sources = bank.memory(persona_id, arguments.memory), bank.sources(persona_id, arguments.memory)
    lines = [_describe_memory(memory)]
    for t in sources:
        lines.append(f"  from session {t.session_id}, turn {t.position}, {t.said_text}: {t.speaker}: {t.text}")
    return print_result(arguments, {"memory": memory, "sources": sources}, lines)


def search(arguments: Arguments, bank: Bank, settings: BankSettings) -> int:
    """Search memories by words and meaning."""
    persona, embedder = bank.persona(arguments.persona), Embedder(bank.embedding_model(settings.embedding_model))
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
