"""A disk that is full or read-only: the message says so, what was stored before is whole, and reading goes on."""

import resource
import shutil
import sqlite3
import subprocess
from itertools import repeat

import pytest

from memory.__main__ import main
from memory.bank import connection as opening
from memory.bank import maintenance as upkeep
from memory.ingest import ingest
from support.bad_input import assert_unharmed, history, run, seeded

READING = (["list"], ["show", "--persona", "Iris"], ["export", "--persona", "Iris"])


@pytest.fixture
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("MEMOIR_HOME", str(folder))
    return folder


@pytest.fixture
def mount(home):
    """Mounts a disk of that many kilobytes at the bank's folder, or mounts it again with other options."""

    def mount(options):
        command = ["mount", "-t", "tmpfs", "-o", options, "memoir-test", str(home)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")

    if shutil.which("mount") is None:
        pytest.skip("no disk can be mounted here: there is no mount command")
    yield mount
    while subprocess.run(["umount", str(home)], capture_output=True, check=False).returncode == 0:
        pass


def fill(folder):
    with (folder / "filling").open("wb", buffering=0) as file, pytest.raises(OSError, match="No space left"):
        file.writelines(repeat(b"x" * 4096))


def test_a_disk_that_fills_up_keeps_the_whole_sessions_before(home, mount, tmp_path, capsys):
    mount("size=4m")
    bank = seeded(home)
    path = history(tmp_path / "long.jsonl", 600)
    assert main(["import", str(path)]) == 1
    message = capsys.readouterr().err
    assert message.startswith(f"memoir: {bank.path}: the disk is full (database or disk is full); what was being")
    counts = bank.counts(bank.persona("Zoe").id)
    assert 0 < counts["sessions"] < 600
    assert counts["turns"] == counts["dialogue"] == counts["sessions"] * 20
    assert f"{counts['turns']} turns in whole sessions and {counts['turns']} memories from long.jsonl are" in message
    assert_unharmed(bank)

    mount("remount,size=32m")
    (report,) = ingest(bank, path).histories
    assert (report.found_turns, report.stored.known_turns) == (12_000, counts["turns"])
    assert bank.counts(report.persona.id) == {"sessions": 600, "turns": 12_000, "dialogue": 12_000}
    assert_unharmed(bank)


def test_on_a_full_disk_reading_goes_on(home, mount, tmp_path, capsys):
    mount("size=4m")
    bank = seeded(home)
    fill(home)
    path = history(tmp_path / "h.jsonl", 1)
    for command in READING:
        assert main(command) == 0
        assert "Iris" in capsys.readouterr().out
    assert main(["import", str(path)]) == 1
    assert "the disk is full" in (message := capsys.readouterr().err)
    assert "Nothing from h.jsonl was stored." in message
    (home / "filling").unlink()
    assert main(["import", str(path)]) == 0
    assert_unharmed(bank)


def test_a_disk_too_small_for_a_bank_is_told(home, mount, capsys):
    mount("size=16k")
    assert main(["list"]) == 1
    assert f"memoir: {home / 'bank.db'}: the disk is full" in capsys.readouterr().err


def test_a_read_only_disk_can_be_read_and_refuses_to_be_written(home, mount, tmp_path, capsys):
    mount("size=4m")
    bank = seeded(home)
    mount("remount,ro,size=4m")
    for command in READING:
        assert main(command) == 0
        assert "Iris" in capsys.readouterr().out
    for command in (["import", str(history(tmp_path / "h.jsonl", 1))], ["forget", "--persona", "Iris", "1"]):
        assert main(command) == 1
        message = capsys.readouterr().err
        assert f"memoir: {bank.path}: cannot be opened for writing (" in message
        assert "Nothing was changed. Point MEMOIR_HOME at a folder that can be written" in message
    assert upkeep.verify(bank, "any") == []
    mount("remount,rw,size=4m")
    assert_unharmed(bank)


def test_a_read_only_disk_without_a_bank_is_told(home, mount, capsys):
    mount("ro,size=4m")
    assert main(["list"]) == 1
    assert f"memoir: {home / 'bank.db'}: cannot be opened for writing" in capsys.readouterr().err


def test_what_a_stopped_writer_left_in_its_log_is_never_read_past(tmp_path):
    bank = seeded(tmp_path)
    bank.path.with_name("bank.db-wal").write_bytes(b"part of the bank")
    with pytest.raises(sqlite3.OperationalError, match="the reason"):
        opening.open_read_only(bank.path, sqlite3.OperationalError("the reason"))


def test_a_limit_on_the_size_of_files_is_told_like_a_full_disk(home, tmp_path, monkeypatch):
    bank = seeded(home)
    path = history(tmp_path / "long.jsonl", 600)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 20, limit[1]))
    try:
        done = run("import", path)  # inherits the limit; Python has the signal ignored, so writing fails with EFBIG
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert done.returncode == 1
    assert f"memoir: {bank.path}: the disk is full, limited or failing (disk I/O error)".encode() in done.stderr
    counts = bank.counts(bank.persona("Zoe").id)
    assert counts["turns"] == counts["sessions"] * 20
    assert f"{counts['turns']} turns in whole sessions".encode() in done.stderr
    assert_unharmed(bank)
