"""Search the bank's files, and files that wait to be imported, for bytes of forgotten text."""

import json
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

from memory.errors import UnreadableFile
from memory.forgetting import byte_search
from memory.forgetting.byte_search import find_in_file
from memory.importers.detect import unpack

ROOT = Path(__file__).parents[2]


def find_in_bank(bank: Path, texts: Collection[str]) -> set[str]:
    """The texts whose bytes occur in a bank's file, its write-ahead log or the log's index.

    Another process reads them. If this one did, closing a file would drop the locks of all its connections to it, and
    whoever else opened the bank would delete the log that they write to (https://sqlite.org/howtocorrupt.html, 2.2).

    Raises:
        OSError: a file cannot be read.
    """
    if not texts:
        return set()
    files = [str(bank.absolute()) + suffix for suffix in ("", "-wal", "-shm")]
    done = subprocess.run(  # in a session of its own: Ctrl-C does not end it
        [sys.executable, "-m", byte_search.__name__, *files],
        input=json.dumps(list(texts)),
        capture_output=True,
        text=True,
        cwd=ROOT,
        start_new_session=True,
        check=False,
    )
    if done.returncode:
        raise OSError(f"{bank} could not be searched: {done.stderr.strip().rpartition(chr(10))[2]}")
    return set(json.loads(done.stdout))


def is_in_upload(path: Path, texts: Collection[str]) -> bool:
    """Whether one of the texts occurs in what would be imported of a file, as it stands or as JSON spells it."""
    in_json = (json.dumps(text, ensure_ascii=ascii_only)[1:-1] for text in texts for ascii_only in (False, True))
    spelled = {*texts, *in_json}
    try:
        return any(find_in_file(source, spelled) for source in unpack(path).sources)
    except UnreadableFile:  # of no known format, it may be text all the same
        return bool(find_in_file(path, spelled))
