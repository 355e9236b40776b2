"""The process that downloads: reads a request as JSON from stdin, and writes its progress to stdout.

    {"repo": "owner/name", "files": [{"paths": ["a.json"], "name": "a.json"}], "folder": "/somewhere"}

Each line it prints is `{"file": ..., "here": bytes, "total": bytes}`, at the end `{"paths": [...]}` or `{"fault":
"why"}`. `huggingface_hub` says where a file is, its size and its checksum, and its session reads the bytes.
`hf_hub_download` is not used, because it deletes what was downloaded when it is interrupted (huggingface_hub 1.33,
`_download_to_tmp_and_move`); the largest file has 2.7 GB.
"""

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
from typing import Any, BinaryIO

from memory.errors import MemoirError

PARTIAL = 206
SHA256_DIGITS = 64

STEP = 1 << 20
"""Bytes between two lines of progress."""

QUIET_SECONDS = 30.0
"""How long the hub may send nothing before the connection counts as broken."""

ATTEMPTS = 5
"""How often a broken connection is resumed without receiving a single byte in between."""

PAUSE_SECONDS = 1.0
KEPT = "the part that was downloaded is kept, and the next download continues from there"


class TransferFailed(MemoirError):
    """The download could not be finished; the message says why and what is kept."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file on the hub and its local path. `checksum` is its SHA-256, or the SHA-1 of git's blob for a small file."""

    remote: str
    path: Path
    size: int
    checksum: str

    @property
    def part(self) -> Path:
        """The unfinished download; named after the checksum, so that two versions of a file are never joined."""
        return self.path.with_name(f"{self.path.name}.{self.checksum[:12]}.part")


def main() -> int:
    """Run the request from stdin; the exit status is 0 also after a fault, which is printed."""
    request = json.load(sys.stdin)
    try:
        with _translated_errors(request["repo"]):
            paths = transfer(request["repo"], request["files"], Path(request["folder"]))
        _print_event(paths=[str(path) for path in paths])
    except TransferFailed as fault:
        _print_event(fault=str(fault))
    except BrokenPipeError:
        # The process that started this one has ended. Python would complain when it closes the stream.
        sys.stdout = None
    return 0


def transfer(repo: str, files: list[dict[str, Any]], folder: Path) -> list[Path]:
    """Download and check each file.

    Raises:
        TransferFailed: a file is not on the hub, exists here with other content, or was damaged; the disk is too full;
            another download into the folder is running.
    """
    from filelock import FileLock, Timeout

    try:
        with FileLock(folder / ".fetching", timeout=0):
            wanted = _look_up(repo, files, folder)
            _require_room(wanted, folder)
            return [_fetch_file(repo, file) for file in wanted]
    except Timeout:
        raise TransferFailed(f"another download into {folder} is running; wait until it ends") from None


def _look_up(repo: str, files: list[dict[str, Any]], folder: Path) -> list[RemoteFile]:
    from huggingface_hub import HfApi, RepoFile

    paths = [path for file in files for path in file["paths"]]
    infos = HfApi().get_paths_info(repo, paths, repo_type="dataset")
    there = {info.path: info for info in infos if isinstance(info, RepoFile)}
    wanted = []
    for file in files:
        info = next((there[path] for path in file["paths"] if path in there), None)
        if info is None:
            raise TransferFailed(f"{repo} on the hub no longer contains {' or '.join(file['paths'])}")
        checksum = info.lfs.sha256 if info.lfs else info.blob_id
        wanted.append(RemoteFile(info.path, folder / file["name"], info.size, checksum))
    return wanted


def _require_room(wanted: list[RemoteFile], folder: Path) -> None:
    needed = sum(file.size - _size(file.part) for file in wanted if not file.path.exists())
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise TransferFailed(
            f"the disk of {folder} is too full: {needed / 1e6:,.0f} MB are needed, {free / 1e6:,.0f} MB are free"
        )


