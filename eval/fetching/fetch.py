"""Getting the benchmarks' official files: over the hub where they are there, by hand where they are not.

The download runs in a process of its own (`eval.fetching.transfer`). The app sets HF_HUB_OFFLINE for itself, which
huggingface_hub reads once and for all when it is imported; only a fresh process can be online while the app stays
offline. It can also be stopped at any moment: what has come is kept and the next fetch goes on from there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from memory.errors import Cancelled, MemoirError

Progress = Callable[[str, int, int], None]
"""Told the file's name, the bytes that are here and the bytes there will be; raising stops the download."""

ROOT = Path(__file__).resolve().parents[2]


class FetchFailed(MemoirError):
    """The files could not be downloaded; the message says why, what was kept, and how to get them by hand."""


@dataclass(frozen=True, slots=True)
class HubFile:
    """A file of a dataset repository: its path there (the first that exists of several), and its name here."""

    paths: tuple[str, ...]
    name: str


@dataclass(frozen=True, slots=True)
class Source:
    """Where a benchmark's files come from.

    `repo` and `files` are of the Hugging Face hub, empty where the authors publish elsewhere. `steps` says how to get
    them by hand, one step each; `{folder}` stands for where they go.
    """

    title: str
    licence: str
    steps: tuple[str, ...]
    repo: str = ""
    files: tuple[HubFile, ...] = ()


def _longmemeval(portion: str, size: str, repo: str, name: str, *others: str) -> Source:
    page = f"https://huggingface.co/datasets/{repo}"
    steps = (f"Open {page}/tree/main and download {name} ({size}).", f"Save it as {{folder}}/{Path(name).stem}.json.")
    file = HubFile((name, *others), f"{Path(name).stem}.json")
    return Source(f"LongMemEval, {portion}", "MIT", steps, repo, (file,))


_CLEANED, _ORIGINAL = "xiaowu0162/longmemeval-cleaned", "xiaowu0162/longmemeval"

SOURCES: Mapping[str, Source] = {
    "longmemeval": _longmemeval("S, cleaned", "0.3 GB", _CLEANED, "longmemeval_s_cleaned.json"),
    "longmemeval-m": _longmemeval("M, cleaned", "2.7 GB", _CLEANED, "longmemeval_m_cleaned.json"),
    "longmemeval-oracle": _longmemeval("oracle, cleaned", "15 MB", _CLEANED, "longmemeval_oracle.json"),
    "longmemeval-original": _longmemeval(
        "S, as first released", "0.3 GB", _ORIGINAL, "longmemeval_s", "longmemeval_s.json"
    ),
    "longmemeval-original-m": _longmemeval(
        "M, as first released", "2.7 GB", _ORIGINAL, "longmemeval_m", "longmemeval_m.json"
    ),
    "longmemeval-original-oracle": _longmemeval(
        "oracle, as first released", "15 MB", _ORIGINAL, "longmemeval_oracle", "longmemeval_oracle.json"
    ),
    "locomo": Source(
        "LoCoMo",
        "CC BY-NC 4.0, no commercial use",
        (
            "Open https://github.com/snap-research/locomo/blob/main/data/locomo10.json and download the raw file.",
            "Save it as {folder}/locomo10.json.",
        ),
    ),
    "perltqa": Source(
        "PerLTQA, English v2",
        "CC BY-NC 4.0, no commercial use",
        (
            "Open https://github.com/Elvin-Yiming-Du/PerLTQA/tree/main/Dataset/en_v2 and download "
            "perltmem_en_v2.json and perltqa_en_v2.json.",
            "Save both in {folder}.",
        ),
    ),
    "madial-bench": Source(
        "MADial-Bench",
        "MIT",
        (
            "Open https://github.com/hejunqing/MADial-Bench/tree/main/data and go into en (English) or ch (Chinese).",
            "Download MADial-Bench-en-dialogue.json and MADial-Bench-en-memory.json, or the two with -zh-.",
            "Save them in {folder}/en or {folder}/ch.",
        ),
    ),
    "dialsim": Source(
        "DialSim (LongDialQA)",
        "see https://github.com/jiho283/Simulator; the scripts belong to the makers of the shows",
        (
            "Open https://github.com/jiho283/Simulator and follow the link under Dataset; download dialsim_v1.1.zip.",
            "Unpack it, and put the files of one show (friends, bigbang or theoffice) in {folder}: "
            "SHOW_dialsim.pickle, SHOW_oracle_tkg.pickle and SHOW_oracle_fan.pickle.",
        ),
    ),
}
"""By the name that `python -m eval fetch` takes. A repository stands here only if its authors own it and it holds the
files that the adapter reads; jiho283/dialsim-* on the hub are tables of another shape, adymaharana/locomo is empty."""


