"""Several processes chat, import and forget in one bank at once; nothing is lost and nobody waits long."""

import time
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from random import Random

import numpy as np

from memory.bank.queries.deletion import select_everything
from memory.forgetting.forget import forget_selected
from memory.ingest import ingest
from memory.search import indexer
from support.bad_input import history
from tests.torture import kill
from tests.torture.outcome import Outcome
from tests.torture.processes import PATIENCE, Child, Report, listen

CHATTING, MOVING = 4, 2
"""Processes that chat, and that import and forget."""

P99_SECONDS = 2.0
"""The 99th percentile of a turn's time may not be above this, on a machine that does nothing else."""


def run(seconds: float, chance: Random, folder: Path) -> Iterator[Outcome]:
    """Let all run for the time, then compare what they acknowledged with the bank."""
    outcome = Outcome("crowd", (*kill.KINDS, "slow"))
    chat, ends = kill.Chat(folder, chance), time.time() + seconds
    works = [partial(talk, chat, number, ends) for number in range(CHATTING)]
    works += [partial(move, chat, folder, f"Zoe {number}", ends) for number in range(MOVING)]
    children = [Child(work) for work in works]
    if not listen(children, seconds + PATIENCE):
        outcome.fault("slow", f"a process did not end within {PATIENCE} seconds")
    for child in children:
        child.kill()
    reports = [report for child in children for report in child.reports]
    turns = [report for report in reports if isinstance(report, list)]
    moved = [report for report in reports if isinstance(report, str)]
    outcome.done.update({"processes": len(children), "imported and forgotten": len(moved)})
    kill.check(chat, [n for n, _ in turns] + [report for report in reports if isinstance(report, dict)], outcome)
    check_moved(chat, moved, outcome)
    times = np.percentile([took for _, took in turns if took is not None] or [0.0], (50, 99, 100))
    outcome.note = "a turn takes {:.2f} s at the median, {:.2f} s at p99, {:.2f} s at most".format(*times)
    if times[1] > P99_SECONDS:
        outcome.fault("slow", outcome.note)
    kill.note_idle(outcome)
    yield outcome


def talk(chat: kill.Chat, number: int, ends: float, report: Report) -> None:
    """Chat as a process of the app does; the first turn, which still loads what it needs, is not timed."""
    parts = chat.services()
    chat.say(parts, first := number * 1_000_000)
    report((first, None))
    for n in count(first + 1):
        if time.time() > ends:
            break
        started = time.perf_counter()
        chat.say(parts, n)
        report((n, time.perf_counter() - started))
        indexer.embed_pending(chat.bank, parts.searcher.embedder)


def move(chat: kill.Chat, folder: Path, name: str, ends: float, report: Report) -> None:
    """Import histories and forget each when the next is there."""
    for n in count():
        if time.time() > ends:
            break
        persona = ingest(chat.bank, history(folder / f"{name}.jsonl", 40, f"{name} {n}")).histories[0].persona
        report(persona.name)
        if n:
            assert forget_selected(chat.bank, [chat.bank.persona(f"{name} {n - 1}").id], select_everything).residue == 0


def check_moved(chat: kill.Chat, moved: list[str], outcome: Outcome) -> None:
    """Of each process the last history is there in full, and no other."""
    personas = {persona.name: persona.id for persona in chat.bank.personas()}
    del personas["Iris"]
    last = {name.rpartition(" ")[0]: name for name in moved}
    if set(last.values()) != personas.keys():
        outcome.fault("lost", f"{sorted(personas)} are there, not {sorted(last.values())}")
    for name, number in personas.items():
        if chat.bank.counts(number) != {"sessions": 40, "turns": 800, "dialogue": 800}:
            outcome.fault("half", f"{name}: {chat.bank.counts(number)}")
