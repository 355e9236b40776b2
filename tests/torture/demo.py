"""A hundred visitors of the demo tell, ask, upload and leave; each sees only their own, and nothing of it stays."""

import os
import queue
import re
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random

import httpx
import psutil

from graph.server.demo import MAX_VISITORS
from support.app_client import Program
from support.browser_app import App
from tests.torture.attack import new, started
from tests.torture.outcome import Outcome

STAY = 60.0
"""Seconds after which a visitor who does nothing has left, in place of an hour."""

TALKING = 8
"""Visitors who do something at once."""

GROWTH = 64.0
"""MB that the app may take more at the end than when the last visitor had come."""

BROWSER = {"Accept": "text/html"}
WAIT = ("messages in ten minutes", "uploads can wait")
"""What the app says to a visitor who sends too much."""

SECRET = re.compile(r"stone Q\d+")


class Visitor(Program):
    """A visitor, from an address of their own, who has told one secret."""

    def __init__(self, app: App, number: int) -> None:
        super().__init__(app, address=f"127.0.{1 + number // 200}.{1 + number % 200}")
        self.http.timeout = httpx.Timeout(300)
        self.secret = f"stone Q{number:03}"
        offered = self.http.get("/", headers=BROWSER)
        self.http.get(offered.headers["location"], headers=BROWSER)
        self.http.get("/", headers=BROWSER).raise_for_status()
        self.call("remember", "Ida", f"My spare key lies under {self.secret}.", None).raise_for_status()

    def act(self, chance: Random) -> httpx.Response:
        """Do one of the things that visitors do."""
        calls = (
            ("ask", "Ida", "Where does my spare key lie?", None, False),
            ("ask", "Ida", "How old is Comma?", None, True),
            ("remember", "Ida", f"I saw heron {chance.random()} at the lake.", None),
            ("search_memory", "Ida", "spare key under stone", 50, None, None),
            ("list_personas",),
        )
        if chance.random() < 0.05:
            return self.put("history.txt", f"Ann: {self.secret}\nBob: hello\n".encode() * 1000)
        name, *data = chance.choice(calls)
        return self.call(name, *data)


def run(
    seconds: float, chance: Random, folder: Path, visitors: int = MAX_VISITORS, stay: float = STAY
) -> Iterator[Outcome]:
    """Let visitors come until all are there or half the time is over, and talk until it is; wait until they left."""
    outcome = Outcome("demo", ("failed", "seen", "grown", "left"))
    begin = f"from graph.server import demo; demo.STAY_SECONDS = {stay}; import app; raise SystemExit(app.main())"
    with started(App(new(folder), "--demo", program=("-c", begin))) as app:
        came, over, ends = queue.Queue[Visitor](), threading.Event(), time.monotonic() + seconds
        talkers = [
            threading.Thread(target=talk, args=(came, Random(chance.random()), over, outcome)) for _ in range(TALKING)
        ]
        for thread in talkers:
            thread.start()
        try:
            for number in range(visitors):
                came.put(Visitor(app, number))
                outcome.done.update(visitors=1)
                if number and time.monotonic() > ends - seconds / 2:
                    break
            early = megabytes(app)
            time.sleep(max(ends - time.monotonic(), seconds / 4))
        finally:
            over.set()
        for thread in talkers:
            thread.join()
        late = megabytes(app)
        outcome.note = f"MB of memory {early:.0f} to {late:.0f}"
        if late - early > GROWTH:
            outcome.fault("grown", outcome.note)
        for seconds_waited in count():
            left = [file for name in ("visitors", "uploads") for file in files_below(folder / name)]
            if not left:
                break
            if seconds_waited > stay + 60:
                outcome.fault("left", f"{len(left)} files, among them {left[0]}")
                break
            time.sleep(1)
    yield outcome


def talk(came: "queue.Queue[Visitor]", chance: Random, over: threading.Event, outcome: Outcome) -> None:
    """Let one visitor after another do something, in turns."""
    while not over.is_set():
        try:
            visitor = came.get(timeout=1)
        except queue.Empty:
            continue
        outcome.done.update(requests=1)
        try:
            answer = visitor.act(chance)
        except httpx.HTTPError as fault:
            outcome.fault("failed", repr(fault))
            continue
        if answer.status_code != httpx.codes.OK and not any(said in answer.text for said in WAIT):
            outcome.fault("failed", f"{answer.status_code} {answer.request.url.path}: {answer.text[:200]}")
        if set(SECRET.findall(answer.text)) - {visitor.secret}:
            outcome.fault("seen", answer.text[:300])
        came.put(visitor)


def files_below(folder: Path) -> list[Path]:
    """The files at any depth, of a folder that others may go from meanwhile."""
    return [Path(inside, name) for inside, _, names in os.walk(folder) for name in names]


def megabytes(app: App) -> float:
    """The memory that the app takes now."""
    return float(psutil.Process(app.pid).memory_info().rss) / 2**20
