"""Fill the disk to a random byte, then chat, import, forget, back up, restore and export on it."""

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from random import Random

from memory.errors import MemoirError
from support.small_disk import NoDisk, leave_free, small_disk
from tests.torture.kill import KILLS_PER_BANK, KINDS, VICTIMS, check, note_idle
from tests.torture.outcome import Outcome
from tests.torture.processes import Report, kill_after

MEGABYTES = 32
MOST_FREE = 4 << 20
"""Bytes that are free at most; at least none is."""

SECONDS = 0.3
"""How long the work goes on unless the disk ends it."""


def run(seconds: float, chance: Random, folder: Path) -> Iterator[Outcome]:
    """Fill the disk under each kind of work for its share of the time."""
    for name, (kind, share) in VICTIMS.items():
        outcome, ends = Outcome(f"disk {name}", KINDS), time.monotonic() + seconds * share
        outcome.done.update({"fills": 0, "acks": 0, "told that it is full": 0})
        for number in count():
            try:
                with small_disk(folder / f"{name}-{number}", MEGABYTES) as disk:
                    victim = kind(disk / "victim", chance)
                    for _ in range(KILLS_PER_BANK):
                        if time.monotonic() < ends and not victim.ended:
                            filling = leave_free(disk, int(MOST_FREE * chance.random() ** 3))
                            finished, _ = kill_after(partial(until_full, victim.work), SECONDS)
                            filling.unlink()
                            outcome.done.update({"fills": 1, "told that it is full": finished.count("full")})
                            check(victim, [each for each in finished if each != "full"], outcome)
            except NoDisk as reason:
                outcome.skipped = str(reason)
            if outcome.skipped or time.monotonic() >= ends:
                break
        note_idle(outcome)
        yield outcome


def until_full(work: Callable[[Report], None], report: Report) -> None:
    """Work until an error says that the disk is full."""
    try:
        work(report)
    except (MemoirError, OSError) as fault:
        if not any(words in str(fault) for words in ("disk is full", os.strerror(28))):
            raise
        report("full")
