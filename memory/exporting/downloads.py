"""Exports and backups that the screen offers for download.

They lie in the folder of uploads until the next one is made, something is forgotten, or the app ends.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from memory.bank.rows import digest
from memory.errors import MemoirError

MARK = ".memoir-"
"""What their names hold, with a sign of their bank: by that they are found again, and the web server's copies, too."""


def make(bank: Path, name: str, ending: str, write: Callable[[Path], object]) -> Path:
    """A file in the folder of uploads, called after `name` and the day, which `write` makes of the bank at that path.

    Whatever `write` raises, nothing is left of it.

    Raises:
        MemoirError: it cannot be written, or `clear` was called meanwhile.
    """
    clear(bank)
    # A page serves what lies in its own user's folder, and no other page does.
    uploads = _uploads(bank) / (bank.parent.name if bank.parent.parent.name == "users" else "all")
    called = re.sub(r"[^\w-]+", "-", name).strip("-")[:40] or "memoir"
    try:
        uploads.mkdir(parents=True, exist_ok=True)
        path = Path(tempfile.mkdtemp(dir=uploads)) / f"{called}{_mark(bank)}{datetime.now(UTC):%Y-%m-%d}.{ending}"
        try:
            write(path)
        except BaseException:
            shutil.rmtree(path.parent, ignore_errors=True)
            raise
    except FileNotFoundError as fault:
        raise MemoirError(
            "Something was forgotten, or another file made, before this one was whole: try again."
        ) from fault
    except OSError as fault:
        raise MemoirError(f"{uploads}: the file cannot be written ({fault.strerror or fault}). Make room.") from fault
    return path


def clear(bank: Path) -> None:
    """Delete all of the bank at that path."""
    for path in _uploads(bank).rglob(f"*{_mark(bank)}*"):
        path.unlink(missing_ok=True)


def _uploads(bank: Path) -> Path:
    """Where the web server keeps files: one folder for all users; outside of the app, what it leaves at the bank."""
    return Path(os.environ.get("GRADIO_TEMP_DIR") or bank.parent / "uploads")


def _mark(bank: Path) -> str:
    return f"{MARK}{digest(bank.resolve())[:8]}-"