def fetch(name: str, folder: Path, progress: Progress) -> list[Path]:
    """Download a benchmark's files into the folder; where each is.

    Each file is checked against the hub's SHA-256; one that is there already and right is not downloaded again. What
    came of an interrupted download stays as `NAME.CHECKSUM.part` and is gone on with.

    Raises:
        FetchFailed: unknown name, nothing to download, no network, a licence to be accepted first, a file that is not
            there, a full disk, a wrong checksum, or another download at work.
        Cancelled: the user cancelled.
    """
    if name not in SOURCES:
        raise FetchFailed(f"no files are known for {name!r}; there are: {', '.join(SOURCES)}")
    source = SOURCES[name]
    if not source.repo:
        raise _failed(name, folder, "its authors do not publish it where it could be downloaded for you")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise _failed(name, folder, f"{folder} cannot be made ({fault.strerror})") from fault
    return _transferred(name, source, folder, progress)


def manual_steps(name: str, folder: Path) -> str:
    """How to get a benchmark's files by hand, as numbered lines that end with the licence."""
    source = SOURCES[name]
    steps = [step.format(folder=folder) for step in source.steps]
    lines = [f"  {number}. {step}" for number, step in enumerate(steps, 1)]
    return "\n".join([*lines, f"  Licence of {source.title}: {source.licence}."])


def _transferred(name: str, source: Source, folder: Path, progress: Progress) -> list[Path]:
    order = json.dumps(
        {"repo": source.repo, "files": [asdict(f) for f in source.files], "folder": str(folder.resolve())}
    )
    running = subprocess.Popen(
        [sys.executable, "-m", "eval.fetching.transfer"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        cwd=ROOT,
        env=_online(),
        start_new_session=True,  # Ctrl-C reaches this process alone, which ends the other one in order
    )
    assert running.stdin is not None
    assert running.stdout is not None
    try:
        running.stdin.write(order)
        running.stdin.close()
        for line in running.stdout:
            told = json.loads(line)
            if "fault" in told:
                raise _failed(name, folder, told["fault"])
            if "paths" in told:
                return [Path(path) for path in told["paths"]]
            progress(told["file"], told["here"], told["total"])
        running.wait()
    except BrokenPipeError:
        running.wait()  # it ended before it had read what to do
    except Cancelled:
        raise Cancelled(
            "Cancelled. The part that was downloaded is kept; the next download continues from there."
        ) from None
    except KeyboardInterrupt:
        raise _failed(name, folder, "it was interrupted; what came is kept, and is gone on with next time") from None
    finally:
        running.kill()
        running.stdout.close()
        status = running.wait()
    raise _failed(
        name,
        folder,
        f"the download ended unexpectedly (exit status {status}); what came is kept, and is gone on with next time",
    )


def _online() -> dict[str, str]:
    """This process's environment without what keeps huggingface_hub offline."""
    offline = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    kept = {name: value for name, value in os.environ.items() if name not in offline}
    path = os.pathsep.join([str(ROOT), *filter(None, [kept.get("PYTHONPATH")])])
    return kept | {"PYTHONPATH": path, "HF_HUB_DISABLE_TELEMETRY": "1", "PYTHONIOENCODING": "utf-8"}


def _failed(name: str, folder: Path, why: str) -> FetchFailed:
    title = SOURCES[name].title
    return FetchFailed(f"{title} was not downloaded: {why}. To get it by hand:\n{manual_steps(name, folder)}")
