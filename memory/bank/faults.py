"""What SQLite and the system report of a bank's file, as a message that says what happened and what to do."""

from __future__ import annotations

import errno
from pathlib import Path

_UNDONE = "what was being written was undone, all before it is kept"
_REMEDY = "Nothing was changed. Point MEMOIR_HOME at a folder that can be written"

# By the beginning of SQLite's or the system's own name of the fault, which, unlike its wording, never changes.
_MEANINGS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("SQLITE_FULL", "ENOSPC", "EDQUOT"), f"the disk is full ({{said}}); {_UNDONE}. Make room and try again"),
    (("SQLITE_IOERR", "EIO", "EFBIG"), f"the disk is full, limited or failing ({{said}}); {_UNDONE}"),
    (("EEXIST", "ENOTDIR"), f"its folder is a file, not a folder ({{said}}). {_REMEDY}"),
    (
        ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "EROFS", "EACCES", "EPERM", "ENAMETOOLONG"),
        f"cannot be opened for writing ({{said}}). {_REMEDY}",
    ),
    (
        ("SQLITE_BUSY", "SQLITE_LOCKED"),
        "another process has been writing for too long ({said}). Nothing was changed, try again",
    ),
    (
        ("SQLITE_NOTADB", "SQLITE_CORRUPT"),
        "is no bank, or is damaged ({said}). Nothing was changed. Restore a copy, or move it away",
    ),
    (("SQLITE_CONSTRAINT",), "refused what breaks a rule of the bank ({said}); nothing of it was kept"),
    (("SQLITE_TOOBIG",), "a text is longer than SQLite can hold ({said}); nothing of it was kept"),
)


def is_fault(fault: BaseException | None, *names: str) -> bool:
    """Whether a fault is one of SQLite's named kinds, such as "SQLITE_BUSY"; extended kinds count as their base."""
    return (getattr(fault, "sqlite_errorname", None) or "").startswith(names)


def explain(path: Path, fault: Exception) -> str:
    """A fault met at the bank's file, in words: the file, what happened, what was kept and what to do."""
    number = fault.errno if isinstance(fault, OSError) else None
    name = errno.errorcode.get(number or 0, "") or getattr(fault, "sqlite_errorname", None) or ""
    said = fault.strerror if isinstance(fault, OSError) and fault.strerror else str(fault)
    for beginnings, meaning in _MEANINGS:
        if name.startswith(beginnings):
            return f"{path}: {meaning.format(said=said)}"
    return f"{path}: {said}; {_UNDONE}"
