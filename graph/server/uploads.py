"""Delete uploads and files made for download that nobody has used for an hour."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from anyio import sleep, to_thread

CHECK_SECONDS, KEEP_SECONDS = 600.0, 3600.0
"""Seconds between two clean-ups, and how long a file is kept. An upload that broke off is a file like any other."""


async def delete_old_forever(folder: Path) -> NoReturn:
    """Delete the old files below a folder every ten minutes, for as long as the app runs."""
    while True:
        await to_thread.run_sync(delete_old, folder)
        await sleep(CHECK_SECONDS)


def delete_old(folder: Path) -> None:
    """Delete the files below a folder that are older than an hour, and the folders that have been empty for as long.

    The folders right in it belong to users, and stay.
    """
    oldest = time.time() - KEEP_SECONDS
    for path in sorted(folder.rglob("*"), reverse=True):  # what is in a folder before the folder
        with suppress(OSError):  # in use, not empty, or deleted meanwhile
            if path.lstat().st_ctime >= oldest:
                continue
            if not path.is_dir():
                path.unlink()
            elif path.parent != folder:
                path.rmdir()
