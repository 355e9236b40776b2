"""Upload hostile files to the app: each is imported or refused in words, and meanwhile another user is answered."""

import io
import os
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from statistics import quantiles

import httpx
import psutil

from memory.importers import child_process
from memory.importers.detect import MAX_MEMBERS
from memory.users import Users
from support import app_client
from support.app_client import Program, two_users
from support.bad_input import ROOT
from support.browser_app import App
from support.import_seeds import SEEDS
from tests.torture.attack import new, started
from tests.torture.demo import megabytes
from tests.torture.outcome import Outcome
from tests.torture.windows import SLOW, Window, failed

PATIENCE = 240
"""Seconds after which a file that was neither imported nor refused counts as failed."""

GROWTH = 256.0
"""MB that the app may take more after all files; reading one in a process of its own may take more."""

CODECS = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "latin-1", "utf-7", "cp037")

PERSONA = b'{"memoir": 1, "persona": {"name": "Zoe", "id": "zoe"}}\n'
EXPORT = b'{"memoir":2,"persona":{"n":1,"name":"Zoe","id":"zoe","created_at":"2026-03-01T18:00:00+00:00"}}\n'


def deep(chance: Random) -> bytes:
    """JSON that is nested deeply, whole or cut off."""
    depth = chance.choice((1_000, 100_000, 2_000_000))
    opened, closed = chance.choice(
        ((b"[", b"]"), (b'{"a":', b"}"), (b'{"mapping":{"a":', b"}}"), (b'[{"turns":', b"}]"))
    )
    return chance.choice((b"", PERSONA, EXPORT)) + opened * depth + b"1" + closed * chance.choice((0, depth))


