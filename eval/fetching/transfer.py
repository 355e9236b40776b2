"""The download itself, as a process of its own: reads what to do as JSON on stdin, tells how far it is on stdout.

    {"repo": "owner/name", "files": [{"paths": ["a.json"], "name": "a.json"}], "folder": "/somewhere"}

Each line it prints is one of `{"file": ..., "here": bytes, "total": bytes}`, `{"paths": [...]}` when all is done, or
`{"fault": "why"}`. It asks `huggingface_hub` where a file is, how large it should be and what its checksum is, and
reads the bytes through its session. It does not call `hf_hub_download`, which throws away what came when it is
interrupted (huggingface_hub 1.33, `_download_to_tmp_and_move`); the largest file has 2.7 GB.
"""

from __future__ import annotations

import errno
import hashlib
import json
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from memory.errors import MemoirError

if TYPE_CHECKING:
    from huggingface_hub import RepoFile

PARTIAL = 206
SHA256_DIGITS = 64

STEP = 1 << 20
"""Bytes between two lines of progress."""

QUIET_SECONDS = 30.0
"""How long the hub may send nothing before the connection counts as broken off."""

ATTEMPTS = 5
"""How often a broken connection is taken up again without a single byte having come in between."""

PAUSE_SECONDS = 1.0
KEPT = "what came is kept, and fetching again goes on from there"


class TransferFailed(MemoirError):
    """The download could not be finished; the message says why and what was kept."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A file as the hub has it, and where it goes. `checksum` is its SHA-256, or git's own for a small file."""

    remote: str
    path: Path
    size: int
    checksum: str

    @property
    def part(self) -> Path:
        """Where it grows; named after the checksum, so that two versions of a file are never sewn together."""
        return self.path.with_name(f"{self.path.name}.{self.checksum[:12]}.part")


def main() -> int:
    """Do what stdin says; the exit status is 0 also for a fault, since that was told."""
    order = json.load(sys.stdin)
    try:
        with _faults(order["repo"]):
            paths = transfer(order["repo"], order["files"], Path(order["folder"]))
        _tell(paths=[str(path) for path in paths])
    except TransferFailed as fault:
        _tell(fault=str(fault))
    except BrokenPipeError:
        # Whoever started this is gone. What came is on disk; Python would complain when it closes the stream.
        sys.stdout = None
    return 0


def transfer(repo: str, files: list[dict[str, Any]], folder: Path) -> list[Path]:
    """Bring each file into the folder, whole and checked.

    Raises:
        TransferFailed: a file is not there, is here with other content or came damaged; too little room; another
            download into the folder is at work.
    """
    from filelock import FileLock, Timeout

    try:
        with FileLock(folder / ".fetching", timeout=0):
            wanted = _look_up(repo, files, folder)
            _require_room(wanted, folder)
            return [_bring(repo, file) for file in wanted]
    except Timeout:
        raise TransferFailed(f"another download into {folder} is at work; wait for it to end") from None


def _look_up(repo: str, files: list[dict[str, Any]], folder: Path) -> list[Wanted]:
    from huggingface_hub import HfApi, RepoFile

    paths = [path for file in files for path in file["paths"]]
    found = HfApi().get_paths_info(repo, paths, repo_type="dataset")
    there = {info.path: info for info in found if isinstance(info, RepoFile)}
    wanted = []
    for file in files:
        info = next((there[path] for path in file["paths"] if path in there), None)
        if info is None:
            raise TransferFailed(f"the hub's {repo} holds no {' or '.join(file['paths'])} (any more)")
        wanted.append(_wanted(info, folder / file["name"]))
    return wanted


def _wanted(info: RepoFile, path: Path) -> Wanted:
    return Wanted(info.path, path, info.size, info.lfs.sha256 if info.lfs else info.blob_id)


def _require_room(wanted: list[Wanted], folder: Path) -> None:
    needed = sum(file.size - _size(file.part) for file in wanted if not file.path.exists())
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise TransferFailed(
            f"the disk of {folder} is too full: {needed / 1e6:,.0f} MB are needed, {free / 1e6:,.0f} MB are free"
        )


