"""Runs are folders: what was run on what, and one line for each probe as soon as it is answered.

    <home>/runs/locomo-20261121-101500-3f2a91/
        run.json           benchmark, checksum of the data, settings, digest of the code, versions, machine
        predictions.jsonl  a sample a line
        costs.jsonl        a history a line, written when all of its probes are answered

A run that was broken off goes on where it stopped if data, settings, code and versions are still the same; with any of
them changed a new run begins, so that no run ever mixes two.
"""

from __future__ import annotations

import fcntl
import json
import os
import platform
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from eval.play.stage import Costs
from eval.types import Sample, Verdict
from memory.errors import MemoirError

ROOT = Path(__file__).parents[1]
PACKAGES = (
    "dateparser",
    "ir-measures",
    "langgraph",
    "numpy",
    "PyStemmer",
    "rouge-score",
    "sacrebleu",
    "scikit-learn",
    "scipy",
    "sentence-transformers",
    "torch",
    "transformers",
)
"""Those whose version can change a figure."""

_SAMPLE = TypeAdapter(Sample)
_VERDICT = TypeAdapter(tuple[str, Verdict])
Line = TypeVar("Line")
Key = tuple[str, str]


class UnknownRun(MemoirError):
    """No run of that name, or its folder cannot be read."""


class RunIsBusy(MemoirError):
    """A run is being worked on by somebody else."""


