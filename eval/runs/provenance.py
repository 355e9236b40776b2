"""What a run was made with: the data's checksum, the version of the code, the libraries, the machine."""

import os
import platform
import tomllib
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def checksum(path: Path) -> str:
    """SHA-256 of a file, or of the names and contents of a folder's files."""
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
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB"