def _fetch_file(repo: str, file: RemoteFile) -> Path:
    if file.path.exists():
        if _size(file.path) == file.size and _checksum(file.path, file) == file.checksum:
            _print_event(file=file.path.name, here=file.size, total=file.size)
            return file.path
        raise TransferFailed(
            f"{file.path} exists already, but differs from the file on the hub (checksum {file.checksum}); "
            "it was left unchanged. Move it away to download the hub's file"
        )
    _download(repo, file)
    checksum = _checksum(file.part, file)
    if checksum == file.checksum:
        return file.part.replace(file.path)
    aside = file.path.with_name(f"{file.path.name}.{checksum[:12]}.wrong")
    file.part.replace(aside)
    raise TransferFailed(
        f"{file.path.name} was damaged or altered on the way: its checksum is {checksum}, "
        f"the hub's is {file.checksum}. It was renamed to {aside}; download again to start over"
    )


def _download(repo: str, file: RemoteFile) -> None:
    """Complete the part file; a broken connection is resumed where it ended."""
    import httpx

    with file.part.open("ab") as part:
        if part.tell() > file.size:
            _empty(part)
        _print_event(file=file.path.name, here=part.tell(), total=file.size)
        left = ATTEMPTS
        while part.tell() < file.size:
            before, fault = part.tell(), "the hub sent too little"
            try:
                _append(repo, file, part)
            except httpx.TransportError as broken:
                fault = _describe(broken)
            left = ATTEMPTS if part.tell() > before else left - 1
            if left == 0:
                raise TransferFailed(f"the connection broke {ATTEMPTS} times in a row ({fault}); {KEPT}")
            if left < ATTEMPTS:
                time.sleep(PAUSE_SECONDS)


def _append(repo: str, file: RemoteFile, part: BinaryIO) -> None:
    """Request the rest of a file and append it; httpx drops the token when the hub redirects to another host."""
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
        if reply.status_code != PARTIAL:  # the server sends the whole file, whatever range was requested
            _empty(part)
        reported = part.tell()
        for piece in reply.iter_raw():
            part.write(piece)
            if part.tell() - reported >= STEP or part.tell() == file.size:
                reported = part.tell()
                _print_event(file=file.path.name, here=reported, total=file.size)


def _empty(part: BinaryIO) -> None:
    part.seek(0)
    part.truncate()


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _checksum(path: Path, file: RemoteFile) -> str:
    """The checksum of the same kind as the hub's: SHA-256, or the SHA-1 of git's blob for a small file."""
    with path.open("rb") as content:
        if len(file.checksum) == SHA256_DIGITS:
            return hashlib.file_digest(content, "sha256").hexdigest()
        blob = hashlib.sha1(f"blob {_size(path)}\0".encode(), usedforsecurity=False)
        while block := content.read(STEP):
            blob.update(block)
        return blob.hexdigest()


@contextmanager
def _translated_errors(repo: str) -> Iterator[None]:
    """Translate errors of the libraries and the system into a `TransferFailed` with an explanation."""
    import httpx
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError

    page = f"https://huggingface.co/datasets/{repo}"
    try:
        yield
    except GatedRepoError as fault:
        why = f"its licence must be accepted first. Log in at {page}, accept it, create a token and set it as HF_TOKEN"
        raise TransferFailed(why) from fault
    except RepositoryNotFoundError as fault:
        raise TransferFailed(f"{page} does not exist, or is not visible to you") from fault
    except HfHubHTTPError as fault:
        raise TransferFailed(f"the hub refused the request ({fault.response.status_code}); {KEPT}") from fault
    except httpx.TransportError as fault:
        raise TransferFailed(
            f"the hub cannot be reached ({_describe(fault)}). Check your network connection"
        ) from fault
    except BrokenPipeError:
        raise
    except OSError as fault:
        full = fault.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        what = "the disk is full, or the size of files is limited" if full else "a file cannot be written"
        raise TransferFailed(f"{what} ({_describe(fault)}); {KEPT}") from fault
    except (ValueError, TypeError, LookupError) as fault:
        why = f"the answer is not from the hub ({_describe(fault)}); a login page of your network may be in between"
        raise TransferFailed(why) from fault


def _describe(fault: Exception) -> str:
    return f"{type(fault).__name__}: {fault}"


def _print_event(**event: object) -> None:
    print(json.dumps(event), flush=True)


if __name__ == "__main__":
    sys.exit(main())
