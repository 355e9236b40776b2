"""The command line: python -m graph ask "..." --persona P [--as-of DATE]; learn; models."""

from __future__ import annotations

import argparse
import json
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import get_args

from graph.assistant import Answer, Assistant
from graph.learning.learner import learn_from_sessions
from graph.models.measure import measure
from graph.models.quantization import Quantization
from graph.server.services import build_services, load_models
from graph.settings import Settings
from graph.state import Ask, Citation, Services
from memory.bank import learning_queue
from memory.cli.errors import print_error, run_command
from memory.cli.program import end_of_date
from memory.dates.expressions import describe_time
from memory.exporting.json_values import to_json_values
from memory.formatting import format_count
from memory.search import indexer

Command = Callable[[argparse.Namespace, Settings], int]


def main(argv: list[str] | None = None) -> int:
    """Run one command; 0 if it did what was asked, 1 if it could not, 2 for wrong arguments."""
    arguments = _parser().parse_args(argv)
    command: Command = arguments.command
    return run_command(lambda: command(arguments, Settings()))


def message(text: str) -> str:
    """A message that is not blank."""
    if not text.strip():
        raise argparse.ArgumentTypeError("the message is empty; write a question or a statement")
    return text.strip()


def services(settings: Settings) -> Services:
    """The services of a turn, over the bank in the settings."""
    return build_services(settings, load_models(settings), settings.bank_path)[0]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m graph",
        description="Answer messages from memory, learn from finished sessions, and measure models.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, command: Command, text: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=text)
        added.add_argument("--json", action="store_true", help="print JSON")
        added.set_defaults(command=command)
        return added

    ask = add("ask", _ask, "Say something to a persona; a statement is remembered.")
    ask.add_argument("text", type=message, help="the question or statement")
    ask.add_argument("--persona", required=True, help="name, number or source id")
    ask.add_argument("--as-of", type=end_of_date, metavar="DATE", help="answer as at the end of this day")
    ask.add_argument("--forgetful", action="store_true", help="do not remember this exchange")
    add("learn", _learn, "Learn from all finished sessions; the app does this by itself.")
    models = add("models", _models, "Measure a chat model: load time, memory, tokens a second.")
    models.add_argument("name", nargs="?", help="the model; MEMOIR_MODEL if left out")
    models.add_argument("--quantization", choices=get_args(Quantization), help="precision of a local model's weights")
    return parser


def _ask(arguments: argparse.Namespace, settings: Settings) -> int:
    parts = services(settings)
    persona = parts.bank.persona(arguments.persona)
    indexer.embed_all(parts.bank, parts.searcher.embedder, persona.id)
    moment = arguments.as_of or datetime.now(UTC).astimezone()
    ask = Ask(persona, arguments.text, moment, uuid.uuid4().hex, remember=not arguments.forgetful)
    answer = Assistant(parts).ask(ask)
    if arguments.json:
        print(json.dumps(as_json(answer), ensure_ascii=False, indent=2))
        return 0
    if answer.reading.notice:
        print_error(answer.reading.notice)
    print(answer.reading.answer)
    for citation in answer.reading.citations:
        print(f"  {_cited(citation)}")
    return 0


def as_json(answer: Answer) -> dict[str, object]:
    """An answer as plain JSON values: its text, its sources, and its trace."""
    reading = answer.reading
    return {
        "answer": reading.answer,
        "abstained": reading.abstained,
        "reason": reading.reason,
        "by": reading.by,
        "notice": reading.notice,
        "citations": [
            {
                "number": c.number,
                "memory": c.memory.id,
                "session": c.memory.session_id,
                "turn": c.memory.turn_ids[0] if c.memory.turn_ids else None,
                "store": c.memory.store,
                "speaker": c.memory.speaker,
                "date": to_json_values(c.memory.said_at),
                "quote": c.quote,
                "scores": to_json_values(c.scores),
            }
            for c in reading.citations
        ],
        "window": [{"text": w.text, "means": describe_time(w), "sure": w.sure} for w in answer.window],
        "trace": [to_json_values(line) for line in answer.trace],
        "milliseconds": round(sum(line.milliseconds for line in answer.trace), 2),
    }


def _cited(citation: Citation) -> str:
    memory = citation.memory
    where = f"memory {memory.id}" + (f", session {memory.session_id}" if memory.session_id else "")
    when = f", {memory.said_at:%Y-%m-%d}" if memory.said_at else ""
    speaker = f"{memory.speaker}: " if memory.speaker else ""
    return f"[{citation.number}] {memory.store}, {where}{when}: {speaker}{citation.quote}"


def _learn(arguments: argparse.Namespace, settings: Settings) -> int:
    parts = services(settings)
    done = learn_from_sessions(parts.bank, settings.learner, parts.model)
    indexer.embed_all(parts.bank, parts.searcher.embedder)
    figures = {
        "sessions": done.sessions,
        "learned": done.stored.memories,
        "known": done.stored.known_memories,
        "rejected (no supporting quote)": done.stored.refused,
        "sessions by rules instead of the chat model": done.by_rules,
        "still waiting": learning_queue.count_pending(parts.bank),
    }
    _print(figures, as_json=arguments.json)
    if done.notice:
        print_error(f"Rules learned from {format_count(done.by_rules, 'session')}: {done.notice}")
    return 0


def _models(arguments: argparse.Namespace, settings: Settings) -> int:
    figures = measure(arguments.name or settings.model, arguments.quantization or settings.quantization)
    _print(figures, as_json=arguments.json)
    return 0


def _print(figures: Mapping[str, object], *, as_json: bool) -> None:
    print(json.dumps(figures, indent=2) if as_json else "\n".join(f"{k}: {v}" for k, v in figures.items()))
