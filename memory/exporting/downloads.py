"""Exports and backups that the screen offers for download.

They are kept in a folder `downloads` below `uploads` of MEMOIR_HOME, the only one the app serves files from, until the
next one is made, something is forgotten, or the app ends, and at most an hour. Each name contains a mark of its bank,
by which its files, and the copies that the web server makes of them there, are found again.
"""

import re
import shutil
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from memory.bank.rows import digest
from memory.errors import MemoirError

FOLDER = "downloads"
"""Name of the folder; no upload gets into it, whatever its name."""

NAME_MARK = ".memoir-"
"""Part of the name of every file that is offered for download; a hash of the bank's path follows."""

USER_ID = re.compile(r"[0-9a-f]{32}|[0-9a-f]{64}")
"""The id of a user who logs in, as `memory.users` makes it, or of a visitor of a demo, which is a hash."""

VISITORS = "visitors"
"""The folder, in MEMOIR_HOME, with a folder for each visitor of a demo."""


def create(bank: Path, name: str, suffix: str, write: Callable[[Path], object]) -> Path:
    """Create a file for download, named after `name` and today's date, whose content `write` makes.

    Earlier files of the bank are deleted. If `write` raises, nothing is left of the file.

    Raises:
        MemoirError: the file cannot be written, or `delete_all` was called meanwhile.
    """
    delete_all(bank)
    folder = _uploads(bank) / FOLDER
    stem = re.sub(r"[^\w-]+", "-", name).strip("-")[:40] or "memoir"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = Path(tempfile.mkdtemp(dir=folder)) / f"{stem}{_mark(bank)}{datetime.now(UTC):%Y-%m-%d}.{suffix}"
        try:
            write(path)
        except BaseException:
            shutil.rmtree(path.parent, ignore_errors=True)
            raise
    except (OSError, MemoirError) as fault:
        if isinstance(fault, FileNotFoundError) or isinstance(fault.__cause__, FileNotFoundError):
            why = "something was forgotten or another file was made"
            raise MemoirError(f"The file was deleted before it was complete, because {why}. Try again.") from fault
        if isinstance(fault, MemoirError):
            raise
        cause = fault.strerror or fault
        raise MemoirError(f"{folder}: the file cannot be written ({cause}). Free some space.") from fault
    return path


def delete_all(bank: Path) -> None:
    """Delete all files that were made for download from the bank at that path."""
    # Resolved, because a command may name the folder of the bank in another way than the app.
    for path in (_home(bank.resolve()) / "uploads").rglob(f"*{_mark(bank)}*"):
        path.unlink(missing_ok=True)


def waiting_uploads(bank: Path) -> list[Path]:
    """The files that the user of that bank uploaded and did not import yet."""
    folder = _uploads(bank.resolve())
    return sorted(p for p in folder.rglob("*") if p.is_file() and not p.is_relative_to(folder / FOLDER))


def _uploads(bank: Path) -> Path:
    """The folder of one user's uploads and downloads, which that user's page alone serves."""
    home = _home(bank)
    return home / "uploads" / ("all" if home == bank.parent else bank.parent.name)


def _home(bank: Path) -> Path:
    """MEMOIR_HOME, from the path of a bank: `HOME/bank.db`, `HOME/users/ID/bank.db` or `HOME/visitors/ID/bank.db`."""
    folder = bank.parent
    is_users = folder.parent.name in ("users", VISITORS) and USER_ID.fullmatch(folder.name)
    return folder.parent.parent if is_users else folder


def _mark(bank: Path) -> str:
    return f"{NAME_MARK}{digest(bank.resolve())[:8]}-"
