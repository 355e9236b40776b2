"""A run: which benchmark ran on what data and how, and a line for each probe as soon as it is answered.

    <home>/runs/locomo-20261121-101500-3f2a91/
        run.json           benchmark, checksum of the data, settings, digest of the code, versions, machine
        predictions.jsonl  one sample a line
        costs.jsonl        one history a line, written when all of its probes are answered
        verdicts.jsonl     a judge's verdicts, one probe a line
        done               present once every probe is answered

An unfinished run is resumed if data, settings, code and versions are still the same; if any of them changed, a new run
starts, so that no run mixes two.
"""

import json
import os
import platform
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache, lru_cache
from hashlib import file_digest, sha256
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import Annotated, Any, TypeVar

import psutil  # type: ignore[import-untyped]
from filelock import FileLock, Timeout
from packaging.requirements import Requirement
from pydantic import AliasChoices, Field, TypeAdapter, ValidationError

from eval.types import Costs, ProbeKey, Sample, Verdict
from memory.errors import MemoirError
from memory.types import Store

_SAMPLE = TypeAdapter(Sample)
_VERDICT = TypeAdapter(tuple[ProbeKey | str, Verdict])
Line = TypeVar("Line")


class UnknownRun(MemoirError):
    """No run of that name, or its folder cannot be read."""


class RunIsBusy(MemoirError):
    """Another process is working on the run."""


