"""Search a bank from a new process, and measure its first answer, each search and its memory.

`ask` starts the process. It reads pairs of persona and question as JSON, writes a line after each, and at the end what
it measured.
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
from memory.search.searcher import Searcher

ROOT = Path(__file__).parents[2]

Asks = Sequence[tuple[int, str]]
"""Pairs of persona and question."""


@dataclass
class Measured:
    """Seconds from the start of the process to its first answer, seconds of each answer, and MiB of memory.

    `memory_mib` is "after" the last answer and at its "peak", empty where the system does not say.
    """

    first_s: float = 0.0
    encode_s: list[float] = field(default_factory=list)
    search_s: list[float] = field(default_factory=list)
    memory_mib: dict[str, float] = field(default_factory=dict)


def ask(bank: Path, model: str, asks: Asks, watch: Callable[[int, int], None]) -> Measured:
    """Ask in a new process; `watch` is called with the lines that it wrote, and how many it will write.

    Raises `MemoirError` if the process ended early; its error messages are on standard error.
    """
    started, first_s, written = time.perf_counter(), 0.0, ""
    command = [sys.executable, "-m", "eval.speed.asking", str(bank), model]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        with process.stdin as questions, suppress(BrokenPipeError):
            json.dump(asks, questions)
        for done, line in enumerate(process.stdout, start=1):
            first_s = first_s or time.perf_counter() - started
            written = line
            watch(done, len(asks) + 1)
    if process.returncode:
        raise MemoirError(f"the process that searched {bank} ended with status {process.returncode}")
    return Measured(**json.loads(written) | {"first_s": first_s})


def search(bank: Path, model: str, asks: Asks) -> Measured:
    """Ask in this process, and print a line after each question."""
    searcher, now, measured = Searcher(Bank(bank), Embedder(model)), datetime.now(UTC), Measured()
    for persona, question in asks:
        started = time.perf_counter()
        views = searcher.views([question])
        encoded = time.perf_counter()
        searcher.search(persona, views, now)
        measured.search_s.append(time.perf_counter() - encoded)
        measured.encode_s.append(encoded - started)
        print(flush=True)
    measured.memory_mib = process_memory()
    return measured


def process_memory() -> dict[str, float]:
    """MiB of this process now ("after") and at its "peak", on Linux; empty elsewhere."""
    status = Path("/proc/self/status")
    fields = dict(line.split(":", 1) for line in status.read_text().splitlines()) if status.exists() else {}
    names = {"after": "VmRSS", "peak": "VmHWM"}
    return {name: int(fields[key].split()[0]) / 1024 for name, key in names.items() if key in fields}


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):  # Ctrl-C reaches both processes; the parent reports it
        print(json.dumps(asdict(search(Path(sys.argv[1]), sys.argv[2], json.load(sys.stdin)))))
