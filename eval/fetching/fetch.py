"""Download the benchmarks' official files from the Hugging Face hub, or explain how to get them by hand.

`huggingface_hub` says where a file is and what an error means; the bytes come by a client of our own. Its session is
offline while the app sets HF_HUB_OFFLINE, and `hf_hub_download` deletes what was downloaded when it is interrupted
(huggingface_hub 1.33, `_download_to_tmp_and_move`); the largest file has 2.7 GB.
"""

import errno
import hashlib
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path

import httpx
from pydantic import TypeAdapter

from eval.types import Watch
from memory.errors import Cancelled, MemoirError

STEP = 1 << 20
"""Bytes between two reports of progress."""

QUIET_SECONDS = 30.0
"""How long the hub may send nothing before the connection counts as broken."""

ATTEMPTS = 5
"""How often a broken connection is resumed without receiving a single byte in between."""

PAUSE_SECONDS = 1.0
KEPT = "the part that was downloaded is kept, and the next download continues from there"


class FetchFailed(MemoirError):
    """The files could not be downloaded; the message says why, what is kept, and how to get them by hand."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where to get a benchmark's files.

    `repo` and `files` are on the Hugging Face hub, and empty if the authors publish elsewhere. A file has its local
    name and its possible paths there, of which the first that exists is used. `steps` explain how to get the files by
    hand; `{folder}` stands for the folder to save them in.
    """

    title: str
    licence: str
    steps: tuple[str, ...]
    repo: str = ""
    files: Mapping[str, Sequence[str]] = field(default_factory=dict)


SOURCES: Mapping[str, Source] = TypeAdapter(dict[str, Source]).validate_json(
    Path(__file__).with_name("sources.json").read_bytes()
)
"""Sources by the name that `python -m eval fetch` takes. A repository is listed only if the authors own it and it has
the files that the adapter reads: jiho283/dialsim-* has tables of another shape, adymaharana/locomo is empty."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file on the hub and its local path. `checksum` is its SHA-256, or the SHA-1 of git's blob for a small file."""

    url: str
    path: Path
    size: int
    checksum: str

    @property
    def part(self) -> Path:
        """The unfinished download; named after the checksum, so that two versions of a file are never joined."""
        return self.path.with_name(f"{self.path.name}.{self.checksum[:12]}.part")


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
    try:
        if not source.repo:
            raise MemoirError("its authors publish it where it cannot be downloaded automatically")
        return _transfer(source, folder, watch)
    except Cancelled:
        raise Cancelled(f"Cancelled; {KEPT}.") from None
    except MemoirError as fault:
        why = str(fault)
    except KeyboardInterrupt:
        why = f"it was interrupted; {KEPT}"
    except (httpx.HTTPError, OSError, ValueError, TypeError, LookupError) as fault:
        why = _explain(fault, source.repo, folder)
    raise FetchFailed(f"{source.title} was not downloaded: {why}. To get it by hand:\n{manual_steps(name, folder)}")


def manual_steps(name: str, folder: Path) -> str:
    """How to get a benchmark's files by hand: numbered steps, then the licence."""
    source = SOURCES[name]
    steps = [step.format(folder=folder) for step in source.steps]
    lines = [f"  {number}. {step}" for number, step in enumerate(steps, 1)]
    return "\n".join([*lines, f"  Licence of {source.title}: {source.licence}."])


def _transfer(source: Source, folder: Path, watch: Watch) -> list[Path]:
    from filelock import FileLock
    from huggingface_hub import get_token

    token = get_token()  # httpx drops it when the hub redirects to another host
    headers = {"Accept-Encoding": "identity"} | ({"Authorization": f"Bearer {token}"} if token else {})
    client = httpx.Client(headers=headers, timeout=QUIET_SECONDS, follow_redirects=True)
    folder.mkdir(parents=True, exist_ok=True)
    with client, FileLock(folder / ".fetching", timeout=0):
        wanted = _look_up(client, source, folder)
        needed = sum(file.size - _size(file.part) for file in wanted if not file.path.exists())
        if needed > (free := shutil.disk_usage(folder).free):
            sizes = f"{needed / 1e6:,.0f} MB are needed, {free / 1e6:,.0f} MB are free"
            raise MemoirError(f"the disk of {folder} is too full: {sizes}")
        return [_fetch_file(client, file, watch) for file in wanted]