@dataclass(frozen=True, slots=True)
class Spec:
    """What a run was made of: two runs of equal specs give equal figures. `portion` says which probes were asked."""

    benchmark: str
    data: str
    checksum: str
    portion: str
    settings: Mapping[str, Any]
    code: str
    versions: Mapping[str, str]

    @property
    def digest(self) -> str:
        """A hash of the spec without the path of the data."""
        same = json.dumps(asdict(replace(self, data="")), sort_keys=True, default=str)
        return sha256(same.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class HistoryCosts:
    """What it took to replay one history, by its id; `skips` are the parts of its data that were unusable.

    `encoded` counts the texts that were embedded, `cached` ("found" in old runs) those whose embedding was known.
    """

    history: str
    costs: Costs
    encoder_s: float
    encoded: int
    cached: Annotated[int, Field(validation_alias=AliasChoices("cached", "found"))]
    wall_s: float
    skips: tuple[tuple[str, str], ...] = ()


_COSTS = TypeAdapter(HistoryCosts)


@dataclass(frozen=True, slots=True)
class Run:
    """A run and its folder."""

    folder: Path
    spec: Spec
    created: datetime
    machine: str

    @property
    def name(self) -> str:
        """The folder's name."""
        return self.folder.name

    @property
    def has_reader(self) -> bool:
        """Whether there was a reader, so that there are answers to judge."""
        return self.spec.settings.get("reader") != "none"

    @property
    def is_done(self) -> bool:
        """Whether every probe was answered."""
        return (self.folder / "done").exists()

    def samples(self, *, words: bool = True) -> list[Sample]:
        """Read what was answered so far, each probe once, with a judge's verdicts where there are any.

        Without `words`, the texts for people (`shown`, `trace`) are left out, which takes a third of the memory.
        """
        judged = dict(self._lines("verdicts.jsonl", _VERDICT))
        samples: dict[ProbeKey, Sample] = {}
        for sample in self._lines("predictions.jsonl", _SAMPLE):
            prediction = sample.prediction if words else replace(sample.prediction, shown=(), trace=())
            verdict = judged.get(sample.key) or judged.get(sample.probe.id) or sample.verdict
            samples[sample.key] = replace(sample, prediction=prediction, verdict=verdict)
        return list(samples.values())

    def answered(self) -> set[ProbeKey]:
        """The probes answered so far."""
        return {sample.key for sample in self._lines("predictions.jsonl", _SAMPLE)}

    def costs(self) -> list[HistoryCosts]:
        """The costs of the finished histories."""
        return list(self._lines("costs.jsonl", _COSTS))

    def append(self, outcome: Sample | HistoryCosts) -> None:
        """Append a sample, or the costs of a finished history; from then on it survives a kill of this process."""
        if isinstance(outcome, Sample):
            name, line = "predictions.jsonl", _SAMPLE.dump_json(outcome)
        else:
            name, line = "costs.jsonl", _COSTS.dump_json(outcome)
        with (self.folder / name).open("ab") as file:
            file.write(line + b"\n")

    def save_verdicts(self, verdicts: Mapping[ProbeKey, Verdict] | Mapping[str, Verdict]) -> None:
        """Replace all verdicts by these: of a history's probe, or of every probe with an id."""
        lines = b"".join(_VERDICT.dump_json(v) + b"\n" for v in verdicts.items())
        write_atomically(self.folder / "verdicts.jsonl", lines)

    def mark_done(self) -> None:
        """Record that every probe is answered."""
        (self.folder / "done").touch()

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep other processes from working on it; the lock ends with the process, even by a kill.

        Raises `RunIsBusy` if another process has locked it.
        """
        try:  # a soft lock outlives a kill
            locked = FileLock(self.folder / "lock", blocking=False, fallback_to_soft=False).acquire()
        except Timeout:
            raise RunIsBusy(
                f"{self.name} is running in another window or process. Nothing was changed; wait for it, or stop it "
                "there."
            ) from None
        with locked:
            yield

    def delete(self) -> None:
        """Remove the run's folder; raises `RunIsBusy` if it is running."""
        with self.lock():
            # It is no run any more; the folder waits, since Windows deletes no file that is locked.
            (self.folder / "run.json").unlink(missing_ok=True)
        shutil.rmtree(self.folder)

    def _lines(self, name: str, adapter: TypeAdapter[Line]) -> Iterator[Line]:
        path = self.folder / name
        if not path.exists():
            return
        with path.open("rb") as file:  # line by line: a large run's file has half a gigabyte
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n"):
                    return  # what follows the last newline is half a line
                try:
                    yield adapter.validate_json(line)
                except ValidationError as fault:
                    raise UnknownRun(
                        f"{path}, line {number}: {fault.errors()[0]['msg']}. Another version wrote it, or it was "
                        f"edited. Nothing was changed; delete the run with `python -m eval delete {self.name}`."
                    ) from fault


_RUN = TypeAdapter(Run)


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file's content; after a crash it is the old or the new one."""
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(content)
    part.replace(path)


def drop_partial_line(path: Path) -> None:
    """Cut off a line that a kill left half-written at the end of a file, if there is one."""
    if path.exists():
        with path.open("r+b") as file:
            file.truncate(sum(len(line) for line in file if line.endswith(b"\n")))


@lru_cache(maxsize=1)
def memories_read(folder: str) -> Mapping[ProbeKey, frozenset[tuple[Store, tuple[str, ...]]]]:
    """What the reader of the run in a folder got for each probe: the store and the units of each memory."""
    return {
        sample.key: frozenset((hit.store, hit.units) for hit in sample.prediction.found if hit.place == "read")
        for sample in _read(Path(folder)).samples(words=False)
    }


class Runs:
    """The runs in a user's folder."""

    def __init__(self, home: Path) -> None:
        self.folder = home / "runs"

    def all(self) -> list[Run]:
        """List every run, newest first; unreadable folders are left out."""
        found = []
        for folder in self.folder.glob("*/run.json"):
            with suppress(UnknownRun):
                found.append(_read(folder.parent))
        return sorted(found, key=lambda run: run.created, reverse=True)

    def get(self, name: str) -> Run:
        """Return the run with that name or the start of a name, or the newest for "last".

        Raises `UnknownRun` if there is none, or there are several.
        """
        runs = self.all()
        if name == "last" and runs:
            return runs[0]
        matches = [r for r in runs if r.name == name] or [r for r in runs if name and r.name.startswith(name)]
        if len(matches) == 1:
            return matches[0]
        known = ", ".join(r.name for r in (matches or runs)[:10]) or "none yet"
        raise UnknownRun(f"{name!r} names {len(matches)} runs in {self.folder}; there are: {known}")

    def resume_or_create(self, spec: Spec, *, afresh: bool = False) -> Run:
        """Return the unfinished run of the same spec unless another process works on it, or a new run."""
        if not afresh:
            for run in self.all():
                if run.spec.digest == spec.digest and not run.is_done:
                    with suppress(RunIsBusy), run.lock():
                        for name in ("predictions.jsonl", "costs.jsonl"):
                            drop_partial_line(run.folder / name)
                        return run
        now = datetime.now(UTC)
        name = f"{spec.benchmark}-{now:%Y%m%d-%H%M%S}-{spec.digest[:6]}"
        self.folder.mkdir(parents=True, exist_ok=True)
        for number in count():
            folder = self.folder / (f"{name}-{number}" if number else name)
            with suppress(FileExistsError):
                folder.mkdir()
                break
        run = Run(folder, spec, now, machine())
        record = {"spec": asdict(spec), "created": now.isoformat(), "machine": run.machine}
        write_atomically(folder / "run.json", json.dumps(record, indent=2, default=str).encode())
        return run


def _read(folder: Path) -> Run:
    try:
        return _RUN.validate_python(json.loads((folder / "run.json").read_text("utf-8")) | {"folder": folder})
    except (OSError, ValueError, TypeError) as fault:
        raise UnknownRun(f"{folder / 'run.json'} cannot be read: {fault}") from fault


# --- what a run is made with

ROOT = Path(__file__).parents[2]


def checksum(path: Path) -> str:
    """SHA-256 of a file, or of the names and contents of a folder's files."""
    files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    total = sha256()
    for file in files:
        total.update(file.relative_to(path).as_posix().encode() if path.is_dir() else b"")
        with file.open("rb") as stream:
            file_digest(stream, lambda: total)
    return total.hexdigest()


@cache
def code_version() -> str:
    """Digest everything that answers and scores: all files of the packages and of assets/models.

    Documents and the code of the screen are left out, so that a change there lets an unfinished run be resumed.
    """
    total = sha256()
    for path in (p for room in ("memory", "graph", "eval", "assets/models") for p in sorted((ROOT / room).rglob("*"))):
        if path.is_file() and path.suffix != ".md" and path.parent.name not in ("tab", "__pycache__"):
            total.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes())
    return total.hexdigest()[:16]


def versions() -> dict[str, str]:
    """Versions of Python and of the libraries that Memoir names, two of which hold the encoders' weights."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = [each for each in map(Requirement, project["dependencies"]) if not each.marker or each.marker.evaluate()]
    return {"python": platform.python_version(), **{each.name: version(each.name) for each in needed}}


def machine() -> str:
    """Describe the machine in one line."""
    memory = psutil.virtual_memory().total / (1 << 30)
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB"
