"""Starting the app: what it says when it cannot, and what it keeps to itself."""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

from support.browser_app import ROOT


def start(home: Path, port: int) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "MEMOIR_HOME": str(home), "MEMOIR_PORT": str(port)}
    return subprocess.run(
        [sys.executable, "app.py"], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_taken_port_is_told_and_ends_with_status_one(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = start(tmp_path, port)
    assert done.returncode == 1
    assert f"http://127.0.0.1:{port} cannot be served" in done.stderr
    assert "MEMOIR_PORT" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bank_of_a_later_version_is_told_and_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "bank.db") as bank:
        bank.execute("CREATE TABLE future (id INTEGER)")
        bank.execute("PRAGMA user_version = 9999")
    done = start(tmp_path, 0)
    assert done.returncode == 1
    assert "bank.db" in done.stderr
    assert "Traceback" not in done.stderr


def test_importing_the_app_loads_no_model_and_offers_five_public_calls(tmp_path: Path) -> None:
    look = (
        "import sys, json, app; info = app.demo.get_api_info(); "
        "print(json.dumps([sorted(m for m in ('torch', 'sentence_transformers', 'plotly') if m in sys.modules), "
        "sorted(info['named_endpoints']), info['unnamed_endpoints']]))"
    )
    environment = {**os.environ, "MEMOIR_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", look], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    calls = ["/ask", "/forget", "/list_personas", "/remember", "/search_memory"]
    assert json.loads(done.stdout.splitlines()[-1]) == [[], calls, {}]
    assert list(tmp_path.iterdir()) == []
