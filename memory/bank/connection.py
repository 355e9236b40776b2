"""How a bank's file is opened: brought to the newest version first, or refused as it is."""

from __future__ import annotations

import random
import sqlite3
import time
from pathlib import Path

from sqlite_utils import Database

from memory.bank import schema
from memory.bank.faults import is_fault
from memory.errors import BankTooNew, BankUnavailable

BUSY_SECONDS = 60.0
"""How long one writer waits for another before it gives up; a session of 100,000 turns takes ten seconds to store."""

CACHE_KB = 1 << 16
"""Pages that a connection keeps, at most. An import touches thousands of pages all over the indexes in one transaction:
with SQLite's own 2 MB each is read a hundred times over."""


def open_bank(path: Path) -> Database:
    """Open the file at `path` (made if missing), brought to the newest version.

    Raises:
        BankTooNew: the file was written by a later Memoir.
        BankUnavailable: it is a database, but of something else.
        sqlite3.Error: it cannot be opened or is no database.
    """
    db, version = _connect(str(path), path)
    try:
        _use_write_ahead_log(db.conn)
        if version < schema.newest_version():
            _migrate(db, path)
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
    log = path.with_name(path.name + "-wal")
    if not path.exists() or (log.exists() and log.stat().st_size):
        raise fault
    db, version = _connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", path)
    if version < schema.newest_version():
        db.close()
        raise fault
    return db


def _connect(address: str, path: Path) -> tuple[Database, int]:
    is_uri = address != str(path)
    conn = sqlite3.connect(address, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False, uri=is_uri)
    try:
        conn.execute("PRAGMA foreign_keys = ON")
        conn.execute("PRAGMA secure_delete = ON")
        conn.execute(f"PRAGMA cache_size = -{CACHE_KB}")
        return Database(conn), _version(conn, path)
    except BaseException:
        conn.close()
        raise


def _version(conn: sqlite3.Connection, path: Path) -> int:
    """The version of a bank that this Memoir can read; 0 for an empty file."""
    # One statement, one view: another process may be making the tables.
    version, tables = conn.execute(
        "SELECT user_version, (SELECT count(*) FROM sqlite_master) FROM pragma_user_version"
    ).fetchone()
    if version > schema.newest_version():
        raise BankTooNew(
            f"{path} is a bank of version {version}; this Memoir reads up to {schema.newest_version()}. "
            "Nothing was changed. Update Memoir, or point MEMOIR_HOME at another folder."
        )
    if 0 < version < schema.FIRST_VERSION:
        raise BankUnavailable(
            f"{path} is a bank of version {version}; this Memoir reads version {schema.FIRST_VERSION} and later. "
            "Nothing was changed. Export it with the Memoir that wrote it, and import the export into a new bank."
        )
    if tables and not version:
        raise BankUnavailable(
            f"{path} is a database, but no bank. Nothing was changed. Move it away, or point MEMOIR_HOME elsewhere."
        )
    return int(version)


def _use_write_ahead_log(conn: sqlite3.Connection) -> None:
    """Switch a new bank, or one that was copied here in rollback mode, to write-ahead logging.

    Raises:
        sqlite3.OperationalError: other processes kept the file locked for `BUSY_SECONDS`, or it cannot be written.
    """
    give_up = time.monotonic() + BUSY_SECONDS
    while conn.execute("PRAGMA journal_mode").fetchone() != ("wal",):
        try:
            conn.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as fault:
            # SQLite does not apply the busy timeout to this statement.
            if not is_fault(fault, "SQLITE_BUSY", "SQLITE_LOCKED") or time.monotonic() > give_up:
                raise
            time.sleep(random.uniform(0.002, 0.02))


def _migrate(db: Database, path: Path) -> None:
    conn = db.conn
    conn.execute("BEGIN IMMEDIATE")
    try:
        # Read again under the lock: another process may have migrated since.
        version = _version(conn, path)
        if version:
            schema.migrate(db, version)
        else:
            schema.create(db)
        conn.execute(f"PRAGMA user_version = {schema.newest_version()}")
        conn.execute("COMMIT")
    except BaseException:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
        raise
