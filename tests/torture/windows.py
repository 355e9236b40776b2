"""Eight users talk with the app in windows of their own while one of them imports a long history."""

import json
import re
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from statistics import quantiles
from typing import Any

from memory.users import Users
from support.app_client import HELD, PASSWORDS, PATIENCE, Program
from support.browser_app import App
from tests.torture.attack import new, started
from tests.torture.outcome import Outcome

USERS, IMPORTED = 8, 8_000
"""Windows that ask, and turns of the history that one of the users imports meanwhile."""

SLOW = 2.0
"""Seconds within which 99 of 100 answers must be there."""

ASKED, NOBODY, OFFERED = "Choose which one you are", "", "None of these"
"""What the page asks of who imports some files, the answer that none of them is the user, and its label, which the page
shows with every file that can be imported."""

CHAT = re.compile(r'data-shows=\\?"([^"\\]+)')
"""Where the page says which chat it shows."""

QUESTIONS = (
    "Why is my cat called Comma?",
    "Where does my sister live?",
    "Who is my boss?",
    "When did I move?",
    "What do I do for work?",
    "When is the wedding?",
)


class Window(Program):
    """A window of a user, which remembers the page's events by their names."""

    def __init__(self, app: App, name: str) -> None:
        super().__init__(app, name)
        self.session, self.chat = name * 4, ""
        self._lines: Iterator[str] = iter(())
        self._numbers = {event["api_name"]: event["id"] for event in reversed(self.events())}

    def send(self, event: str, *data: Any, detail: Mapping[str, Any] | None = None) -> str:
        """Send one of the page's events, and hear of it as the page does, on a stream that stays open."""
        joined = self.join(self._numbers[event], list(data), self.session, detail)
        return self.hear(self.session, joined) if joined else "refused"

    def open_demo(self) -> None:
        """Open a chat with the demo's persona."""
        self.send("open_page")
        self.chat = CHAT.findall(self.send("open_demo"))[-1]

    def ask(self, question: str) -> str:
        """Send a message in that chat; what the queue tells of its answer."""
        detail = {"text": question, "chat": self.chat, "edits": None}
        data = [None, None, False, None, "auto"]
        taken = self.send("take", *data, detail=detail)
        return taken if failed(taken) else self.send("follow", None)

    def hear(self, session: str, event: str = "") -> str:
        """What the queue tells until an event is done; where the stream has ended, another is opened."""
        heard, ends = list[str](), time.monotonic() + PATIENCE
        while event and time.monotonic() < ends:
            for line in self._lines:
                heard.append(line)
                if event in line and '"process_completed"' in line:
                    return "\n".join(heard)
            self._lines = self.stream_lines(session)
        return "\n".join(heard)

    def stream_lines(self, session: str) -> Iterator[str]:
        """The lines of a new stream."""
        with self.http.stream("GET", f"/gradio_api/queue/data?session_hash={session}") as told:
            yield from told.iter_lines()

    def bring_in(self, path: str) -> list[str]:
        """Import all of an uploaded file, in which the user is nobody; what the queue tells of each step."""
        name = Path(path).name
        file = {"path": path, "orig_name": name, "meta": HELD}
        chosen = [file, [], True]
        told = [self.look_into(path, self.session, orig_name=name)]
        for user in (None, NOBODY) if OFFERED in told[0] else ():
            told.append(self.send("import_file", *chosen, user, "persona", False))
            if ASKED not in told[-1]:
                break
        return told


def failed(told: str) -> bool:
    """Whether an event did not come to its end, by what the queue told of it."""
    return '"process_completed"' not in told or '"success":false' in told.replace(" ", "")


def run(seconds: float, chance: Random, folder: Path) -> Iterator[Outcome]:
    """Ask until the time has passed."""
    outcome = Outcome("windows", ("failed", "slow"))
    home, took = new(folder), list[float]()
    for number in range(USERS):
        PASSWORDS[f"user{number}"] = f"a password of user {number}"
        Users(home).add(f"user{number}", PASSWORDS[f"user{number}"])
    with started(App(home, "--auth")) as app:
        windows = [Window(app, f"user{number}") for number in range(USERS)]
        for window in windows:
            window.open_demo()
        ends = time.monotonic() + seconds
        threads = [
            threading.Thread(target=ask, args=(window, Random(chance.random()), ends, took, outcome))
            for window in windows
        ]
        threads.append(threading.Thread(target=import_history, args=(Window(app, "user0"), outcome)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    outcome.done.update(users=USERS, answers=len(took))
    if len(took) < USERS:
        outcome.fault("failed", "not every window had an answer")
    else:
        hundredths = quantiles(took, n=100)
        outcome.note = f"{hundredths[49]:.2f} s at the median, {hundredths[98]:.2f} s at p99, {max(took):.2f} s at most"
        if hundredths[98] > SLOW:
            outcome.fault("slow", outcome.note)
    yield outcome


def ask(window: Window, chance: Random, ends: float, took: list[float], outcome: Outcome) -> None:
    """Ask one question after another in one chat."""
    while time.monotonic() < ends:
        asked_at = time.monotonic()
        told = window.ask(chance.choice(QUESTIONS))
        took.append(time.monotonic() - asked_at)
        if failed(told):
            outcome.fault("failed", told[-300:])


def import_history(window: Window, outcome: Outcome) -> None:
    """Import a history of its own persona."""
    lines: list[Any] = [{"memoir": 1, "persona": {"name": "Zoe", "id": "zoe"}}]
    for day in range(IMPORTED // 20):
        said = [{"speaker": "Bo", "text": f"On day {day} I saw {n} boats from hut {day * n % 97}."} for n in range(20)]
        lines.append({"session": {"id": f"s{day}", "started_at": "2024-01-01T10:00:00+00:00", "turns": said}})
    path = window.put("zoe.jsonl", "\n".join(map(json.dumps, lines)).encode()).json()[0]
    window.session = "import"
    window.send("open_page")
    told = window.bring_in(path)
    if any(map(failed, told)) or Path(path).exists():  # what was imported is deleted
        outcome.fault("failed", f"the import: {told[-1][-300:]}")
    else:
        outcome.done.update(imported=IMPORTED)
