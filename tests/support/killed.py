"""Run code in a process that is killed when it comes to a function, or to the end of a transaction."""

from __future__ import annotations

import signal
import subprocess
import sys

from support.bad_input import ROOT

SCRIPT = """
import os, pkgutil, signal
from pathlib import Path
from memory.bank import connection

def kill(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def open_traced(*given, open_bank=connection.open_bank, **named):
    db = open_bank(*given, **named)
    db.conn.set_trace_callback(lambda statement: statement == "COMMIT" and next(commits))
    return db

point, number, code = {point!r}, {number!r}, {code!r}
if point == "COMMIT":
    commits = (kill() if n == number else None for n in range(1, 10**9))
    connection.open_bank = open_traced
else:
    holder, _, name = point.rpartition(".")
    setattr(pkgutil.resolve_name(holder), name, kill)
exec(code)
"""


def kill_at(point: str, code: str, number: int = 1) -> None:
    """Run code until it calls the function at `point`, such as "memory.bank.backup._copy"; then the process is killed.

    "COMMIT" kills it before the transaction of that number, counted from 1, is kept.
    """
    script = SCRIPT.format(point=point, number=number, code=code)
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
