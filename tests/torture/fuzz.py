"""Import changed files and send contrived messages: nothing may fail but with a message, nor take long.

What fails is kept in `tests/data/crashers`, and `tests/test_crashers.py` tries it again for ever.
"""

import hashlib
import json
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from random import Random

from graph.__main__ import services
from graph.assistant import Assistant
from graph.settings import Settings
from graph.state import Ask, Services
from memory.bank.bank import Bank
from memory.errors import MemoirError
from memory.ingest import ingest, summarize
from memory.search import indexer
from memory.types import TurnDraft
from support.bad_input import ROOT, assert_true_report, seeded
from support.import_seeds import CARD, EDITS, SEEDS
from tests.torture.outcome import Outcome

CRASHERS = ROOT / "tests" / "data" / "crashers"

CPU_SECONDS = 5.0
"""Processor time that one small input may take; a clear one takes some hundredths."""

KINDS = ("uncaught", "slow", "wrong")


class Slow(BaseException):
    """An input took more processor time than it may."""


@contextmanager
def limit_cpu_seconds() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Slow(f"over {CPU_SECONDS:g} seconds of processor time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def fuzz(name: str, seconds: float, make: Callable[[], bytes], attempt: Callable[[bytes], None]) -> Outcome:
    """Try new inputs until the time has passed; keep those that fail."""
    outcome, ends = Outcome(f"fuzz-{name}", KINDS), time.monotonic() + seconds
    while time.monotonic() < ends:
        content = make()
        outcome.done.update(inputs=1)
        try:
            with limit_cpu_seconds():
                attempt(content)
        except (Exception, Slow) as fault:
            kind = {Slow: "slow", AssertionError: "wrong"}.get(type(fault), "uncaught")
            CRASHERS.mkdir(exist_ok=True)
            path = CRASHERS / f"{name}-{hashlib.sha256(content).hexdigest()[:10]}"
            path.write_bytes(content)
            outcome.fault(kind, f"{path.relative_to(ROOT)}\n{traceback.format_exc()[-1500:]}")
    return outcome


# --- files


def run_import(seconds: float, chance: Random, folder: Path) -> Iterator[Outcome]:
    """Files of every format, with some bytes changed."""
    bank = seeded(folder / "home")
    done = Outcome("", ())

    def make() -> bytes:
        content = bytearray(chance.choice((*SEEDS, CARD)))
        for _ in range(chance.randint(1, 4)):
            start = chance.randint(0, len(content))
            end = min(len(content), start + chance.choice((0, 1, 1, 2, 12)))
            content[start:end] = chance.choice((chance.randbytes(chance.randint(0, 6)), *EDITS))
            if chance.random() < 0.2:  # a part of another file, or of itself
                other = chance.choice(SEEDS)
                place = chance.randrange(len(other))
                content[start:start] = other[place : place + 80]
        return bytes(content)

    def attempt(content: bytes) -> None:
        done.done.update(stored=import_file(bank, folder / "any.bin", content))

    outcome = fuzz("import", seconds, make, attempt)
    outcome.done.update(done.done)
    yield outcome


def import_file(bank: Bank, path: Path, content: bytes) -> bool:
    """Import a file and forget its personas; the report must be true. Whether anything was stored."""
    path.write_bytes(content)
    before = {p.id for p in bank.personas()}
    try:
        summarize(path)
        report = ingest(bank, path)
        assert_true_report(bank, report)
        return True
    except MemoirError:
        return False
    finally:
        with bank.writing() as db:
            for persona in bank.personas():
                if persona.id not in before:
                    db.conn.execute("DELETE FROM personas WHERE id = ?", (persona.id,))


# --- messages

SPICE = (
    *("yesterday", "last year", "in 1999", "on 31 February", "the day before 0001", "in 99999999 years", "3 weeks ago"),
    *(
        "between May and",
        "since 2024-13-45",
        "next Monday",
        "at 25:61",
        "去年夏天",
        "\u202e",
        "\U0001f469\u200d\U0001f467",
        "e\u0301",
    ),
    *("\ud83d", "\0", "‮", "'", '"', "“", "[1]", "{{user}}", "<b>", "%s", "\\", "?", "!", ".", ",", "\n", "not", "no,"),
    *(
        "I mean",
        "forget",
        "how many",
        "who",
        "why",
        "when",
        "List all",
        "and then",
        "my sister",
        "Noor",
        "Ida",
        "I'm",
        "0",
    ),
    *("1e999", "9" * 40, "one hundred million billion", "a" * 300, "½", "²", "٣", "twelve and a half"),
)

MOMENTS = (
    datetime(2026, 11, 20, 10, tzinfo=UTC),
    datetime(2026, 6, 1, 10, tzinfo=timezone(timedelta(hours=5, minutes=45))),
    datetime(1, 1, 2, tzinfo=UTC),
    datetime(9999, 12, 30, 23, tzinfo=UTC),
    datetime(2024, 2, 29, tzinfo=timezone(timedelta(hours=-12))),
)


def run_ask(seconds: float, chance: Random, folder: Path) -> Iterator[Outcome]:
    """Messages made of real ones, with words exchanged, repeated and contrived ones between."""
    parts = sample_services(folder)
    lines = [turn.text for s in parts.bank.sessions(1) for turn in parts.bank.turns(1, s.id) if turn.role == "user"]
    lines += [question["question"] for question in json.loads((ROOT / "assets/sample/questions.json").read_text())]

    def text() -> str:
        words = " ".join(chance.sample(lines, 2)).split(" ")
        start = chance.randrange(len(words))
        words = words[start : start + chance.randint(1, 25)]
        for _ in range(chance.randint(0, 5)):
            words.insert(chance.randint(0, len(words)), chance.choice(SPICE))
        return chance.choice((" ", " ", " ", "")).join(words) or "?"

    def make() -> bytes:
        dialogue = [text() for _ in range(chance.choice((0, 0, 2)))]
        message = {
            "text": text(),
            "dialogue": dialogue,
            "as_of": chance.choice((MOMENTS[0], *MOMENTS)).isoformat(),
            "remember": chance.random() < 0.3,
        }
        return json.dumps(message).encode()

    yield fuzz("ask", seconds, make, lambda content: send(parts, content))


def sample_services(folder: Path) -> Services:
    """A bank with the sample history, and all that answering takes but a chat model."""
    parts = services(Settings(home=folder, model=""))
    ingest(parts.bank, ROOT / "assets" / "sample" / "ida.jsonl")
    indexer.embed_all(parts.bank, parts.searcher.embedder)
    return parts


def send(parts: Services, content: bytes) -> None:
    """Send a message and wait for an answer that is not empty."""
    message = json.loads(content)
    as_of = datetime.fromisoformat(message["as_of"])
    ida = parts.bank.persona(1)
    dialogue = tuple(
        TurnDraft(*(("You", "user"), (ida.name, "assistant"))[n % 2], text, as_of)
        for n, text in enumerate(message["dialogue"])
    )
    ask = Ask(ida, message["text"], as_of, content.hex()[:32], dialogue, message["remember"])
    answer = Assistant(parts).ask(ask)
    assert answer.reading.answer.strip(), "an empty answer"
