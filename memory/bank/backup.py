"""Back up the bank to one file while others read and write it, and restore a backup.

Both use SQLite's own backup, which copies all pages of one moment in one transaction: the target holds the old content
or the new, never half of each, whoever has it open.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, count, islice
from pathlib import Path

from memory import named_queries
from memory.bank import journal, rows, schema
from memory.bank.bank import Bank
from memory.bank.connection import FAULTS, REFUSALS, explain, has_log, is_fault, open_bank, read_version
from memory.bank.unfinished import delete_unfinished, publish_new, unfinished_file
from memory.embedding.embedder import installed
from memory.errors import BankUnavailable, MemoirError, UnreadableFile
from memory.progress import Task

PIECE = 4096
"""Pages of 4 kB that are copied at a time, which takes some tens of milliseconds."""

KEPT_SUFFIX = ".before-restore"
"""Appended to the name of the bank that a restore keeps."""

COPIED, CHECKED = 0.4, 0.9
"""The share of a backup's time that has passed when all is copied, and when the pages are checked."""


@dataclass(frozen=True, slots=True)
class BankSummary:
    """The version of a bank's file, and how much it holds."""

    version: int
    personas: int
    sessions: int
    turns: int
    memories: int
    size: int


def backup(bank: Bank, path: Path, task: Task | None = None) -> BankSummary:
    """Copy the bank as it is at one moment to a new file, and check the copy.

    Raises:
        MemoirError: the file is there already, or cannot be written.
        BankUnavailable: the bank cannot be read, or its copy is damaged.
        Cancelled: the task was cancelled; nothing is left of the file.
    """
    task = task or Task()
    try:
        with _new_file(path) as half:
            _copy(bank, half, task, COPIED)
            return inspect(half, task)
    except OSError as fault:
        raise MemoirError(f"{path}: not written ({fault.strerror or fault}).") from fault


def _copy(bank: Bank, path: Path, task: Task, share: float) -> None:
    """Copy the pages of the bank to a file; this is the first `share` of the task."""

    def report(_: int, left: int, total: int) -> None:
        task.report(share * (1 - left / total) if total else 0.0)  # a full disk is reported as 0 of 0 pages

    with bank.reading() as db, closing(sqlite3.connect(path)) as copy:
        # One view: the copying would begin anew whenever somebody wrote between two pieces of it.
        db.conn.execute("BEGIN").execute("SELECT * FROM revision").fetchone()
        db.conn.backup(copy, pages=PIECE, progress=report)


def restore(bank: Bank, path: Path) -> tuple[BankSummary, Path | None]:
    """Replace the bank with that of a backup; the old one is kept beside it.

    Returns what the bank holds now, and the file that keeps the bank of before, None if there was none.
    The new bank is built and checked in full before the old one is touched. A program that has the bank open sees the
    other one from its next operation on.

    Raises:
        UnreadableFile: the file is missing, damaged, no bank, or holds more than a bank; nothing was changed.
        MemoirError: a later Memoir wrote it; nothing was changed.
        BankUnavailable: the bank cannot be written; it is as it was.
    """
    inspect(path, refuse_foreign=True)
    try:
        bank.path.parent.mkdir(parents=True, exist_ok=True)
        with unfinished_file(bank.path) as new:
            summary = _build(new, path, bank)
            with _kept_aside(bank) as before, closing(_open(new)) as source, bank.replacing() as target:
                source.backup(target)
        return summary, before
    except FAULTS as fault:
        raise BankUnavailable(f"{explain(bank.path, fault)}. It was left as it was") from fault


def _build(new: Path, path: Path, bank: Bank) -> BankSummary:
    """Make a bank of today's version from a backup, which itself is left as it is, and check it."""
    with closing(_open(path)) as source, closing(sqlite3.connect(new)) as copy:
        source.backup(copy)
    with closing(open_bank(new, create=False)) as db:  # deleted meanwhile, it must not be made anew without content
        parts = (f"{part} is missing" for part in schema.missing_parts(db.conn))
        wrong = (f"{table} {ids}" for table, ids in schema.wrong_digests(db.conn))
        if changed := [*islice(chain(parts, wrong), 3)]:
            raise UnreadableFile(REFUSALS["changed"].format(path=path, parts=", ".join(changed)))
        schema.keep_digests(db.conn)
        # What need not be trusted; the indexer makes it again. Vectors of the right length stay: they take hours.
        db.conn.execute("DELETE FROM segments")
        db.conn.execute(named_queries(__file__)["delete_odd_vectors"])
        _adapt(db.conn, bank)
        journal.record(db, "restored", None, {"memories": db.table("memories").count})
    return inspect(new)


