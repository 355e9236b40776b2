"""Two app servers on one bank: programs tell both, one is killed and started again, nothing that was taken is lost."""

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random

import httpx

from memory.bank.bank import Bank
from memory.bank.maintenance import verify
from memory.embedding.embedder import DEFAULT_MODEL
from support.browser_app import App
from tests.torture.attack import new, started
from tests.torture.outcome import Outcome

PROGRAMS = 2
"""Programs that talk with each server."""

BETWEEN_KILLS = 20.0
"""Seconds that both servers run until one is killed; starting takes most of them."""

LOST_CONNECTION = (httpx.TransportError, ConnectionError)


def run(seconds: float, chance: Random, folder: Path) -> Iterator[Outcome]:
    """Tell both servers until the time has passed, then read the bank."""
    outcome = Outcome("servers", ("lost", "double", "refused", "corrupt"))
    home, ends = new(folder), time.monotonic() + seconds
    acknowledged: list[str] = []
    with started(App(home)) as first, started(App(home)) as second:
        threads = [
            threading.Thread(target=tell, args=(app, f"{number} {port}", ends, acknowledged, outcome))
            for port, app in enumerate((first, second))
            for number in range(PROGRAMS)
        ]
        for thread in threads:
            thread.start()
        while (left := ends - time.monotonic()) > 0:
            time.sleep(min(left, BETWEEN_KILLS))
            if left > 2 * BETWEEN_KILLS:
                victim = chance.choice((first, second))
                os.kill(victim.pid, signal.SIGKILL)
                victim.stop()
                victim.start()
                outcome.done.update(kills=1)
        for thread in threads:
            thread.join()
    outcome.done.update(acks=len(acknowledged))
    bank = Bank(home / "bank.db")
    times = Counter(turn.text for s in bank.sessions(1) for turn in bank.turns(1, s.id))
    for text in acknowledged:
        if times[text] != 1:
            outcome.fault("double" if times[text] else "lost", f"{text}: {times[text]} times")
    for fault in verify(bank, DEFAULT_MODEL):
        outcome.fault("corrupt", str(fault))
    yield outcome


def tell(app: App, who: str, ends: float, acknowledged: list[str], outcome: Outcome) -> None:
    """Tell a server one thing after another; what it takes is acknowledged."""
    for n in count():
        if time.monotonic() > ends:
            break
        text = f"I keep umbrella {who} {n:06} in my locker."
        try:
            answer = httpx.post(f"{app.url}gradio_api/run/remember", json={"data": ["1", text, None]}, timeout=120)
        except LOST_CONNECTION:  # it was killed; whether it had stored the text is not known
            time.sleep(0.5)
            continue
        if answer.status_code == httpx.codes.OK:
            acknowledged.append(text)
        else:
            outcome.fault("refused", f"{answer.status_code} {answer.text[:200]}")
