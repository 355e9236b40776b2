"""Kill processes that chat, import, forget, back up, restore and export at random moments, and look at what is left."""

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Protocol

from graph.__main__ import services
from graph.assistant import Assistant
from graph.settings import Settings
from graph.state import Ask, Services
from memory.bank.backup import KEPT_SUFFIX, backup, inspect, restore
from memory.bank.bank import Bank
from memory.bank.maintenance import verify
from memory.bank.unfinished import find_unfinished
from memory.embedding.embedder import DEFAULT_MODEL
from memory.errors import MemoirError
from memory.exporting.export import export_lines, write_export
from memory.forgetting.byte_search import find_in_file
from memory.forgetting.forget import forget_memories
from memory.ingest import ingest
from memory.search import indexer
from memory.types import SessionDraft, TurnDraft
from support.bad_input import MAY, history, seeded
from tests.torture.outcome import Outcome
from tests.torture.processes import Report, kill_after

KILLS_PER_BANK = 30
"""After so many kills a new bank is begun, so that checking it stays quick."""

LONGEST = 0.5
"""Seconds after which a process is killed at the latest."""

KINDS = ("lost", "double", "half", "residue", "corrupt", "uncaught", "idle")


class Victim(Protocol):
    """One kind of work on a bank of its own."""

    bank: Bank
    ended: bool

    def work(self, report: Report) -> None:
        """Report that it is ready, then work until killed, and report each piece that is finished."""

    def check(self, finished: list[Any], outcome: Outcome) -> None:
        """Count what is wrong with what is left; the next process continues from there."""


class Chat:
    """Statements in chats; one that was not acknowledged is sent again under the same id."""

    def __init__(self, folder: Path, chance: Random) -> None:
        self.bank, self.ended, self.acknowledged = seeded(folder), False, set[int]()

    def services(self) -> Services:
        """All that answering takes but a chat model, with the weights loaded."""
        parts = services(Settings(home=self.bank.path.parent, model=""))
        parts.searcher.embedder.load()
        return parts

    def say(self, parts: Services, n: int) -> None:
        ask = Ask(
            self.bank.persona("Iris"),
            f"I keep umbrella {n:07} in my locker.",
            MAY + timedelta(minutes=n),
            f"chat {n // 20}",
            turn_id=str(n),
        )
        Assistant(parts).ask(ask)

    def work(self, report: Report) -> None:
        parts = self.services()
        for n in count(first := max(self.acknowledged, default=-1) + 1):
            self.say(parts, n)
            if n == first:  # it loads what the others need, and takes longer than a process is left
                report("ready")
            report(n)
            indexer.embed_pending(self.bank, parts.searcher.embedder)

    def check(self, finished: list[int], outcome: Outcome) -> None:
        with self.bank.reading() as db:
            query = """
                SELECT t.external_id, r.role, m.id FROM turns t
                JOIN sessions s ON s.id = t.session_id AND s.source = 'chat'
                LEFT JOIN turns r ON r.session_id = t.session_id AND r.position = t.position + 1
                LEFT JOIN sources o ON o.turn_id = t.id LEFT JOIN memories m ON m.id = o.memory_id
                    AND m.store = 'dialogue' WHERE t.role = 'user' AND (o.turn_id IS NULL OR m.id IS NOT NULL)
            """
            rows = db.conn.execute(query).fetchall()
        times = Counter(int(turn) for turn, *_ in rows)
        self.acknowledged.update(finished)
        for n in self.acknowledged - times.keys():
            outcome.fault("lost", f"message {n}")
        for n, number in times.items():
            if number > 1:
                outcome.fault("double", f"message {n}, {number} times")
        for turn, reply, memory in rows:
            if reply != "assistant" or memory is None:
                outcome.fault("half", f"message {turn}: the turn after it is {reply}, its memory is {memory}")


