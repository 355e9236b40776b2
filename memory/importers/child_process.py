"""Read a large file in a process of its own, which ends at limits of memory and time, and when the user cancels.

A parser that hangs in a thread of the app could not be ended.

    python -m memory.importers.child_process FILE

writes to standard output, pickled one by one: what is read of the file (`Unpacked`), its records, and at the end None
or the `UnreadableFile` that says where it breaks off.
"""

import errno
import math
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import psutil  # type: ignore[import-untyped]

from memory.errors import UnreadableFile
from memory.formatting import format_count
from memory.importers.detect import Unpacked, unpack
from memory.importers.reading.source import Record

if sys.platform != "win32":  # which has no such limits
    import resource
    from signal import SIGABRT, SIGXCPU

LARGE_BYTES = 1 << 20
"""Files of more bytes, unpacked, are read in a process of their own, which takes about a second to start."""

MEMORY_BYTES = 1 << 30
"""Memory that reading a file may take. One value in a file has at most 32 MB, and takes ten times that when parsed."""

SECONDS, BYTES_PER_SECOND = 60, 1 << 20
"""Processor time that reading a file may take, and the bytes of it, unpacked, that allow a further second."""

MAX_PROCESSES = 8
"""Files that are read at once; further ones wait."""

TICK = 0.1
"""Seconds between two checks for a cancellation, and for which messages are gathered."""

NICENESS = 10
"""Its low priority: answers come first."""

ROOT = Path(__file__).parents[2]
PROGRAM = ("-m", "memory.importers.child_process")

_TURNS = threading.Semaphore(MAX_PROCESSES)


def read_file(path: Path, check: Callable[[], None]) -> tuple[Unpacked, Generator[Record, None, None]]:
    """Read what a file is, without its sources, then its records.

    `check` is called while this waits, and raises `Cancelled` to end it.

    Raises:
        UnreadableFile: the rest of the file is unreadable, or reading it takes too long or too much memory; everything
            before that was handed over.
    """
    try:
        is_small = path.stat().st_size <= LARGE_BYTES
    except OSError:  # `unpack` says why
        is_small = True
    if is_small:
        messages = _read_here(path)
        unpacked = next(messages)
        if unpacked.size <= LARGE_BYTES:  # an archive may contain more
            return unpacked, messages
    messages = _read_in_child(path, check)
    return next(messages), messages


@contextmanager
def wait_for_turn(turns: threading.Semaphore, check: Callable[[], None]) -> Iterator[None]:
    """Take one of the turns for as long as the context lasts; `check` is called while this waits."""
    while not turns.acquire(timeout=TICK):
        check()
    try:
        yield
    finally:
        turns.release()


def _read_here(path: Path) -> Generator[Any, None, None]:
    unpacked = unpack(path)
    yield replace(unpacked, sources=(), skips=())
    for source in unpacked.sources:
        yield from unpacked.importer.read(source)
    yield from unpacked.skips


def _read_in_child(path: Path, check: Callable[[], None]) -> Generator[Any, None, None]:
    size = 0
    command = [sys.executable, *PROGRAM, str(path.absolute())]
    with (
        wait_for_turn(_TURNS, check),
        # In a session of its own: Ctrl-C ends it only through `check`.
        subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, start_new_session=True) as child,
        ThreadPoolExecutor(1) as pool,
    ):
        assert child.stdout is not None
        try:
            while True:
                loading = pool.submit(_load, child.stdout)
                while not wait([loading], TICK).done:
                    check()
                for message in loading.result():
                    if message is None:
                        return
                    if isinstance(message, UnreadableFile):
                        raise message
                    if isinstance(message, Unpacked):
                        size = message.size
                    yield message
        except (EOFError, pickle.UnpicklingError) as fault:
            broken_off = f"{path.name} could not be read to its end: {_why_ended(child.wait(), size)}."
            raise UnreadableFile(f"{broken_off} Split it and import the parts.") from fault
        finally:
            child.kill()


def _load(stream: IO[bytes]) -> list[Any]:
    """What comes within a tick, and at least one message."""
    # A pickle is trusted as our own code is, which wrote it.
    messages, ends = [pickle.load(stream)], time.monotonic() + TICK
    with suppress(EOFError, pickle.UnpicklingError):  # the next call raises it again
        while time.monotonic() < ends:
            messages.append(pickle.load(stream))
    return messages


def _why_ended(status: int, size: int) -> str:
    """Why the process that read a file of that size ended early, by its exit status."""
    if sys.platform != "win32" and status == -SIGXCPU:
        limit = format_count(_seconds_for(size), "second")
        return f"it takes more than {limit} of processor time; expected less for its size"
    # A library in Rust aborts where Python would raise MemoryError.
    if status == errno.ENOMEM or (sys.platform != "win32" and status == -SIGABRT):
        return f"it takes more than {MEMORY_BYTES >> 20:,} MB of memory; expected less"
    return f"the process that read it ended with status {status}"


def _seconds_for(size: int) -> int:
    return SECONDS + size // BYTES_PER_SECOND


def main(path: Path) -> int:
    """Write what a file is and its records to standard output; returns the exit status."""

    def send(message: object) -> None:
        sys.stdout.buffer.write(pickle.dumps(message))
        sys.stdout.buffer.flush()

    _limit(0)
    try:
        for message in _read_here(path):
            if isinstance(message, Unpacked):
                _limit(message.size)
            send(message)
        send(None)
    except UnreadableFile as fault:
        send(fault)
    except MemoryError:
        return errno.ENOMEM
    return 0


def _limit(size: int) -> None:
    """Limit what this process may take to read a file of that size, beyond what it has taken so far."""
    if sys.platform == "win32":
        return
    limits = {
        resource.RLIMIT_AS: psutil.Process().memory_info().vms + MEMORY_BYTES,
        resource.RLIMIT_CPU: math.ceil(time.process_time()) + _seconds_for(size),
        resource.RLIMIT_CORE: 0,  # a dump of its memory would contain the file
    }
    for kind, most in limits.items():
        with suppress(ValueError, OSError):  # the system's own limit is lower, or it has no such limit
            resource.setrlimit(kind, (most, resource.getrlimit(kind)[1]))


if __name__ == "__main__":
    if sys.platform != "win32":
        os.nice(NICENESS)
    raise SystemExit(main(Path(sys.argv[1])))
