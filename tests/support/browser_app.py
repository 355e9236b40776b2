"""Starts the app as a user would, and drives its page."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import uvicorn
from playwright.sync_api import Browser, Locator, Page, expect

from graph.server.page import mount_page

if TYPE_CHECKING:
    import gradio as gr

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(__file__).parents[1] / "data" / "browser"
SLOW = 120_000
"""Milliseconds that a page may take where the encoder still loads and the machine is shared."""

expect.set_options(timeout=30_000)

START_SECONDS = 180
"""What the app may take to start where other tests have the cores."""


class App:
    """The app in a process of its own, over a memory of its own."""

    def __init__(self, home: Path, *arguments: str, program: Sequence[str] = ("app.py",)) -> None:
        self.home = home
        self.program = program
        self.arguments = arguments
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until the page answers."""
        environment = {**os.environ, "MEMOIR_HOME": str(self.home), "MEMOIR_PORT": str(self.port)}
        began = time.monotonic()
        with (self.home / "app.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, *self.program, *self.arguments], cwd=ROOT, env=environment, stdout=log, stderr=log
            )
        while time.monotonic() - began < START_SECONDS:
            if self._process.poll() is not None:
                break
            try:
                with urlopen(self.url, timeout=5):
                    return
            except HTTPError:  # it answers, if only that one must log in first
                return
            except (URLError, ConnectionError, TimeoutError):
                time.sleep(0.1)
        self._process.kill()
        raise AssertionError(f"the app did not start: {(self.home / 'app.log').read_text()[-2000:]}")

    @property
    def pid(self) -> int:
        """The process that `start` made."""
        assert self._process is not None
        return self._process.pid

    def stop(self) -> None:
        """End the process that `start` made, which may have been ended, but not have failed."""
        if self._process is None:
            return
        failed = self._process.poll() not in (None, 0, -signal.SIGINT, -signal.SIGTERM, -signal.SIGKILL)
        assert not failed, (
            f"the app ended with {self._process.returncode}: {(self.home / 'app.log').read_text()[-2000:]}"
        )
        self._process.terminate()
        try:
            self._process.wait(timeout=60)
        finally:
            self._process.kill()


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Screen:
    """One browser window on the app, with what it asked of other machines and what went wrong in it."""

    def __init__(
        self,
        browser: Browser,
        url: str,
        width: int = 1280,
        height: int = 900,
        log_in: Callable[[Page], None] | None = None,
        address: str | None = "?persona=1",
    ) -> None:
        self.url = url
        self.outside: list[str] = []
        self.faults: list[str] = []
        self.asked = 0
        self.page: Page = browser.new_context(viewport={"width": width, "height": height}).new_page()
        self.page.set_default_timeout(SLOW)
        self.page.on(
            "request", lambda r: None if r.url.startswith((url, "data:", "blob:")) else self.outside.append(r.url)
        )
        self.page.on("pageerror", lambda fault: self.faults.append(str(fault)))
        if log_in is not None:
            self.page.goto(url)
            log_in(self.page)
            self.page.wait_for_url(url, wait_until="commit")
        if address is not None:
            self.visit(address)

    def visit(self, address: str = "?persona=1") -> None:
        """Open the page."""
        self.asked = 0
        self.page.goto(self.url + address)
        if address:
            expect(self.page.locator("#persona input")).not_to_have_value("", timeout=SLOW)

    def visit_anew(self, width: int = 1280, height: int = 900, address: str = "?persona=1") -> None:
        """Open the page as a new window would, which has to compile its scripts, too."""
        self.outside.clear()
        self.faults.clear()
        self.page.context.clear_cookies()
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.goto(f"{self.url}robots.txt")  # no script runs there, so nothing navigates away meanwhile
        self.page.evaluate("localStorage.clear(); sessionStorage.clear()")
        self.visit(address)

    def close(self) -> None:
        """Close the window."""
        self.page.context.close()

    def ask(self, text: str) -> str:
        """Send a message and wait for the whole reply."""
        self.page.locator("#composer textarea").fill(text)
        self.page.locator("#composer textarea").press("Enter")
        return self.reply()

    def reply(self) -> str:
        """The next reply of this chat, once all of it is there."""
        self.asked += 1
        expect(self.page.locator(f"#sources [data-answer='{self.asked}']")).to_be_attached(timeout=SLOW)
        return self.page.locator("#chat .bot.message").last.inner_text()

    def make_persona(self, name: str, *, proactive: bool = True) -> None:
        """Make a persona and talk with it."""
        field = self.page.locator("#persona-name textarea, #persona-name input")
        if not field.is_visible():
            self.open("new-persona")
        self.page.locator("#persona-proactive input").set_checked(proactive)
        field.fill(name)
        self.page.locator("#persona-create").click()
        expect(self.page.locator("#persona input")).to_have_value(name)
        self.asked = 0

    def open(self, heading: str) -> None:
        """Open an accordion by its element id; a narrow window has some in the drawer of chats."""
        drawer, opens = self.page.locator(f".memoir-chats:has(#{heading})"), self.page.locator(".memoir-open-chats")
        if drawer.count() and opens.is_visible() and "memoir-open" not in (drawer.get_attribute("class") or "").split():
            opens.click()
        self.page.locator(f"#{heading} button").first.click()

    def memory(self) -> Locator:
        """Turn to the Memory tab; its list."""
        self.page.get_by_role("tab", name="Memory").click()
        expect(self.page.locator("#memory-where")).to_contain_text(re.compile(r"of|No matches|No facts"), timeout=SLOW)
        return self.page.locator("#memory-list")

    def evaluate(self) -> Page:
        """Turn to the Evaluate tab, once it has looked for the files."""
        self.page.get_by_role("tab", name="Evaluate").click()
        expect(self.page.locator("#eval-about")).to_contain_text("Read from", timeout=SLOW)
        return self.page

    def measure(self, probes: str = "", **fields: str) -> Page:
        """Run Memoir's own benchmark with some fields filled in; it has begun when this returns."""
        fields = {"limit": probes, **fields}
        for name, value in fields.items():
            self.page.locator(f"#eval-{name} :is(input, textarea)").fill(value)
        self.page.locator("#eval-run").click()
        expect(self.page.locator("#eval-stop")).to_be_visible()
        return self.page

    def measured(self) -> Page:
        """Wait for the end of what was run."""
        expect(self.page.locator("#eval-run")).to_be_visible(timeout=SLOW)
        expect(self.page.locator("#eval-summary .memoir-figure").first).to_be_visible(timeout=SLOW)
        return self.page

    def bring_in(self, file: Path) -> None:
        """Drop a file into the upload box."""
        if not self.page.locator("#bring-in > .label-wrap.open").count():
            self.open("bring-in")
        self.page.locator("#upload input[type=file]").set_input_files(file)

    def overflows(self) -> bool:
        """Whether the page is wider than the window."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth > window.innerWidth"))


@contextmanager
def served(page: gr.Blocks, uploads: Path) -> Iterator[str]:
    """The address of a page while it is served."""
    port = free_port()
    server = uvicorn.Server(uvicorn.Config(mount_page(page, uploads, 1000), port=port, log_level="error"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while thread.is_alive() and not server.started:
        time.sleep(0.05)
    try:
        yield f"http://127.0.0.1:{port}/"
    finally:
        server.should_exit = True
        thread.join(timeout=30)
