"""Starting the app: what it says when it cannot, and what it keeps to itself."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from app import main
from support.browser_app import ROOT, free_port

pytestmark = pytest.mark.slow

LATER = ("langgraph", "plotly", "scipy", "sentence_transformers", "sklearn", "torch")
"""What takes long to import, and the first page does not need."""


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home for an app in this process, which gets its own umask back."""
    monkeypatch.setenv("MEMOIR_HOME", str(tmp_path))
    monkeypatch.setenv("MEMOIR_PORT", "0")
    umask = os.umask(0)
    os.umask(umask)
    yield tmp_path
    os.umask(umask)


def test_a_taken_port_is_told_and_ends_with_status_one(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        monkeypatch.setenv("MEMOIR_PORT", str(port))
        assert main([]) == 1
    told = capsys.readouterr().err
    assert f"Cannot listen on http://127.0.0.1:{port} " in told
    assert "MEMOIR_PORT" in told
    assert "Traceback" not in told


def test_a_bank_of_a_later_version_is_told_and_left_alone(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(sqlite3.connect(home / "bank.db")) as bank:
        bank.execute("CREATE TABLE future (id INTEGER)")
        bank.execute("PRAGMA user_version = 9999")
    before = (home / "bank.db").read_bytes()
    assert main([]) == 1
    told = capsys.readouterr().err
    assert "bank.db" in told
    assert "Traceback" not in told
    assert (home / "bank.db").read_bytes() == before


def test_importing_the_app_loads_only_what_the_first_page_needs_and_writes_nothing(tmp_path: Path) -> None:
    look = f"import sys, app; print([name for name in {LATER} if name in sys.modules])"
    environment = {**os.environ, "MEMOIR_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", look], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [["gradio", "app.py"], ["uvicorn", "--factory", "app:build_app", "--port"]])
def test_whoever_starts_the_app_gets_the_guarded_one(tmp_path: Path, command: list[str]) -> None:
    port = free_port()
    arguments = [*command[1:], *([str(port)] if command[-1] == "--port" else [])]
    environment = {**os.environ, "MEMOIR_HOME": str(tmp_path), "MEMOIR_PORT": str(port)}
    program = Path(sys.executable).with_name(command[0])
    with subprocess.Popen([program, *arguments], cwd=ROOT, env=environment, start_new_session=True) as running:
        try:
            config = wait_for(f"http://127.0.0.1:{port}/config")
            assert "memoir" in config.text
            elsewhere = httpx.get(f"http://127.0.0.1:{port}/config", headers={"Host": "elsewhere.invalid"})
            assert elsewhere.status_code == 403
        finally:
            os.killpg(running.pid, signal.SIGTERM)


def wait_for(url: str) -> httpx.Response:
    """What an app answers once it is up."""
    ends = time.monotonic() + 60
    while True:
        try:
            return httpx.get(url, timeout=30)
        except httpx.TransportError:
            assert time.monotonic() < ends, f"{url} never answered"
            time.sleep(0.2)