@contextmanager
def _kept_aside(bank: Bank) -> Iterator[Path | None]:
    """Keep a copy of the bank that is there, or move it aside where it is too damaged to be copied.

    A bank that was moved is moved back if what follows fails.
    """
    if not bank.path.exists():
        yield None
        return
    names = (f"{bank.path.name}{KEPT_SUFFIX}{'' if n == 1 else f'-{n}'}" for n in count(1))
    aside = next(path for name in names if not (path := bank.path.with_name(name)).exists())
    try:
        with _new_file(aside) as half:
            _copy(bank, half, Task(), 1.0)
    except BankUnavailable as fault:
        if bank.path.stat().st_size and not is_fault(fault.__cause__, "SQLITE_CORRUPT", "SQLITE_NOTADB"):
            raise
    else:
        yield aside
        return
    try:
        _move(bank.path, aside)
        yield aside
    except BaseException:
        if aside.exists():  # the bank itself is moved last: only then is what stands in its place not the bank
            for end in ("", "-wal", "-shm"):
                bank.path.with_name(bank.path.name + end).unlink(missing_ok=True)
        _move(aside, bank.path)
        raise


def _move(old: Path, new: Path) -> None:
    """Move a bank with the files of its log, the bank itself last."""
    for end in ("-wal", "-shm", ""):
        file = old.with_name(old.name + end)
        if file.exists():
            file.replace(new.with_name(new.name + end))


def inspect(path: Path, task: Task | None = None, *, refuse_foreign: bool = False) -> BankSummary:
    """Check a bank's file and count what it holds.

    Raises:
        UnreadableFile: it is missing, damaged or no bank, or holds more than a bank, if that is refused.
        MemoirError: a later Memoir wrote it.
    """
    task = task or Task()
    try:
        with closing(_open(path)) as conn, task.interruptible(conn):
            version = read_version(conn, path)
            if refuse_foreign and (foreign := schema.foreign_parts(conn)):
                raise UnreadableFile(REFUSALS["foreign"].format(path=path, parts=", ".join(foreign[:3])))
            faults = [line for (line,) in conn.execute("PRAGMA integrity_check(5)") if line != "ok"]
            task.report(CHECKED)
            faults += [f"{row[0]} {row[1]} points nowhere" for row in conn.execute("PRAGMA foreign_key_check")][:5]
            if faults or not version:
                raise UnreadableFile(
                    f"{path} is damaged: {'; '.join(faults)}." if faults else f"{path} is not a Memoir bank."
                )
            tables = ("personas", "sessions", "turns", "memories")
            counts = {table: int(conn.execute(f"SELECT count(*) FROM {table}").fetchone()[0]) for table in tables}
            task.report(1)
            return BankSummary(version, **counts, size=path.stat().st_size)
    except BankUnavailable as fault:
        raise UnreadableFile(str(fault)) from fault
    except FAULTS as fault:
        raise UnreadableFile(explain(path, fault)) from fault


def _open(path: Path) -> sqlite3.Connection:
    """A connection that writes nothing, not even beside the file, unless its log still holds a part of it."""
    if not path.is_file():
        raise UnreadableFile(f"{path} does not exist. Nothing was changed.") from FileNotFoundError(path)
    how = "mode=ro" if has_log(path) else "mode=ro&immutable=1"
    return sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True)


def _adapt(conn: sqlite3.Connection, bank: Bank) -> None:
    """Set the revisions above any that the bank has had, so that every cache reads the rows again, and its choices.

    A file chooses none but an embedding model that is installed: a chat model's address would be sent what is said.
    """
    revision = "SELECT value, rewritten FROM revision"
    seen, chosen = [tuple(conn.execute(revision).fetchone())], ""
    if bank.path.exists():
        with suppress(BankUnavailable), bank.reading() as db:
            seen.append(tuple(db.conn.execute(revision).fetchone()))
            chosen = bank.choice("chat_model", "")
    highest = [max(values) + 1 for values in zip(*seen, strict=True)]
    conn.execute("UPDATE revision SET value = ?, rewritten = ?", highest)
    known = json.dumps(installed())
    conn.execute(
        "DELETE FROM choices WHERE name <> 'embedding_model' OR value NOT IN (SELECT value FROM json_each(?))", (known,)
    )
    if chosen:
        rows.choose(conn, "chat_model", chosen)


@contextmanager
def _new_file(path: Path) -> Iterator[Path]:
    """A file beside `path` that is given this name once it is complete; `path` must not be there yet."""
    exists = f"{path} already exists and was not changed. Choose another file."
    delete_unfinished(path.parent, path.name)  # killed right after it had got its name, a file still has both
    if path.exists():
        raise MemoirError(exists)
    with unfinished_file(path) as half:
        yield half
        try:
            publish_new(half, path)
        except FileExistsError as fault:
            raise MemoirError(exists) from fault