def _look_up(client: httpx.Client, source: Source, folder: Path) -> list[RemoteFile]:
    """Ask the hub for the files as `HfApi.get_paths_info` does, which is offline while the app is."""
    from huggingface_hub import constants, hf_hub_url
    from huggingface_hub.utils import hf_raise_for_status  # type: ignore[attr-defined]  # public, but not declared so

    endpoint = os.environ.get("HF_ENDPOINT", constants.ENDPOINT).rstrip("/")
    paths = list(chain.from_iterable(source.files.values()))
    reply = client.post(f"{endpoint}/api/datasets/{source.repo}/paths-info/main", data={"paths": paths})
    hf_raise_for_status(reply)
    there = {info["path"]: info for info in reply.json() if info["type"] == "file"}
    wanted = []
    for name, possible in source.files.items():
        info = next((there[path] for path in possible if path in there), None)
        if info is None:
            raise MemoirError(f"{source.repo} on the hub no longer contains {' or '.join(possible)}")
        url = hf_hub_url(source.repo, info["path"], repo_type="dataset", endpoint=endpoint)
        checksum = info["lfs"]["oid"] if info.get("lfs") else info["oid"]
        wanted.append(RemoteFile(url, folder / name, info["size"], checksum))
    return wanted


def _fetch_file(client: httpx.Client, file: RemoteFile, watch: Watch) -> Path:
    if file.path.exists():
        if _size(file.path) == file.size and _checksum(file.path, file) == file.checksum:
            watch(file.path.name, file.size, file.size)
            return file.path
        raise MemoirError(
            f"{file.path} exists already, but differs from the file on the hub (checksum {file.checksum}); "
            "it was left unchanged. Move it away to download the hub's file"
        )
    _download(client, file, watch)
    checksum = _checksum(file.part, file)
    if checksum == file.checksum:
        return file.part.replace(file.path)
    aside = file.path.with_name(f"{file.path.name}.{checksum[:12]}.wrong")
    file.part.replace(aside)
    raise MemoirError(
        f"{file.path.name} was damaged or altered on the way: its checksum is {checksum}, "
        f"the hub's is {file.checksum}. It was renamed to {aside}; download again to start over"
    )


def _download(client: httpx.Client, file: RemoteFile, watch: Watch) -> None:
    """Complete the part file; a broken connection is resumed where it ended."""
    if _size(file.part) > file.size:
        file.part.unlink()
    file.part.touch()
    watch(file.path.name, _size(file.part), file.size)
    left = ATTEMPTS
    while (before := _size(file.part)) < file.size:
        fault = "the hub sent too little"
        try:
            _append(client, file, watch)
        except httpx.TransportError as broken:
            fault = f"{type(broken).__name__}: {broken}"
        left = ATTEMPTS if _size(file.part) > before else left - 1
        if left == 0:
            raise MemoirError(f"the connection broke {ATTEMPTS} times in a row ({fault}); {KEPT}")
        if left < ATTEMPTS:
            time.sleep(PAUSE_SECONDS)


def _append(client: httpx.Client, file: RemoteFile, watch: Watch) -> None:
    """Request the rest of a file and append it."""
    from huggingface_hub.utils import hf_raise_for_status  # type: ignore[attr-defined]

    with client.stream("GET", file.url, headers={"Range": f"bytes={_size(file.part)}-"}) as reply:
        if reply.is_error:
            reply.read()
        hf_raise_for_status(reply)
        # Some servers send the whole file, whatever range was requested.
        with file.part.open("ab" if reply.status_code == httpx.codes.PARTIAL_CONTENT else "wb") as part:
            reported = part.tell()
            for piece in reply.iter_raw():
                part.write(piece)
                if part.tell() - reported >= STEP or part.tell() == file.size:
                    reported = part.tell()
                    watch(file.path.name, reported, file.size)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _checksum(path: Path, file: RemoteFile) -> str:
    """The checksum of the same kind as the hub's: SHA-256, or the SHA-1 of git's blob for a small file."""
    from huggingface_hub.utils.sha import git_hash

    if len(file.checksum) < 64:  # hexadecimal digits of a SHA-256
        return git_hash(path.read_bytes())
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _explain(fault: Exception, repo: str, folder: Path) -> str:
    """Why a download failed and what to do, from an error of the libraries or the system."""
    from filelock import Timeout
    from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, RepositoryNotFoundError

    page, described = f"https://huggingface.co/datasets/{repo}", f"{type(fault).__name__}: {fault}"
    match fault:
        case GatedRepoError():
            remedy = f"Log in at {page}, accept it, create a token and set it as HF_TOKEN"
            return f"its licence must be accepted first. {remedy}"
        case RepositoryNotFoundError():
            return f"{page} does not exist, or is not visible to you"
        case HfHubHTTPError():
            return f"the hub refused the request ({fault.response.status_code}); {KEPT}"
        case httpx.TransportError():
            return f"the hub cannot be reached ({described}). Check your network connection"
        case Timeout():
            return f"another download into {folder} is running; wait until it ends"
        case OSError(errno=errno.ENOSPC | errno.EDQUOT | errno.EFBIG):
            return f"the disk is full, or the size of files is limited ({described}); {KEPT}"
        case OSError():
            return f"{fault.filename or 'a file'} cannot be created or written ({described}); {KEPT}"
        case _:
            return f"the answer is not from the hub ({described}); a login page of your network may be in between"
