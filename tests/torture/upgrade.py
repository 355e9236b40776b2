"""Kill processes that open a bank of an older version, and compare what the next one makes of it."""

import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from random import Random

from memory.bank.bank import Bank
from memory.errors import MemoirError
from tests.torture.outcome import Outcome
from tests.torture.processes import Report, kill_after

OLD_BANK = Path(__file__).parents[1] / "data" / "bank_version_5.sql"
COPIES = 200
"""How often each memory is repeated, so that the upgrade takes some time."""


def run(seconds: float, chance: Random, folder: Path) -> Iterator[Outcome]:
    """Open copies of an old bank, each killed once within twice the time that an upgrade takes."""
    outcome, ends = Outcome("upgrade", ("lost", "uncaught")), time.monotonic() + seconds
    outcome.done.update({"kills": 0, "still old": 0})
    folder.mkdir(parents=True)
    old, upgraded = folder / "old.db", folder / "upgraded.db"
    write_old_bank(old)
    shutil.copy(old, upgraded)
    started = time.monotonic()
    Bank(upgraded).personas()
    took, expected, before = time.monotonic() - started, dump(upgraded), version(old)
    while time.monotonic() < ends:
        bank = Bank(folder / "killed" / "bank.db")
        bank.path.parent.mkdir()
        shutil.copy(old, bank.path)
        reports, killed = kill_after(partial(open_bank, bank), 2 * took * chance.random())
        outcome.done.update({"kills": killed, "still old": version(bank.path) == before})
        for report in reports:
            outcome.fault("uncaught", report["uncaught"])
        try:
            bank.personas()
            if dump(bank.path) != expected:
                outcome.fault("lost", "the bank differs from one that was upgraded without a kill")
        except MemoirError as fault:
            outcome.fault("lost", str(fault))
        shutil.rmtree(bank.path.parent)
    yield outcome


def open_bank(bank: Bank, report: Report) -> None:
    """Upgrade the bank."""
    report("ready")
    bank.personas()
    time.sleep(60)  # until it is killed


def write_old_bank(path: Path) -> None:
    """Write the oldest bank that can be opened, with its memories repeated."""
    with closing(sqlite3.connect(path)) as conn:
        conn.executescript(OLD_BANK.read_text("utf-8"))
        columns = [name for _, name, *_ in conn.execute("PRAGMA table_info(memories)") if name != "id"]
        new = {"identity": "identity || n.value", "session_id": "NULL", "superseded_by": "NULL"}
        conn.execute(
            f"WITH RECURSIVE n (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM n WHERE value < {COPIES}) "
            f"INSERT INTO memories ({', '.join(columns)}) "
            f"SELECT {', '.join(new.get(name, f'm.{name}') for name in columns)} FROM memories m, n"
        )
        conn.commit()


def version(path: Path) -> int:
    """The version of a bank's file as it lies there; a log beside it is read, too."""
    with closing(sqlite3.connect(path)) as conn:
        return int(conn.execute("PRAGMA user_version").fetchone()[0])


def dump(path: Path) -> list[str]:
    """All that a bank holds, as SQL."""
    with closing(sqlite3.connect(path)) as conn:
        return list(conn.iterdump())
