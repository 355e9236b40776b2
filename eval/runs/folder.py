"""The folder of all runs: list them, find one by name, resume or create one."""

import json
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from pydantic import TypeAdapter

from eval.runs.provenance import machine
from eval.runs.run import Run, Spec, UnknownRun, write_atomically

_SPEC = TypeAdapter(Spec)


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
                if run.spec.digest == spec.digest and not run.is_done and not run.is_busy:
                    run.drop_partial_lines()
                    return run
        now = datetime.now(UTC)
        folder = self._make_folder(f"{spec.benchmark}-{now:%Y%m%d-%H%M%S}-{spec.digest[:6]}")
        run = Run(folder, spec, now, machine())
        record = {"spec": asdict(spec), "created": now.isoformat(), "machine": run.machine}
        write_atomically(folder / "run.json", json.dumps(record, indent=2, default=str).encode())
        return run

    def _make_folder(self, name: str) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        for number in range(1000):
            folder = self.folder / (f"{name}-{number}" if number else name)
            with suppress(FileExistsError):
                folder.mkdir()
                return folder
        raise UnknownRun(f"{self.folder} has a thousand runs with the name {name}; delete some")


def _read(folder: Path) -> Run:
    try:
        record = json.loads((folder / "run.json").read_text("utf-8"))
        spec = _SPEC.validate_python(record["spec"])
        return Run(folder, spec, datetime.fromisoformat(record["created"]), str(record["machine"]))
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise UnknownRun(f"{folder / 'run.json'} cannot be read: {fault}") from fault
