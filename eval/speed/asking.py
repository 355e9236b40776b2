"""Search a bank from a new process, and measure its first answer, each search and its memory.

`ask` starts the process. It reads the job as JSON, writes a line after each question, and at the end what it measured.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from memory.bank.bank import Bank
from memory.embedding.embedder import Embedder
from memory.errors import MemoirError
from memory.search.scoring import SearchSettings
from memory.search.searcher import Searcher
from memory.types import Hit

Ranking = list[tuple[int, float]]
"""Ids and scores, best first."""

ROOT = Path(__file__).parents[2]
WORDS, MEANING = (SearchSettings(dense_weight=w, neighbours=0) for w in (0, 1))
TOP = 10


class SearchProcessFailed(MemoirError):
    """The process that searched ended early."""


@dataclass(frozen=True, slots=True)
class Job:
    """What to search: pairs of persona and question; the first `exact` also by words alone and by meaning alone."""

    bank: str
    model: str
    asks: Sequence[tuple[int, str]]
    exact: int = 0


@dataclass
class Measured:
    """Seconds from the start of the process to its first answer, seconds of each answer, and MiB of memory.

    `memory_mib` is "after" the last answer and at its "peak", empty where the system does not say. `found` holds, for
    each question of `Job.exact`, the ten best by words alone and by meaning alone.
    """

    first_s: float = 0.0
    encode_s: list[float] = field(default_factory=list)
    search_s: list[float] = field(default_factory=list)
    memory_mib: dict[str, float] = field(default_factory=dict)
    found: list[tuple[Ranking, Ranking]] = field(default_factory=list)


def ask(job: Job, watch: Callable[[int, int], None]) -> Measured:
    """Ask in a new process; `watch` is called with the lines that it wrote, and how many it will write.

    Raises `SearchProcessFailed` if the process ended early; its error messages are on standard error.
    """
    started, first_s, written = time.perf_counter(), 0.0, ""
    command = [sys.executable, "-m", "eval.speed.asking"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        with process.stdin as questions, suppress(BrokenPipeError):
            json.dump(asdict(job), questions)
        for done, line in enumerate(process.stdout, start=1):
            first_s = first_s or time.perf_counter() - started
            written = line
            watch(done, len(job.asks) + job.exact + 1)
    if process.returncode:
        raise SearchProcessFailed(f"the process that searched {job.bank} ended with status {process.returncode}")
    return Measured(**json.loads(written) | {"first_s": first_s})


def search(job: Job) -> Measured:
    """Ask in this process, and print a line after each question."""
    embedder = Embedder(job.model)
    searcher, now, measured = Searcher(Bank(Path(job.bank)), embedder), datetime.now(UTC), Measured()
    for persona, question in job.asks:
        started = time.perf_counter()
        views = searcher.views([question])
        encoded = time.perf_counter()
        searcher.search(persona, views, now)
        measured.search_s.append(time.perf_counter() - encoded)
        measured.encode_s.append(encoded - started)
        print(flush=True)
    measured.memory_mib = process_memory()
    for persona, question in job.asks[: job.exact]:
        views = searcher.views([question])
        words = _ranking(searcher.search(persona, views, now, WORDS), "lexical")
        measured.found.append((words, _ranking(searcher.search(persona, views, now, MEANING), "dense")))
        print(flush=True)
    return measured


def _ranking(hits: Sequence[Hit], by: str) -> Ranking:
    best = sorted(((h.memory.id, h.scores[by]) for h in hits), key=lambda pair: (-pair[1], pair[0]))
    return best[:TOP]


def process_memory(pid: int | str = "self") -> dict[str, float]:
    """MiB of a process now ("after") and at its "peak", on Linux; empty elsewhere."""
    status = Path(f"/proc/{pid}/status")
    fields = dict(line.split(":", 1) for line in status.read_text().splitlines()) if status.exists() else {}
    names = {"after": "VmRSS", "peak": "VmHWM"}
    return {name: int(fields[key].split()[0]) / 1024 for name, key in names.items() if key in fields}


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):  # Ctrl-C reaches both processes; the parent reports it
        print(json.dumps(asdict(search(Job(**json.load(sys.stdin))))))
