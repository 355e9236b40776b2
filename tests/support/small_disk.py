"""A disk of a few megabytes, where one can be mounted."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class NoDisk(Exception):
    """No disk can be mounted here; the message says why."""


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """A disk of that size in a new folder, unmounted at the end.

    Raises:
        NoDisk: this machine or this user cannot mount one.
    """
    folder.mkdir(parents=True)
    if shutil.which("mount") is None:
        raise NoDisk("no disk can be mounted here: there is no mount command")
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "memoir-test", str(folder)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode:
        raise NoDisk(f"no disk can be mounted here: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], capture_output=True, check=False)


def leave_free(folder: Path, size: int) -> Path:
    """Fill the disk of a folder but for that many bytes; the file that fills it, to be deleted afterwards."""
    filling = folder / "filling"
    with filling.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(1, shutil.disk_usage(folder).free - size))
    return filling