@dataclass(frozen=True, slots=True)
class Spec:
    """What makes two runs the same. `portion` says in words which probes were asked."""

    benchmark: str
    data: str
    checksum: str
    portion: str
    settings: Mapping[str, Any]
    code: str
    versions: Mapping[str, str]

    @property
    def digest(self) -> str:
        """The same for the same spec, wherever the data lie."""
        same = json.dumps(asdict(replace(self, data="")), sort_keys=True, default=str)
        return sha256(same.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class HistoryCosts:
    """What one history took; `history` is its id, `skips` what of it could not be used."""

    history: str
    costs: Costs
    encoder_s: float
    encoded: int
    found: int
    wall_s: float
    skips: tuple[tuple[str, str], ...] = ()


_COSTS = TypeAdapter(HistoryCosts)
_SPEC = TypeAdapter(Spec)


@dataclass(frozen=True, slots=True)
class Run:
    """A run's folder."""

    folder: Path
    spec: Spec
    created: datetime
    machine: str

    @property
    def name(self) -> str:
        """What it is called by: the folder's name."""
        return self.folder.name

    @property
    def is_done(self) -> bool:
        """Whether every probe was asked."""
        return (self.folder / "done").exists()

    def samples(self, *, words: bool = True) -> list[Sample]:
        """All that was answered so far, each probe once; with the judge's verdicts where it was judged.

        Without `words`, what is only there to be read (`shown`, `trace`) is left out: a third of the memory.
        """
        judged = self.verdicts()
        samples: dict[Key, Sample] = {}
        for sample in self._lines("predictions.jsonl", _SAMPLE):
            said = sample.prediction if words else replace(sample.prediction, shown=(), trace=())
            verdict = judged.get(sample.probe.id, sample.verdict)
            samples[_key(sample)] = replace(sample, prediction=said, verdict=verdict)
        return list(samples.values())

    def answered(self) -> set[Key]:
        """History and probe of all that was answered so far."""
        return {_key(sample) for sample in self._lines("predictions.jsonl", _SAMPLE)}

    def costs(self) -> list[HistoryCosts]:
        """What the finished histories took."""
        return list(self._lines("costs.jsonl", _COSTS))

    def verdicts(self) -> dict[str, Verdict]:
        """A judge's verdicts by probe id."""
        return dict(self._lines("verdicts.jsonl", _VERDICT))

    def append(self, sample: Sample) -> None:
        """Keep a sample; a kill of this process no longer loses it when this returns."""
        self._append("predictions.jsonl", _SAMPLE.dump_json(sample))

    def finish(self, costs: HistoryCosts) -> None:
        """Keep that a history is through."""
        self._append("costs.jsonl", _COSTS.dump_json(costs))

    def judged(self, verdicts: Mapping[str, Verdict]) -> None:
        """Keep a judge's verdicts in place of any earlier ones."""
        lines = b"".join(_VERDICT.dump_json(v) + b"\n" for v in verdicts.items())
        _write(self.folder / "verdicts.jsonl", lines)

    def complete(self) -> None:
        """Mark it as done."""
        (self.folder / "done").touch()

    def mend(self) -> None:
        """Cut off what a kill left half-written at the end of a file."""
        for name in ("predictions.jsonl", "costs.jsonl"):
            path = self.folder / name
            if path.exists():
                with path.open("r+b") as file:
                    file.truncate(sum(len(line) for line in file if line.endswith(b"\n")))

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep all others from working on it meanwhile; whoever ends, even by a kill, lets go of it.

        Raises:
            RunIsBusy: somebody else holds it.
        """
        with (self.folder / "lock").open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RunIsBusy(
                    f"{self.name} is going on, in another window or process. Nothing was changed; wait for it, or stop "
                    "it there."
                ) from None
            yield

    @property
    def is_busy(self) -> bool:
        """Whether somebody is working on it."""
        try:
            with self.held():
                return False
        except RunIsBusy:
            return True

    def delete(self) -> None:
        """Remove the run and all that is in it.

        Raises:
            RunIsBusy: it is going on.
        """
        with self.held():
            shutil.rmtree(self.folder)

    def _append(self, name: str, line: bytes) -> None:
        with (self.folder / name).open("ab") as file:
            file.write(line + b"\n")

    def _lines(self, name: str, adapter: TypeAdapter[Line]) -> Iterator[Line]:
        path = self.folder / name
        if not path.exists():
            return
        with path.open("rb") as file:  # line by line: a large run's file has half a gigabyte
            for number, line in enumerate(file, start=1):
                if line.endswith(b"\n"):  # what follows the last newline is half a line
                    yield self._parsed(f"{path}, line {number}", line, adapter)

    def _parsed(self, where: str, line: bytes, adapter: TypeAdapter[Line]) -> Line:
        try:
            return adapter.validate_json(line)
        except ValidationError as fault:
            raise UnknownRun(
                f"{where}: {fault.errors()[0]['msg']}. It was written by another version, or changed by hand. Nothing "
                f"was changed; delete the run with `python -m eval delete {self.name}`."
            ) from fault


def _key(sample: Sample) -> Key:
    return sample.prediction.history_id, sample.probe.id


class Runs:
    """All runs under a folder."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "runs"

    def all(self) -> list[Run]:
        """Every run, the newest first; folders that are no run are passed over."""
        found = []
        for folder in self.folder.glob("*/run.json"):
            with suppress(UnknownRun):
                found.append(_read(folder.parent))
        return sorted(found, key=lambda run: run.created, reverse=True)

    def get(self, name: str) -> Run:
        """The run of that name or of a name that begins so, or the newest for "last".

        Raises:
            UnknownRun: there is none, or there are several.
        """
        everyone = self.all()
        if name == "last" and everyone:
            return everyone[0]
        meant = [r for r in everyone if r.name == name] or [r for r in everyone if name and r.name.startswith(name)]
        if len(meant) == 1:
            return meant[0]
        known = ", ".join(r.name for r in (meant or everyone)[:10]) or "none yet"
        raise UnknownRun(f"{name!r} names {len(meant)} runs in {self.folder}; there are: {known}")

    def begin(self, spec: Spec, *, afresh: bool = False) -> Run:
        """The unfinished run of the same spec, to be gone on with unless somebody does, or a new one."""
        if not afresh:
            for run in self.all():
                if run.spec.digest == spec.digest and not run.is_done and not run.is_busy:
                    run.mend()
                    return run
        now = datetime.now(UTC)
        folder = self._make(f"{spec.benchmark}-{now:%Y%m%d-%H%M%S}-{spec.digest[:6]}")
        run = Run(folder, spec, now, machine())
        kept = {"spec": asdict(spec), "created": now.isoformat(), "machine": run.machine}
        _write(folder / "run.json", json.dumps(kept, indent=2, default=str).encode())
        return run

    def _make(self, name: str) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        for number in range(1000):
            folder = self.folder / (f"{name}-{number}" if number else name)
            with suppress(FileExistsError):
                folder.mkdir()
                return folder
        raise UnknownRun(f"{self.folder} has a thousand runs of the name {name}; delete some")


def _read(folder: Path) -> Run:
    try:
        kept = json.loads((folder / "run.json").read_text("utf-8"))
        spec = _SPEC.validate_python(kept["spec"])
        return Run(folder, spec, datetime.fromisoformat(kept["created"]), str(kept["machine"]))
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise UnknownRun(f"{folder / 'run.json'} cannot be read: {fault}") from fault


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(content)
    part.replace(path)


def checksum(path: Path) -> str:
    """SHA-256 over a file, or over the names and contents of the files of a folder."""
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    total = sha256()
    for file in files:
        total.update(file.relative_to(path).as_posix().encode() if path.is_dir() else b"")
        with file.open("rb") as stream:
            while part := stream.read(1 << 20):
                total.update(part)
    return total.hexdigest()


@cache
def code_version() -> str:
    """A digest of everything that answers and scores: the sources, and the weights that come with them.

    What only shows figures is left out: a change of the screen breaks no run off.
    """
    total = sha256()
    sources = [p for room in ("memory", "graph", "eval") for p in sorted((ROOT / room).rglob("*.py"))]
    for path in [*sources, ROOT / "assets" / "models" / "classifier.npz"]:
        if path.name not in ("tab.py", "panels.py") and path.parent.name != "tab":
            total.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:16]


def versions() -> dict[str, str]:
    """The versions of the packages that can change a figure, and Python's."""
    return {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}}


def machine() -> str:
    """The machine in a line."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB"
