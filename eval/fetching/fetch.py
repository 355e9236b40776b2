"""Download the benchmarks' official files from the Hugging Face hub, or explain how to get them by hand.

The download runs in a separate process (`eval.fetching.transfer`). The app sets HF_HUB_OFFLINE, which huggingface_hub
reads only when it is imported, so only a new process can be online while the app stays offline. The process can also be
ended at any moment: the part that was downloaded is kept, and the next download continues from there.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter

from eval.fetching.transfer import KEPT
from eval.types import Watch
from memory.errors import Cancelled, MemoirError

ROOT = Path(__file__).resolve().parents[2]


class FetchFailed(MemoirError):
    """The files could not be downloaded; the message says why, what is kept, and how to get them by hand."""


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a dataset repository: its possible paths there (the first that exists is used), and its local name."""

    paths: tuple[str, ...]
    name: str


@dataclass(frozen=True, slots=True)
class Source:
    """Where to get a benchmark's files.

    `repo` and `files` are on the Hugging Face hub, and empty if the authors publish elsewhere. `steps` explain how to
    get the files by hand; `{folder}` stands for the folder to save them in.
    """

    title: str
    licence: str
    steps: tuple[str, ...]
    repo: str = ""
    files: tuple[HubFile, ...] = ()


SOURCES: Mapping[str, Source] = TypeAdapter(dict[str, Source]).validate_json(
    Path(__file__).with_name("sources.json").read_bytes()
)
"""Sources by the name that `python -m eval fetch` takes. A repository is listed only if the authors own it and it has
the files that the adapter reads: jiho283/dialsim-* has tables of another shape, adymaharana/locomo is empty."""


def fetch(name: str, folder: Path, watch: Watch) -> list[Path]:
    """Download a benchmark's files into a folder and return their paths.

    Each file is checked against the hub's SHA-256; a correct one is not downloaded again. An interrupted download is
    kept as `NAME.CHECKSUM.part` and continued. `watch` gets each file's name, bytes so far and size; it may raise to
    end the download.

    Raises `FetchFailed` for an unknown name, nothing to download, no network, a licence that must be accepted first, a
    missing file, a full disk, a wrong checksum, or another download that is running; `Cancelled` if the user cancelled.
    """
    if name not in SOURCES:
        raise FetchFailed(f"There is no source for {name!r}. Known sources: {', '.join(SOURCES)}.")
    source = SOURCES[name]
    if not source.repo:
        raise _failed(name, folder, "its authors publish it where it cannot be downloaded automatically")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise _failed(name, folder, f"the folder {folder} cannot be created ({fault.strerror})") from fault
    return _run_transfer(name, source, folder, watch)


def manual_steps(name: str, folder: Path) -> str:
    """How to get a benchmark's files by hand: numbered steps, then the licence."""
    source = SOURCES[name]
    steps = [step.format(folder=folder) for step in source.steps]
    lines = [f"  {number}. {step}" for number, step in enumerate(steps, 1)]
    return "\n".join([*lines, f"  Licence of {source.title}: {source.licence}."])


def _run_transfer(name: str, source: Source, folder: Path, watch: Watch) -> list[Path]:
    files = [asdict(file) for file in source.files]
    request = json.dumps({"repo": source.repo, "files": files, "folder": str(folder.resolve())})
    running = subprocess.Popen(
        [sys.executable, "-m", "eval.fetching.transfer"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        cwd=ROOT,
        env=_online(),
        start_new_session=True,  # Ctrl-C must reach only this process, which then ends the other one
    )
    assert running.stdin is not None
    assert running.stdout is not None
    try:
        running.stdin.write(request)
        running.stdin.close()
        for line in running.stdout:
            event = json.loads(line)
            if "fault" in event:
                raise _failed(name, folder, event["fault"])
            if "paths" in event:
                return [Path(path) for path in event["paths"]]
            watch(event["file"], event["here"], event["total"])
        running.wait()
    except BrokenPipeError:
        running.wait()  # it ended before it had read its input
    except Cancelled:
        raise Cancelled(
            "Cancelled. The part that was downloaded is kept; the next download continues from there."
        ) from None
    except KeyboardInterrupt:
        raise _failed(name, folder, f"it was interrupted; {KEPT}") from None
    finally:
        running.kill()
        running.stdout.close()
        status = running.wait()
    why = f"the download ended unexpectedly (exit status {status}); the part that was downloaded is kept"
    raise _failed(name, folder, why)


def _online() -> dict[str, str]:
    """The environment without the variables that keep huggingface_hub offline."""
    offline = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    kept = {name: value for name, value in os.environ.items() if name not in offline}
    path = os.pathsep.join([str(ROOT), *filter(None, [kept.get("PYTHONPATH")])])
    return kept | {"PYTHONPATH": path, "HF_HUB_DISABLE_TELEMETRY": "1", "PYTHONIOENCODING": "utf-8"}


def _failed(name: str, folder: Path, why: str) -> FetchFailed:
    title = SOURCES[name].title
    return FetchFailed(f"{title} was not downloaded: {why}. To get it by hand:\n{manual_steps(name, folder)}")
