"""The command line: python -m graph ask "..." --persona P [--as-of DATE]; learn; bench; models."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

from pydantic import ValidationError

from graph.assistant import Answer, Assistant
from graph.learning.learner import consolidate
from graph.models import Quantization, chat_model_or_none
from graph.models.measure import make_up, measure
from graph.models.synthetic import Shape
from graph.settings import Settings
from graph.state import Ask, Citation, Services
from graph.understanding.classifier import Classifier
from memory.bank import learning_queue
from memory.bank.bank import Bank
from memory.dates.expressions import describe_span, last_moment
from memory.embedding.embedder import Embedder
from memory.errors import MemoirError
from memory.exporting.json_values import to_json_values
from memory.search import indexer
from memory.search.searcher import Searcher

ROOT = Path(__file__).parents[1]


def main(argv: list[str] | None = None) -> int:
    """Run one command; 0 if it did what was asked, 1 if it could not, 2 for wrong arguments."""
    arguments = _parser().parse_args(argv)
    try:
        command: Callable[[argparse.Namespace, Settings], int] = arguments.command
        return command(arguments, Settings())
    except ValidationError as fault:
        for error in fault.errors():
            print(f"memoir: MEMOIR_{str(error['loc'][0]).upper()}: {error['msg']}", file=sys.stderr)
    except MemoirError as fault:
        print(f"memoir: {fault}", file=sys.stderr)
    except BrokenPipeError:
        # The reader of a pipe ("| head") has seen enough; Python would complain again when it closes the stream.
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115
    return 1


def as_of(text: str) -> datetime:
    """A date as typed; a day means its end, so that all said on it is known."""
    last = last_moment(text)
    if last is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no date; write 2023-10-22, 22 October 2023 or an ISO time")
    return last


def message(text: str) -> str:
    """A message that says something."""
    if not text.strip():
        raise argparse.ArgumentTypeError("say something; an empty message asks nothing and tells nothing")
    return text.strip()


def services(settings: Settings) -> Services:
    """What a turn needs, over the bank that the settings name."""
    bank, embedder = Bank(settings.bank_path), Embedder(settings.embedding_model)
    classifier = Classifier.load(embedding_model=embedder.model)
    model = chat_model_or_none(settings.model, settings.quantization)
    return Services(bank, Searcher(bank, embedder), classifier, settings.pipeline(), model=model)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m graph", description="How one turn is answered.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    command = commands.add_parser("ask", help="Say something to a persona; a statement is remembered.")
    command.add_argument("text", type=message)
    command.add_argument("--persona", required=True, help="name, number or source id")
    command.add_argument("--as-of", type=as_of, metavar="DATE", help="answer as at the end of this day")
    command.add_argument("--forgetful", action="store_true", help="do not remember this exchange")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(command=_ask)
    command = commands.add_parser("learn", help="Learn from all talk that is over; the app does it by itself.")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(command=_learn)
    command = commands.add_parser("bench", help="Measure a chat turn, the app's start and its idle memory.")
    command.add_argument("--memories", type=int, default=10_000)
    command.add_argument("--turns", type=int, default=100)
    command.add_argument("--no-app", action="store_true", help="leave the app out")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(command=_bench)
    command = commands.add_parser("models", help="Measure a chat model: load time, memory, tokens a second.")
    command.add_argument("name", nargs="?", help="the model; MEMOIR_MODEL if left out")
    command.add_argument("--quantization", choices=get_args(Quantization), help="how a local model's weights are held")
    command.add_argument("--made-up", choices=get_args(Shape), help="a model of this shape with random weights")
    command.add_argument("--folder", type=Path, help="where the made-up model is written (and found again)")
    command.add_argument("--json", action="store_true", help="print JSON")
    command.set_defaults(command=_models)
    return parser


def _ask(arguments: argparse.Namespace, settings: Settings) -> int:
    held = services(settings)
    persona = held.bank.persona(arguments.persona)
    indexer.embed_all(held.bank, held.searcher.embedder, persona.id)
    moment = arguments.as_of or datetime.now(UTC).astimezone()
    ask = Ask(persona, arguments.text, moment, uuid.uuid4().hex, remember=not arguments.forgetful)
    answer = Assistant(held).ask(ask)
    if arguments.json:
        print(json.dumps(as_json(answer), ensure_ascii=False, indent=2))
        return 0
    if answer.reading.notice:
        print(f"memoir: {answer.reading.notice}", file=sys.stderr)
    print(answer.reading.answer)
    for citation in answer.reading.citations:
        print(f"  {_cited(citation)}")
    return 0


def as_json(answer: Answer) -> dict[str, object]:
    """An answer as plain JSON values: what was said, what it relies on, and how it came about."""
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
        "window": [{"text": w.text, "means": describe_span(w.span), "sure": w.sure} for w in answer.window],
        "trace": [to_json_values(line) for line in answer.trace],
        "milliseconds": round(sum(line.milliseconds for line in answer.trace), 2),
    }


def _cited(citation: Citation) -> str:
    memory = citation.memory
    where = f"memory {memory.id}" + (f", session {memory.session_id}" if memory.session_id else "")
    when = f", {memory.said_at:%Y-%m-%d}" if memory.said_at else ""
    teller = f"{memory.speaker}: " if memory.speaker else ""
    return f"[{citation.number}] {memory.store}, {where}{when}: {teller}{citation.quote}"


def _learn(arguments: argparse.Namespace, settings: Settings) -> int:
    held = services(settings)
    done = consolidate(held.bank, settings.learner, held.model)
    indexer.embed_all(held.bank, held.searcher.embedder)
    stored = done.stored
    figures = {"sessions": done.sessions, "learned": stored.memories, "known": stored.known_memories}
    _print(
        {
            **figures,
            "refused (quoted nothing said)": stored.refused,
            "still waiting": learning_queue.waiting(held.bank),
        },
        as_json=arguments.json,
    )
    if done.notice:
        print(f"memoir: {done.notice}", file=sys.stderr)
    return 0


def _bench(arguments: argparse.Namespace, settings: Settings) -> int:
    """Run `python -m eval bench-turn`: the benches belong to `eval`, which this package does not import."""
    options = [f"--memories={arguments.memories}", f"--turns={arguments.turns}"]
    options += ["--no-app"] if arguments.no_app else []
    options += ["--json"] if arguments.json else []
    return subprocess.run([sys.executable, "-m", "eval", "bench-turn", *options], cwd=ROOT, check=False).returncode


def _models(arguments: argparse.Namespace, settings: Settings) -> int:
    quantization = arguments.quantization or settings.quantization
    if arguments.made_up:
        folder = arguments.folder or settings.home / "cache" / f"made-up-{arguments.made_up}"
        name = make_up(folder, arguments.made_up)
    else:
        name = arguments.name or settings.model
    _print(measure(name, quantization), as_json=arguments.json)
    return 0


def _print(figures: Mapping[str, object], *, as_json: bool) -> None:
    print(json.dumps(figures, indent=2) if as_json else "\n".join(f"{k}: {v}" for k, v in figures.items()))
