"""Open a bank's file, bring it to the newest version, and explain what SQLite reports of it.

A process that has a bank open may not open its files in any other way: closing one drops SQLite's locks on it
(https://sqlite.org/howtocorrupt.html, 2.2).
"""

import errno
import random
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from sqlite_utils import Database

from memory import read_table
from memory.bank import schema
from memory.bank.unfinished import IDLE_SECONDS, delete_unfinished
from memory.errors import BankUnavailable, MemoirError

BUSY_SECONDS = 60.0
"""How long one writer waits for another before it gives up; a session of 100,000 turns takes ten seconds to store."""

CACHE_KB = 1 << 16
"""Pages that a connection keeps, at most. An import touches thousands of pages all over the indexes in one transaction:
with SQLite's own 2 MB each is read a hundred times over."""

_UNWRITABLE = ("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_FULL", "SQLITE_IOERR")
"""Faults of a disk that can still be read. Never SQLITE_BUSY: the file may be half written at that moment."""

FAULTS = (sqlite3.Error, OSError, UnicodeDecodeError)
"""What is raised for a file that cannot be read or written. A message of SQLite that quotes a damaged schema may be no
UTF-8, and Python then raises the last."""

_MEANINGS, REFUSALS = read_table(__file__, "faults.toml").values()


class BankFile:
    """A bank's file, opened for each operation or for several, so that any thread and any process may use it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # SQLite starves one of several waiting writers for seconds; a lock of our own is fair enough and free.
        self._writer = threading.Lock()
        self._was_opened = False
        self._pool = threading.Lock()
        self._keepers = 0
        self._idle: list[tuple[Database, tuple[int, int]]] = []

    @contextmanager
    def kept_open(self) -> Iterator[None]:
        """Let the operations of a while share connections: opening one, and closing the last, takes a millisecond.

        They are closed at the end of the last such while, so that the log beside the bank is emptied.
        """
        with self._pool:
            self._keepers += 1
        try:
            yield
        finally:
            with self._pool:
                self._keepers -= 1
                ended, self._idle = ([], self._idle) if self._keepers else (self._idle, [])
            for db, _ in ended:
                db.close()

    @contextmanager
    def reading(self) -> Iterator[Database]:
        """A connection to read by, closed at the end; each statement sees the newest state."""
        with self._explained(), ExitStack() as opened:
            try:
                db = opened.enter_context(self._connection())
            except sqlite3.OperationalError as fault:
                # A read-only or full disk refuses the files beside the bank that reading needs, not the bank itself.
                if not is_fault(fault, *_UNWRITABLE):
                    raise
                db = opened.enter_context(closing(open_read_only(self.path, fault)))
            yield db

    @contextmanager
    def reading_snapshot(self) -> Iterator[Database]:
        """A connection to read by that sees one state of the bank, however much is written meanwhile."""
        with self.reading() as db:
            db.conn.execute("BEGIN")
            yield db

    @contextmanager
    def writing(self) -> Iterator[Database]:
        """One transaction that is kept whole or not at all; waits for its turn behind other writers."""
        with self._writer, self._explained(), self._connection() as db, _transaction(db.conn):
            schema.keep_digests(db.conn)
            yield db
            db.conn.execute("UPDATE revision SET value = value + 1")

    @contextmanager
    def replacing(self) -> Iterator[sqlite3.Connection]:
        """A connection that a backup can be copied to, all of it at once; waits for its turn behind other writers."""
        with self._writer, self._explained(), closing(self._open(anew=True)) as db:
            yield db.conn
            with suppress(sqlite3.Error):  # it is replaced by now; the log is emptied by a later write
                db.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    @contextmanager
    def _connection(self) -> Iterator[Database]:
        """A connection that was kept, or a new one; it is kept for the next unless something failed."""
        db = self._reusable() or self._open()
        with ExitStack() as unless_kept:
            unless_kept.callback(db.close)
            file = _file_id(self.path)
            yield db
            if db.conn.in_transaction:  # of a snapshot
                db.conn.execute("ROLLBACK")
            with self._pool:
                if self._keepers and file is not None:
                    self._idle.append((db, file))
                    unless_kept.pop_all()

    def _reusable(self) -> Database | None:
        """A kept connection to the file that is there now; None if there is none."""
        with self._pool:
            if not self._idle:
                return None
            db, file = self._idle.pop()
        with ExitStack() as unless_reusable:
            unless_reusable.callback(db.close)
            if file == _file_id(self.path) and read_version(db.conn, self.path) == schema.newest_version():
                unless_reusable.pop_all()
                return db
        return None

    def _open(self, *, anew: bool = False) -> Database:
        """Open the bank; only the first time, or `anew`, is one begun where there is none."""
        create = anew or not self._was_opened
        if create:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            delete_unfinished(self.path.parent, idle=IDLE_SECONDS)
        elif not self.path.exists():
            raise BankUnavailable(REFUSALS["gone"].format(path=self.path))
        db = open_bank(self.path, create=create)
        self._was_opened = True
        return db

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except FAULTS as fault:
            raise BankUnavailable(explain(self.path, fault)) from fault


@contextmanager
def _transaction(conn: sqlite3.Connection) -> Iterator[None]:
    # Immediate: a transaction that reads first and writes later fails at once when another wrote in between.
    conn.execute("PRAGMA busy_timeout = 0")
    try:
        _wait_for_lock(conn, "BEGIN IMMEDIATE")
    finally:
        conn.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1000:.0f}")
    with conn:
        yield


def open_bank(path: Path, *, create: bool = True) -> Database:
    """Open the file at `path` (made if missing, unless `create` is false), brought to the newest version.

    Raises:
        MemoirError: the file was written by a later Memoir.
        BankUnavailable: it is a database, but of something else, or was emptied.
        sqlite3.Error: it cannot be opened or written, is no database, or was locked for `BUSY_SECONDS`.
    """
    # SQLite would take an empty file for a new bank, and delete the log beside it, which may hold all that is left.
    if path.is_file() and not (status := path.stat()).st_size:
        is_old = time.time() - status.st_mtime > BUSY_SECONDS  # otherwise another process may be beginning a bank in it
        if not create or is_old or has_log(path):
            raise BankUnavailable(REFUSALS["empty"].format(path=path))
    db, version = _connect(path, "rwc" if create else "rw")
    try:
        # Of a new bank, or one that was copied here in rollback mode.
        while db.conn.execute("PRAGMA journal_mode").fetchone() != ("wal",):
            _wait_for_lock(db.conn, "PRAGMA journal_mode = WAL")
        if version < schema.newest_version():
            with _transaction(db.conn):
                version = read_version(db.conn, path)  # again, under the lock: another process may have migrated since
                schema.upgrade(db, version)
    except BaseException:
        db.close()
        raise
    return db


def open_read_only(path: Path, fault: sqlite3.Error) -> Database:
    """Open a bank of the newest version for reading where nothing can be written, not even a lock.

    Raises:
        sqlite3.Error: the given fault, if the file alone does not hold everything: it is missing, of an earlier
            version, or part of it still stands in the log of a process that writes, or was stopped.
    """
    if not path.exists() or has_log(path):
        raise fault
    db, version = _connect(path, "ro&immutable=1")
    if version < schema.newest_version():
        db.close()
        raise fault
    return db


def _file_id(path: Path) -> tuple[int, int] | None:
    """The device of the file at a path, and its number there; None if there is no file, or an empty one."""
    with suppress(OSError):
        status = path.stat()
        return (status.st_dev, status.st_ino) if status.st_size else None
    return None


def has_log(path: Path) -> bool:
    """Whether the write-ahead log of a bank holds anything, which its file may lack."""
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0


def _connect(path: Path, mode: str) -> tuple[Database, int]:
    address = f"{path.absolute().as_uri()}?mode={mode}"
    conn = sqlite3.connect(address, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, uri=True)
    try:
        conn.execute("PRAGMA foreign_keys = ON")
        conn.execute("PRAGMA secure_delete = ON")
        conn.execute(f"PRAGMA cache_size = -{CACHE_KB}")
        return Database(conn), read_version(conn, path)
    except BaseException:
        conn.close()
        raise


def read_version(conn: sqlite3.Connection, path: Path) -> int:
    """The version of a bank that this Memoir can read; 0 for an empty file."""
    # One statement, one view: another process may be making the tables.
    query = "SELECT user_version, (SELECT count(*) FROM sqlite_master) FROM pragma_user_version"
    version, tables = conn.execute(query).fetchone()
    if version > schema.newest_version():
        raise MemoirError(REFUSALS["later"].format(path=path, version=version, newest=schema.newest_version()))
    if 0 < version < schema.FIRST_VERSION:
        raise BankUnavailable(REFUSALS["earlier"].format(path=path, version=version, first=schema.FIRST_VERSION))
    if tables and not version:
        raise BankUnavailable(REFUSALS["other"].format(path=path))
    return int(version)


def _wait_for_lock(conn: sqlite3.Connection, statement: str) -> None:
    """Execute a statement once no other process holds the lock that it needs, within `BUSY_SECONDS`.

    SQLite itself looks ever more seldom, up to every tenth of a second: who had waited longest came last. To a change
    of the journal it does not apply its timeout.
    """
    give_up = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            conn.execute(statement)
            return
        except sqlite3.OperationalError as fault:
            if not is_fault(fault, "SQLITE_BUSY", "SQLITE_LOCKED") or time.monotonic() > give_up:
                raise
            time.sleep(random.uniform(0.002, 0.01))


def is_fault(fault: BaseException | None, *names: str) -> bool:
    """Whether a fault is one of SQLite's named kinds, such as "SQLITE_BUSY"; extended kinds count as their base."""
    return _name_of(fault).startswith(names)


def _name_of(fault: BaseException | None) -> str:
    """SQLite's or the system's own name of a fault."""
    if isinstance(fault, UnicodeDecodeError):
        return "SQLITE_CORRUPT"
    number = fault.errno if isinstance(fault, OSError) else None
    return errno.errorcode.get(number or 0, "") or getattr(fault, "sqlite_errorname", None) or ""


def explain(path: Path, fault: Exception) -> str:
    """A fault met at the bank's file, in words: the file, what happened, what was kept and what to do."""
    if path.is_dir():
        return str(REFUSALS["folder"].format(path=path))
    name = _name_of(fault)
    cause = fault.strerror if isinstance(fault, OSError) and fault.strerror else str(fault)
    meaning = next(each["meaning"] for each in _MEANINGS if name.startswith(tuple(each["names"])))
    return f"{path}: {meaning.format(cause=cause)}"