class Import:
    """One file that is imported until nothing kills it."""

    SESSIONS = 100

    def __init__(self, folder: Path, chance: Random) -> None:
        self.bank, self.ended, self.before = seeded(folder), False, 0
        self.file = history(folder / "Zoe.jsonl", self.SESSIONS)

    def work(self, report: Report) -> None:
        report("ready")
        ingest(self.bank, self.file)
        report("all")

    def check(self, finished: list[str], outcome: Outcome) -> None:
        counts = Counter[str]()
        for persona in self.bank.personas():
            if persona.name == "Zoe":
                counts.update(self.bank.counts(persona.id))
        if counts["sessions"] < (self.SESSIONS if finished else self.before):
            outcome.fault("lost", f"{counts['sessions']} sessions after {self.before}; finished: {finished}")
        if counts["sessions"] > self.SESSIONS:
            outcome.fault("double", f"{counts['sessions']} sessions of {self.SESSIONS}")
        if not counts["turns"] == counts["dialogue"] == counts["sessions"] * 20:
            outcome.fault("half", str(counts))
        self.before, self.ended = counts["sessions"], bool(finished)


class Forget:
    """Memories that are forgotten one after the other; those before the last that was finished leave no byte."""

    SECRETS = 120

    def __init__(self, folder: Path, chance: Random) -> None:
        self.bank, self.ended, self.finished = seeded(folder), False, set[int]()
        iris = self.bank.persona("Iris")
        for day in range(0, self.SECRETS, 10):
            turns = tuple(TurnDraft("Ana", "user", self.secret(n)) for n in range(day, day + 10))
            self.bank.remember(iris.id, [SessionDraft(turns, MAY, external_id=f"day {day}", title=self.secret(day))])

    @staticmethod
    def secret(n: int) -> str:
        return f"Safe {n:04} opens with {n * 7919:08}."

    def present(self) -> dict[int, int]:
        """The ids of the memories that are still there, by the number of their secret."""
        memories = self.bank.memories(self.bank.persona("Iris").id, store="dialogue")
        return {int(m.text.split()[1]): m.id for m in memories if m.text.startswith("Safe")}

    def work(self, report: Report) -> None:
        iris, present = self.bank.persona("Iris"), self.present()
        report("ready")
        for n in sorted(present):
            forget_memories(self.bank, iris.id, [present[n]])
            report(n)

    def check(self, finished: list[int], outcome: Outcome) -> None:
        self.finished.update(finished)
        present = self.present()
        with self.bank.reading() as db:
            turns = {
                int(text.split()[1]) for (text,) in db.conn.execute("SELECT text FROM turns WHERE text LIKE 'Safe%'")
            }
        if turns != present.keys():
            outcome.fault("half", f"turns or memories only: {turns ^ present.keys()}")
        if len(set(range(self.SECRETS)) - present.keys() - self.finished) > 1:  # one was interrupted
            outcome.fault("lost", f"{len(present)} memories are left, {len(self.finished)} were forgotten")
        if finished:  # it cleaned up after those that were interrupted before, too
            gone = {self.secret(n) for n in range(max(finished) + 1)}
            for path in self.bank.path.parent.iterdir():
                for text in find_in_file(path, gone):
                    outcome.fault("residue", f"{path.name} contains {text}")
        self.finished |= set(range(self.SECRETS)) - present.keys()
        self.ended = len(present) < 20


class Backup:
    """Backups under new names; a name is there with a whole bank or free."""

    def __init__(self, folder: Path, chance: Random) -> None:
        self.bank, self.ended, self.next = seeded(folder / "home"), False, 0
        ingest(self.bank, history(folder / "Zoe.jsonl", 60))
        self.folder, self.turns = folder, inspect(self.bank.path).turns

    def file(self, n: int) -> Path:
        return self.folder / f"{n}.db"

    def work(self, report: Report) -> None:
        report("ready")
        for n in count(self.next):
            backup(self.bank, self.file(n))
            report(n)

    def check(self, finished: list[int], outcome: Outcome) -> None:
        first, self.next = self.next, max([self.next, *(n + 1 for n in finished)])
        self.next += self.file(self.next).exists()
        for n in range(first, self.next):
            try:
                if inspect(self.file(n)).turns != self.turns:
                    outcome.fault("half", f"{self.file(n).name}: {inspect(self.file(n))}")
            except MemoirError as fault:
                outcome.fault("lost", str(fault))
            with suppress(MemoirError):  # the name is taken; what a kill left of it is deleted all the same
                backup(self.bank, self.file(n))
            if left := find_unfinished(self.folder, self.file(n).name):
                outcome.fault("residue", left[0].name)
            self.file(n).unlink(missing_ok=True)