@cache
def names(count: int) -> bytes:
    """An archive of so many names."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as zipped:
        for number in range(count):
            zipped.writestr(f"{number}.json", "[]")
    return packed.getvalue()


def line(chance: Random) -> bytes:
    """One line of a megabyte or more."""
    piece = chance.choice(
        (b"a", b" ", b"1", b"Ana: ", b"<", b"{{char", b"[12:30] ", b"2023-05-08 ", b'"', b"\\", b"\xf0\x9f\x99\x82")
    )
    return chance.choice((b"", b"Ana: ", b"[08.05.23, 13:56:01] Ana: ", PERSONA)) + piece * (
        2**20 * chance.randint(1, 4)
    )


def encoding(chance: Random) -> bytes:
    """A history in one of many encodings, with the mark of another, and changed here and there."""
    text = chance.choice(SEEDS).decode("utf-8", "ignore") * chance.choice((1, 1, child_process.LARGE_BYTES // 200))
    content = bytearray(text.encode(chance.choice(CODECS), "replace"))
    for _ in range(chance.randint(0, 5)):
        content[chance.randrange(len(content))] = chance.randrange(256)
    return chance.choice((b"", b"", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")) + bytes(content)


def bomb(chance: Random) -> bytes:
    """Little that becomes much when it is unpacked or parsed."""
    many = 2**20 * chance.choice((1, 8, 30))
    inner = chance.choice((b"{},", b"[],", b'{"a":[]},', b'"",', b"1,"))
    start, end = chance.choice(((b'{"session":{"turns":[', b"{}]}}\n"), (b'[{"mapping":[', b"{}]}]"), (b"[", b"{}]")))
    large = chance.choice((b"", PERSONA, EXPORT)) + start + inner * (many // len(inner)) + end
    if chance.random() < 0.3:
        return large
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as zipped:
        for number in range(chance.choice((1, 1, 5))):
            noise = (
                chance.randbytes(len(large) // chance.choice((150, 2000))).hex().encode()
            )  # else it is refused unread
            zipped.writestr(f"{number}.json", large + chance.choice((b"", noise)))
    return packed.getvalue()


HOSTILE: dict[str, Callable[[Random], bytes]] = {
    "deep": deep,
    "names": lambda chance: names(chance.choice((500, 4_000, MAX_MEMBERS + 1))),
    "line": line,
    "encoding": encoding,
    "bomb": bomb,
}


def run(seconds: float, chance: Random, folder: Path) -> Iterator[Outcome]:
    """Let Ben upload and import one file after another, while Ann searches."""
    outcome = Outcome("attack imports", ("failed", "slow", "grown", "left", "corrupt"))
    took, over = list[float](), threading.Event()
    app_client.PATIENCE = PATIENCE
    with started(two_users(new(folder))) as app:
        ben, ann = Window(app, "ben"), Program(app, "ann")
        ben.send("open_page")
        search(ann).raise_for_status()
        ann.call("ask", "Ida", "How old is Comma?", None, True).raise_for_status()  # so that all models are loaded
        early, asking = megabytes(app), threading.Thread(target=ask, args=(ann, over, took, outcome))
        asking.start()
        ends, longest = time.monotonic() + seconds, (0.0, "")
        try:
            while time.monotonic() < ends:
                kind = chance.choice(list(HOSTILE))
                began = time.monotonic()
                attempt(ben, kind, HOSTILE[kind](chance), outcome)
                longest = max(longest, (time.monotonic() - began, kind))
        finally:
            over.set()
            asking.join()
        late = megabytes(app)
        if late - early > GROWTH:
            outcome.fault("grown", f"MB of memory {early:.0f} to {late:.0f}")
        for process in psutil.Process(app.pid).children():
            if child_process.PROGRAM[-1] in process.cmdline():
                outcome.fault("left", " ".join(process.cmdline()))
        outcome.note = f"MB of memory {early:.0f} to {late:.0f}; a file took {longest[0]:.0f} s at most ({longest[1]})"
        if len(took) > 1:
            p99 = quantiles(took, n=100)[98]
            outcome.note += f"; another user's search {p99:.2f} s at p99, {max(took):.2f} s at most"
            if p99 > SLOW:
                outcome.fault("slow", outcome.note)
    verify(app, outcome)
    yield outcome


def attempt(ben: Window, kind: str, content: bytes, outcome: Outcome) -> None:
    """Upload a file, look at it and import it; both must come to an end that the page shows."""
    held = ben.put(f"{kind}.bin", content)
    outcome.done.update(files=1)
    if held.status_code != 200:
        outcome.fault("failed", f"upload of {kind}, {len(content):,} bytes: {held.status_code} {held.text[:200]}")
        return
    path = held.json()[0]
    for told in ben.bring_in(path):
        if failed(told):
            outcome.fault("failed", f"{kind}, {len(content):,} bytes: {told[-300:]}")
    outcome.done.update(imported=not Path(path).exists())
    shutil.rmtree(Path(path).parent, ignore_errors=True)  # what was refused would wait for an hour


def ask(ann: Program, over: threading.Event, took: list[float], outcome: Outcome) -> None:
    """Search again and again as another user."""
    while not over.wait(0.2):
        began = time.monotonic()
        try:
            answer = search(ann)
        except httpx.HTTPError as fault:
            outcome.fault("failed", f"a search: {fault!r}")
            continue
        took.append(time.monotonic() - began)
        if answer.status_code != 200:
            outcome.fault("failed", f"a search: {answer.status_code} {answer.text[:200]}")


def search(ann: Program) -> httpx.Response:
    """Search the sample that each user begins with."""
    return ann.call("search_memory", "Ida", "Why is the cat called Comma?", 10, None, None)


def verify(app: App, outcome: Outcome) -> None:
    """Verify the banks of both, once the app has ended."""
    users = Users(app.home)
    for user in users.all():
        command = [sys.executable, "-m", "memory", "verify"]
        environment = {**os.environ, "MEMOIR_HOME": str(users.folder_of(user))}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            outcome.fault("corrupt", f"{user.name}: {done.stdout[-300:]}{done.stderr[-300:]}")
