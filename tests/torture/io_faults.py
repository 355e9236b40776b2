"""Let the disk fail at a random read or write under chats, imports, forgetting, backups, restores and exports.

A library that is loaded before all others answers system calls with EIO. It needs a compiler, and Linux; so the work is
done in a process of its own, which reports its outcomes as lines of JSON.
"""

import ctypes
import json
import os
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from random import Random

from memory.errors import MemoirError
from support.bad_input import ROOT
from tests.torture.kill import KILLS_PER_BANK, KINDS, VICTIMS, check, note_idle
from tests.torture.outcome import Outcome
from tests.torture.processes import Report, kill_after

LIBRARY = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static long left = -1, failing = 0; /* calls that succeed until some fail, and how many then do */

void fail_after(long calls, long times) { left = calls; failing = times; }

static int fails(int fd) {
    char link[64], path[4096];
    const char *folder = getenv("FAILING_FOLDER");
    if (left < 0 || !folder) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    if (strncmp(path, folder, strlen(folder)) || left-- > 0) return 0;
    if (--failing <= 0) left = -1; else left = 0;
    errno = EIO;
    return 1;
}

#define WRAP(result, name, parameters, arguments) \
    result name parameters { \
        static result (*real) parameters; \
        if (!real) real = dlsym(RTLD_NEXT, #name); \
        return fails(fd) ? -1 : real arguments; \
    }

WRAP(ssize_t, read, (int fd, void *to, size_t n), (fd, to, n))
WRAP(ssize_t, write, (int fd, const void *from, size_t n), (fd, from, n))
WRAP(ssize_t, pread, (int fd, void *to, size_t n, off_t at), (fd, to, n, at))
WRAP(ssize_t, pread64, (int fd, void *to, size_t n, off64_t at), (fd, to, n, at))
WRAP(ssize_t, pwrite, (int fd, const void *from, size_t n, off_t at), (fd, from, n, at))
WRAP(ssize_t, pwrite64, (int fd, const void *from, size_t n, off64_t at), (fd, from, n, at))
WRAP(int, fsync, (int fd), (fd))
WRAP(int, fdatasync, (int fd), (fd))
WRAP(int, ftruncate, (int fd, off_t size), (fd, size))
WRAP(int, ftruncate64, (int fd, off64_t size), (fd, size))
"""

SECONDS = 0.5
"""How long the work goes on unless the disk ends it."""

MOST_CALLS, MOST_FAILING = 3000, 20
"""Calls after which some fail at the latest, and how many then do."""


def run(seconds: float, chance: Random, folder: Path) -> Iterator[Outcome]:
    """Compile the library, and run each kind of work under it for its share of the time."""
    folder.mkdir(parents=True)
    library, source = folder / "faults.so", folder / "faults.c"
    source.write_text(LIBRARY)
    compiler = shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        yield Outcome("io", KINDS, skipped="there is no C compiler, or this is not Linux")
        return
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    environment = {**os.environ, "LD_PRELOAD": str(library), "FAILING_FOLDER": str(folder / "banks")}
    command = [sys.executable, "-m", __name__, str(seconds), str(chance.random()), str(library), str(folder / "banks")]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            told = json.loads(line)
            yield Outcome(**told | {name: Counter(told[name]) for name in ("done", "faults")})
    assert process.returncode == 0


def run_here(seconds: float, chance: Random, fail: Callable[[int, int], None], folder: Path) -> Iterator[Outcome]:
    """Let calls fail under each kind of work in processes that this one forks."""
    for name, (kind, share) in VICTIMS.items():
        outcome, ends = Outcome(f"io {name}", KINDS), time.monotonic() + seconds * share
        outcome.done.update({"faults of the disk": 0, "acks": 0, "told": 0})
        for number in count():
            victim = kind(folder / f"{name}-{number}", chance)
            for _ in range(KILLS_PER_BANK):
                if time.monotonic() < ends and not victim.ended:
                    arm = partial(fail, int(MOST_CALLS * chance.random() ** 3), chance.randint(1, MOST_FAILING))
                    finished, _ = kill_after(partial(until_failed, victim.work, arm, partial(fail, -1, 0)), SECONDS)
                    outcome.done.update({"faults of the disk": 1, "told": finished.count("told")})
                    check(victim, [each for each in finished if each != "told"], outcome)
            if time.monotonic() >= ends:
                break
        note_idle(outcome)
        yield outcome


def until_failed(
    work: Callable[[Report], None], arm: Callable[[], None], disarm: Callable[[], None], report: Report
) -> None:
    """Let the disk fail once the work has begun, and end with the error that says so."""

    def begin(value: object) -> None:
        report(value)
        if value == "ready":
            arm()

    try:
        work(begin)
    except (MemoirError, OSError):
        disarm()
        report("told")


def main() -> None:
    """Print each outcome as a line of JSON."""
    seconds, seed, library, folder = sys.argv[1:]
    for outcome in run_here(float(seconds), Random(seed), ctypes.CDLL(library).fail_after, Path(folder)):
        print(json.dumps(vars(outcome)), flush=True)


if __name__ == "__main__":
    main()
