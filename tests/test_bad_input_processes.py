"""Several processes at one bank, and processes that are killed: nothing twice, nothing lost, whole sessions only."""

import re
import signal
import time

import psutil
import pytest

from memory.bank.bank import Bank
from support.bad_input import assert_unharmed, history, seeded, start

pytestmark = pytest.mark.slow


@pytest.fixture
def bank(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMOIR_HOME", str(tmp_path / "home"))
    return seeded(tmp_path / "home")


def ended(processes):
    """What the processes printed, once all have ended well."""
    shown = [process.communicate(timeout=120) for process in processes]
    assert [(p.returncode, err) for p, (_, err) in zip(processes, shown, strict=True)] == [(0, b"")] * len(processes)
    return [out.decode() for out, _ in shown]


def test_two_processes_importing_different_histories_lose_nothing(bank, tmp_path):
    names = ("Zoe", "Max")
    ended([start("import", history(tmp_path / f"{name}.jsonl", 250, name)) for name in names])
    for name in names:
        assert bank.counts(bank.persona(name).id) == {"sessions": 250, "turns": 5000, "dialogue": 5000}
    assert_unharmed(bank)


def test_two_processes_importing_the_same_history_store_it_once(bank, tmp_path):
    path = history(tmp_path / "Zoe.jsonl", 250)
    shown = ended([start("import", path) for _ in range(3)])
    zoe = bank.persona("Zoe")
    assert bank.counts(zoe.id) == {"sessions": 250, "turns": 5000, "dialogue": 5000}
    assert [[t.position for t in bank.turns(zoe.id, s.id)] for s in bank.sessions(zoe.id)] == [list(range(20))] * 250
    told = [int(text.partition("already known: ")[2]) for text in shown]
    assert sum(5000 - known for known in told) == 5000
    assert_unharmed(bank)


def test_processes_that_make_the_bank_at_once_make_one(tmp_path):
    home = tmp_path / "new"
    names = [f"P{n}" for n in range(4)]
    ended([start("import", history(tmp_path / f"{name}.jsonl", 1, name), home=home) for name in names])
    assert sorted(p.name for p in Bank(home / "bank.db").personas()) == names


@pytest.mark.parametrize("batches", [1, 3])
def test_an_import_that_is_killed_leaves_whole_sessions_and_can_be_done_again(bank, tmp_path, batches):
    path = history(tmp_path / "Zoe.jsonl", 600)
    process = start("import", path)
    while turns_of(bank, "Zoe") < batches * 2000:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    zoe = bank.persona("Zoe")
    before = bank.counts(zoe.id)
    assert before["turns"] == before["dialogue"] == before["sessions"] * 20
    assert batches * 2000 <= before["turns"] < 12_000
    assert_unharmed(bank)

    (shown,) = ended([start("import", path)])
    assert f"already known: {before['turns']}" in shown
    assert bank.counts(zoe.id) == {"sessions": 600, "turns": 12_000, "dialogue": 12_000}
    assert_unharmed(bank)


def test_a_write_that_is_killed_before_its_end_leaves_nothing(bank, tmp_path):
    path = history(tmp_path / "Zoe.jsonl", 1)
    with Bank(bank.path).writing():
        process = start("import", path)
        opened = psutil.Process(process.pid)
        while str(bank.path) not in {file.path for file in opened.open_files()}:
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(0.5)  # from opening the bank to waiting for this writer are milliseconds
        process.kill()
        process.communicate()
    assert [p.name for p in bank.personas()] == ["Iris"]
    assert_unharmed(bank)


def turns_of(bank, name):
    return sum(bank.counts(p.id)["turns"] for p in bank.personas() if p.name == name)


def test_stopping_an_import_with_ctrl_c_says_so(bank, tmp_path):
    process = start("import", history(tmp_path / "Zoe.jsonl", 2400))
    while turns_of(bank, "Zoe") == 0:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.match(rb"memoir: Cancelled\. \d+ turns in whole sessions and \d+ memories from \S+ are in the bank", err)
    assert err.count(b"\n") == 1
    counts = bank.counts(bank.persona("Zoe").id)
    assert counts["turns"] == counts["dialogue"] == counts["sessions"] * 20
    assert_unharmed(bank)
