"""Exports and backups that the screen offers for download.

They lie in the folder of uploads until the next one is made, something is forgotten, or the app ends.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from memory.errors import MemoirError

MARK = ".memoir-"
"""What their names hold, by which they are found again, copies that the web server makes too."""


def make(home: Path, name: str, ending: str, write: Callable[[Path], object]) -> Path:
    """A file in the folder of uploads of `home`, called after `name` and the day, which `write` makes."""
    clear(home)
    uploads = home / "uploads"
    called = re.sub(r"[^\w-]+", "-", name).strip("-")[:40] or "memoir"
    try:
        uploads.mkdir(parents=True, exist_ok=True)
        path = Path(tempfile.mkdtemp(dir=uploads)) / f"{called}{MARK}{datetime.now(UTC):%Y-%m-%d}.{ending}"
        write(path)
    except OSError as fault:
        raise MemoirError(f"{uploads}: the file cannot be written ({fault.strerror or fault}). Make room.") from fault
    return path


def clear(home: Path) -> None:
    """Delete them all."""
    for path in (home / "uploads").rglob(f"*{MARK}*"):
        path.unlink(missing_ok=True)
