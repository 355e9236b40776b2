"""The command line: `python -m graph ask "..." --persona P [--as-of DATE]`; `learn`; `models`."""

import argparse
import os
import sys
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import get_args

from graph.assistant import Answer, Assistant
from graph.learning.learner import learn_from_sessions
from graph.models.measure import measure
from graph.models.registry import Quantization
from graph.server.services import build_services, load_chat_model
from graph.settings import Settings
from graph.state import Ask, Citation, Services
from memory.bank import learning_queue
from memory.cli.program import (
    INTERRUPTED,
    Arguments,
    Commands,
    argument,
    end_of_date,
    flag,
    print_error,
    print_result,
    run_command,
)
from memory.dates.expressions import describe_time
from memory.formatting import format_count
from memory.search import indexer

COMMANDS = Commands(
    argparse.ArgumentParser(
        prog="python -m graph",
        description="Answer messages from memory, learn from finished sessions, and measure models.",
    ),
    flag("--json", "print JSON"),
)


def main(argv: list[str] | None = None) -> int:
    """Run one command; 0 if it did what was asked, 1 if it could not, 2 for wrong arguments, 130 after Ctrl-C."""
    arguments = COMMANDS.parser.parse_args(argv)
    return run_command(lambda: arguments.command(arguments, Settings()))


def message(text: str) -> str:
    """A message that is not blank."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the message is empty; write a question or a statement")
    return text.strip()


def services(settings: Settings) -> Services:
    """The services of a turn, over the bank in the settings."""
    return build_services(settings, load_chat_model(settings), settings.bank_path)[0]


@COMMANDS.add(
    "ask",
    argument("text", "the question or statement", type=message),
    argument("--persona", "name, number or source id", required=True),
    argument("--as-of", "answer as at the end of this day", type=end_of_date, metavar="DATE"),
    flag("--forgetful", "do not remember this exchange"),
)
def ask(arguments: Arguments, settings: Settings) -> None:
    """Say something to a persona; a statement is remembered."""
    parts = services(settings)
    persona = parts.bank.persona(arguments.persona)
    indexer.embed_all(parts.bank, parts.searcher.embedder, persona.id)
    moment = arguments.as_of or datetime.now(UTC).astimezone()
    answer = Assistant(parts).ask(
        Ask(persona, arguments.text, moment, uuid.uuid4().hex, remember=not arguments.forgetful)
    )
    reading = answer.reading
    if reading.notice and not arguments.json:
        print_error(reading.notice)
    print_result(arguments, _values(answer), [reading.answer, *map(_describe_citation, reading.citations)])


def _values(answer: Answer) -> Mapping[str, object]:
    """The answer, its sources, and its trace, as `--json` prints them."""
    reading = answer.reading
    return {
        **{name: getattr(reading, name) for name in ("answer", "abstained", "reason", "by", "notice")},
        "citations": [
            {
                "number": c.number,
                "memory": c.memory.id,
                "session": c.memory.session_id,
                "turn": c.memory.turn_ids[0] if c.memory.turn_ids else None,
                "store": c.memory.store,
                "speaker": c.memory.speaker,
                "date": c.memory.said_at,
                "quote": c.quote,
                "scores": c.scores,
            }
            for c in reading.citations
        ],
        "window": [{"text": w.text, "means": describe_time(w), "sure": w.sure} for w in answer.window],
        "trace": answer.trace,
        "milliseconds": round(sum(line.milliseconds for line in answer.trace), 2),
    }


def _describe_citation(citation: Citation) -> str:
    memory = citation.memory
    session = f", session {memory.session_id}" if memory.session_id else ""
    when = f", {memory.said_at:%Y-%m-%d}" if memory.said_at else ""
    speaker = f"{memory.speaker}: " if memory.speaker else ""
    return f"  [{citation.number}] {memory.store}, memory {memory.id}{session}{when}: {speaker}{citation.quote}"


@COMMANDS.add("learn")
def learn(arguments: Arguments, settings: Settings) -> None:
    """Learn from all finished sessions; the app does this by itself."""
    parts = services(settings)
    done = learn_from_sessions(parts.bank, settings.learner, parts.model)
    indexer.embed_all(parts.bank, parts.searcher.embedder)
    figures = {
        "sessions": done.sessions,
        "learned": done.stored.memories,
        "known": done.stored.known_memories,
        "rejected (no supporting quote)": done.stored.refused,
        "sessions by rules instead of the chat model": done.by_rules,
        "still waiting": len(learning_queue.pending_sessions(parts.bank)),
    }
    print_result(arguments, figures, (f"{name}: {figure}" for name, figure in figures.items()))
    if done.notice:
        print_error(f"Rules learned from {format_count(done.by_rules, 'session')}: {done.notice}")


@COMMANDS.add(
    "models",
    argument("name", "the model; MEMOIR_MODEL if left out", nargs="?"),
    argument("--quantization", "precision of a local model's weights", choices=get_args(Quantization)),
)
def measure_model(arguments: Arguments, settings: Settings) -> None:
    """Measure a chat model: load time, memory, tokens a second."""
    figures = measure(arguments.name or settings.model, arguments.quantization or settings.quantization)
    print_result(arguments, figures, (f"{name}: {figure}" for name, figure in figures.items()))


if __name__ == "__main__":
    status = main()
    if status == INTERRUPTED:
        # A thread may still be loading a model, and Python would wait for it.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    sys.exit(status)