def _bring(repo: str, file: Wanted) -> Path:
    if file.path.exists():
        if _size(file.path) == file.size and _checksum(file.path, file) == file.checksum:
            _tell(file=file.path.name, here=file.size, total=file.size)
            return file.path
        raise TransferFailed(
            f"{file.path} is there already, but is not the file that the hub has now (checksum {file.checksum}); "
            "it was left as it is. Move it away to fetch that one"
        )
    _download(repo, file)
    found = _checksum(file.part, file)
    if found == file.checksum:
        return file.part.replace(file.path)
    aside = file.path.with_name(f"{file.path.name}.{found[:12]}.wrong")
    file.part.replace(aside)
    raise TransferFailed(
        f"{file.path.name} came damaged or altered: its checksum is {found}, the hub says {file.checksum}. "
        f"It was put aside as {aside}; fetch again to start anew"
    )


def _download(repo: str, file: Wanted) -> None:
    """Fill the part file up; a connection that breaks off is taken up where it did."""
    import httpx

    with file.part.open("ab") as part:
        if part.tell() > file.size:
            _empty(part)
        _tell(file=file.path.name, here=part.tell(), total=file.size)
        left = ATTEMPTS
        while part.tell() < file.size:
            before, fault = part.tell(), "too little came"
            try:
                _append(repo, file, part)
            except httpx.TransportError as broken:
                fault = _words(broken)
            left = ATTEMPTS if part.tell() > before else left - 1
            if left == 0:
                raise TransferFailed(f"the connection broke off {ATTEMPTS} times on end ({fault}); {KEPT}")
            if left < ATTEMPTS:
                time.sleep(PAUSE_SECONDS)


def _append(repo: str, file: Wanted, part: BinaryIO) -> None:
    """Ask for the rest and append what comes; httpx leaves the token out where the hub refers to another host."""
    from huggingface_hub import get_session, get_token, hf_hub_url
    from huggingface_hub.utils import hf_raise_for_status  # type: ignore[attr-defined]  # public, but not declared so

    token = get_token()
    headers = {"Accept-Encoding": "identity", "Range": f"bytes={part.tell()}-"}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    url = hf_hub_url(repo, file.remote, repo_type="dataset")
    with get_session().stream("GET", url, headers=headers, timeout=QUIET_SECONDS, follow_redirects=True) as reply:
        if reply.is_error:
            reply.read()
        hf_raise_for_status(reply)
        if reply.status_code != PARTIAL:  # the whole file comes, whatever was asked for
            _empty(part)
        told = part.tell()
        for piece in reply.iter_raw():
            part.write(piece)
            if part.tell() - told >= STEP or part.tell() == file.size:
                told = part.tell()
                _tell(file=file.path.name, here=told, total=file.size)


def _empty(part: BinaryIO) -> None:
    part.seek(0)
    part.truncate()


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _checksum(path: Path, file: Wanted) -> str:
    """Of the kind that the hub gave: SHA-256 for a large file, for a small one the SHA-1 of git's blob."""
    with path.open("rb") as content:
        if len(file.checksum) == SHA256_DIGITS:
            return hashlib.file_digest(content, "sha256").hexdigest()
        blob = hashlib.sha1(f"blob {_size(path)}\0".encode(), usedforsecurity=False)
        while block := content.read(STEP):
            blob.update(block)
        return blob.hexdigest()


@contextmanager
def _faults(repo: str) -> Iterator[None]:
    """What the libraries and the system report, as a `TransferFailed` that says what it means."""
    import httpx
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError

    page = f"https://huggingface.co/datasets/{repo}"
    try:
        yield
    except GatedRepoError as fault:
        why = f"its licence has to be accepted first. Log in at {page}, accept it, make a token and set it as HF_TOKEN"
        raise TransferFailed(why) from fault
    except RepositoryNotFoundError as fault:
        raise TransferFailed(f"the hub knows no {page}, or does not show it to you") from fault
    except HfHubHTTPError as fault:
        raise TransferFailed(f"the hub refused ({fault.response.status_code}); {KEPT}") from fault
    except httpx.TransportError as fault:
        raise TransferFailed(f"the hub cannot be reached ({_words(fault)}); there may be no network here") from fault
    except BrokenPipeError:
        raise
    except OSError as fault:
        full = fault.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        what = "the disk is full, or files are limited in size" if full else "a file cannot be written"
        raise TransferFailed(f"{what} ({_words(fault)}); {KEPT}") from fault
    except (ValueError, TypeError, LookupError) as fault:
        why = f"what answered does not speak as the hub does ({_words(fault)}); a login page may stand in between"
        raise TransferFailed(why) from fault


def _words(fault: Exception) -> str:
    return f"{type(fault).__name__}: {fault}"


def _tell(**what: object) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    sys.exit(main())
