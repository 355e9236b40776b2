"""Files that get their name once they are complete, and what is left of them if the process is killed before.

A file is written as `.NAME.RANDOM.half` beside its place. Whoever writes a file of the same name deletes what was left
of it, and forgetting deletes all that is left beside the bank. If that file was still being written, its writer fails.
Whoever writes any file there, or begins to use a bank there, deletes what has not been written to for an hour.
"""

import errno
import math
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_SUFFIX = ".half"
_NAME = re.compile(r"\.(?P<name>.+?)(\.[a-z0-9_]{8})?\.half(-wal|-shm|-journal)?")
"""Earlier versions wrote `.NAME.half`. SQLite adds the last part to the names of its own files."""

IDLE_SECONDS = 3600.0
"""Seconds after which a file that nobody wrote to is taken for left over; checking a large copy takes minutes."""

_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
"""What a file system without hard links answers, such as FAT."""


@contextmanager
def unfinished_file(path: Path) -> Iterator[Path]:
    """An empty file beside `path`, readable by its owner only, that is deleted in the end unless it was renamed."""
    delete_unfinished(path.parent, path.name)
    delete_unfinished(path.parent, idle=IDLE_SECONDS)
    descriptor, name = tempfile.mkstemp(_SUFFIX, f".{path.name}.", path.parent)
    os.close(descriptor)
    half = Path(name)
    try:
        yield half
    finally:
        for end in ("", "-journal", "-wal", "-shm"):
            with suppress(OSError):
                half.with_name(half.name + end).unlink()


def find_unfinished(folder: Path, name: str | None = None) -> list[Path]:
    """The unfinished files in a folder: those of the file called `name`, or all."""
    matches = ((path, _NAME.fullmatch(path.name)) for path in folder.glob(f".*{_SUFFIX}*"))
    return [path for path, match in matches if match and name in (None, match["name"]) and path.is_file()]


def delete_unfinished(folder: Path, name: str | None = None, idle: float = -math.inf) -> None:
    """Delete the files of `find_unfinished` that nobody wrote to for so many seconds, but those that cannot be."""
    for path in find_unfinished(folder, name):
        with suppress(OSError):
            if path.stat().st_mtime < time.time() - idle:
                path.unlink()


def publish_new(half: Path, path: Path) -> None:
    """Give a complete file its name.

    Raises:
        FileExistsError: there is a file of that name; it was not changed.
    """
    try:
        os.link(half, path)  # unlike a rename, it never replaces a file
    except OSError as fault:
        if fault.errno not in _NO_LINKS:
            raise
        path.open("xb").close()
        try:
            half.replace(path)
        except BaseException:
            path.unlink()
            raise
    sync_folder(path.parent)


def publish(half: Path, path: Path) -> None:
    """Give a complete file its name, in place of any file that had it; a power cut leaves the one or the other."""
    with half.open("rb+") as file:
        os.fsync(file.fileno())
    half.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Write the names in a folder to the disk, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