class Restore:
    """Two backups that are restored in turn: the bank is one or the other."""

    def __init__(self, folder: Path, chance: Random) -> None:
        self.bank, self.ended, self.current = seeded(folder / "home"), False, 1
        self.files, self.turns = (folder / "0.db", folder / "1.db"), dict[int, int]()
        for number, file in enumerate(self.files):
            ingest(self.bank, history(folder / f"{number}.jsonl", 20 + 20 * number, f"Zoe {number}"))
            self.turns[backup(self.bank, file).turns] = number

    def work(self, report: Report) -> None:
        report("ready")
        for n in count(self.current + 1):
            restore(self.bank, self.files[n % 2])
            report(n % 2)

    def check(self, finished: list[int], outcome: Outcome) -> None:
        last = finished[-1] if finished else self.current
        found = self.turns.get(inspect(self.bank.path).turns)
        if found is None:
            outcome.fault("half", str(inspect(self.bank.path)))
        self.current = last if found is None else found
        for path in self.bank.path.parent.glob(f"{self.bank.path.name}{KEPT_SUFFIX}*"):
            if inspect(path).turns not in self.turns:
                outcome.fault("half", f"{path.name}: {inspect(path)}")
            path.unlink()
        if len(find_unfinished(self.bank.path.parent, self.bank.path.name)) > 4:  # the new bank, and its log
            outcome.fault("residue", "unfinished copies pile up")


class Export:
    """Exports under the same name: it is there in full or not at all."""

    def __init__(self, folder: Path, chance: Random) -> None:
        self.bank, self.ended, self.file = seeded(folder / "home"), False, folder / "all.jsonl"
        ingest(self.bank, history(folder / "Zoe.jsonl", 40))
        self.expected = "".join(line + "\n" for line in export_lines(self.bank, self.bank.personas()))

    def work(self, report: Report) -> None:
        report("ready")
        for n in count():
            write_export(self.bank, self.bank.personas(), self.file)
            report(n)

    def check(self, finished: list[int], outcome: Outcome) -> None:
        if self.file.exists():
            if self.file.read_text() != self.expected:
                outcome.fault("half", f"{self.file.stat().st_size} bytes")
            self.file.unlink()
        elif finished:
            outcome.fault("lost", "the export is not there")
        if len(find_unfinished(self.file.parent)) > 1:
            outcome.fault("residue", "unfinished exports pile up")


VICTIMS: dict[str, tuple[type[Victim], float]] = {
    "chat": (Chat, 0.4),
    "import": (Import, 0.12),
    "forget": (Forget, 0.12),
    "backup": (Backup, 0.12),
    "restore": (Restore, 0.12),
    "export": (Export, 0.12),
}
"""What is killed, and for which share of the time: loading the models takes most of a chat's."""


def run(seconds: float, chance: Random, folder: Path) -> Iterator[Outcome]:
    """Kill each kind of work for its share of the time."""
    for name, (kind, share) in VICTIMS.items():
        outcome, ends = Outcome(f"kill {name}", KINDS), time.monotonic() + seconds * share
        outcome.done.update(kills=0, acks=0)
        for number in count():
            victim = kind(folder / f"{name}-{number}", chance)
            for _ in range(KILLS_PER_BANK):
                if time.monotonic() < ends and not victim.ended:
                    finished, killed = kill_after(victim.work, moment(chance))
                    outcome.done.update(kills=killed)
                    check(victim, finished, outcome)
            if time.monotonic() >= ends:
                break
        note_idle(outcome)
        yield outcome


def moment(chance: Random) -> float:
    """How long the work may go on; most of these times are short, for most work is."""
    return LONGEST * chance.random() ** 2


def note_idle(outcome: Outcome) -> None:
    """Count it as a fault if nothing at all was acknowledged: nothing could be lost then."""
    if not (outcome.done["acks"] or outcome.skipped):
        outcome.fault("idle", "nothing was acknowledged")


def check(victim: Victim, finished: list[Any], outcome: Outcome) -> None:
    """Count what was finished, and what is wrong with the bank."""
    for report in [report for report in finished if isinstance(report, dict)]:
        finished.remove(report)
        outcome.fault("uncaught", report["uncaught"])
    outcome.done.update(acks=len(finished))
    try:
        victim.check(finished, outcome)
        for fault in verify(victim.bank, DEFAULT_MODEL):
            outcome.fault("corrupt", fault)
    except MemoirError as fault:
        outcome.fault("corrupt", f"{victim.bank.path}: {fault}")
