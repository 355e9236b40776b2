"""A large file is read in a process of its own, which ends if it hangs, takes too much or is cancelled."""

import json
import subprocess
import sys
import threading
import time

import psutil
import pytest

from memory.bank.bank import Bank
from memory.errors import Cancelled, UnreadableFile
from memory.importers import child_process
from memory.importers.child_process import ROOT, wait_for_turn
from memory.ingest import ingest, summarize
from memory.progress import Task
from support.bad_input import assert_true_report, assert_unharmed, history, seeded
from support.export_files import EXPORTS, write_zip

HANGING = """
import sys
from pathlib import Path
from memory.importers import child_process
from memory.importers.generic import transcript
from memory.types import PersonaDraft, SessionDraft, TurnDraft

def read(source):
    {before}
    {hangs}

transcript.read = read
child_process.SECONDS = 1
raise SystemExit(child_process.main(Path(sys.argv[1])))
"""

SESSION = 'yield from (PersonaDraft("Zoe", "zoe"), SessionDraft((TurnDraft("Zoe", "other", "We counted gulls."),)))'
FAULTS = {
    "while True: pass": "it takes more than 1 second of processor time; expected less for its size",
    "bytearray(1 << 31)": "it takes more than 1,024 MB of memory; expected less",
    "import os; os.abort()": "it takes more than 1,024 MB of memory; expected less",  # as libraries in Rust do
    "import os; os._exit(3)": "the process that read it ended with status 3",
    "raise ValueError": "the process that read it ended with status 1",
}


@pytest.fixture
def bank(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMOIR_HOME", str(tmp_path / "home"))
    return seeded(tmp_path / "home")


@pytest.fixture
def talk(tmp_path, monkeypatch):
    """A transcript that is read as a large file is."""
    monkeypatch.setattr(child_process, "LARGE_BYTES", 0)
    path = tmp_path / "talk.txt"
    path.write_text("Ana: Where is my kayak?\nBo: In the shed.\n")
    return path


def let_parser(monkeypatch, hangs, before="yield from ()"):
    """Let the process that reads a transcript do something else."""
    monkeypatch.setattr(child_process, "SECONDS", 1)
    monkeypatch.setattr(child_process, "PROGRAM", ("-c", HANGING.format(hangs=hangs, before=before)))


def children_that_read(path):
    return [each for each in psutil.Process().children() if str(path) in each.cmdline()]


@pytest.mark.parametrize("hangs", FAULTS)
def test_a_parser_that_takes_too_much_is_ended_by_name_and_changes_nothing(bank, talk, monkeypatch, hangs):
    let_parser(monkeypatch, hangs)
    with pytest.raises(UnreadableFile) as fault:
        ingest(bank, talk)
    assert f"talk.txt could not be read to its end: {FAULTS[hangs]}. Split it" in str(fault.value)
    assert "Readable up to that point: 0 complete sessions and 0 memories of 0 histories." in str(fault.value)
    assert [persona.name for persona in bank.personas()] == ["Iris"]
    assert_unharmed(bank)
    assert not children_that_read(talk)


def test_what_was_read_before_a_parser_hangs_is_stored_and_told(bank, talk, monkeypatch):
    let_parser(monkeypatch, "while True: pass", before=SESSION)
    report = ingest(bank, talk)
    assert report.fault.endswith("Readable up to that point: 1 complete session and 0 memories of 1 history.")
    assert bank.counts(bank.persona("Zoe").id) == {"sessions": 1, "turns": 1, "dialogue": 1}
    assert_true_report(bank, report)
    assert_unharmed(bank)


@pytest.mark.parametrize("before", ["yield from ()", SESSION])
def test_cancelling_ends_a_parser_that_hangs_at_once(bank, talk, monkeypatch, before):
    let_parser(monkeypatch, "import time; time.sleep(1000)", before)
    task = Task()

    def cancel():
        while not children_that_read(talk):
            time.sleep(0.01)
        task.cancel()

    threading.Thread(target=cancel).start()
    with pytest.raises(Cancelled):
        ingest(bank, talk, progress=task.report)
    assert not children_that_read(talk)
    assert [persona.name for persona in bank.personas()] == ["Iris"]
    assert_unharmed(bank)


def test_a_bank_that_cannot_be_written_ends_the_reading(bank, tmp_path, monkeypatch):
    path = history(tmp_path / "Zoe.jsonl", 1500)
    assert path.stat().st_size > child_process.LARGE_BYTES

    def fail(*_):
        raise Cancelled("no more")

    monkeypatch.setattr(Bank, "remember", fail)
    with pytest.raises(Cancelled):
        ingest(bank, path)
    assert not children_that_read(path)


@pytest.mark.parametrize("name", ["chatgpt.json", "whatsapp-iphone.txt", "card.json"])
def test_a_file_means_the_same_wherever_it_is_read(tmp_path, monkeypatch, name):
    told = []
    for number, large in enumerate((1 << 30, 0)):
        monkeypatch.setattr(child_process, "LARGE_BYTES", large)
        bank = Bank(tmp_path / f"bank{number}.db")
        try:
            summary, report = summarize(EXPORTS / name), ingest(bank, EXPORTS / name)
        except UnreadableFile as fault:
            told.append(str(fault))
            continue
        turns = [
            (turn.speaker, turn.text, turn.said_at)
            for persona in bank.personas()
            for session in bank.sessions(persona.id)
            for turn in bank.turns(persona.id, session.id)
        ]
        told.append((summary, [(h.persona.name, h.stored, h.skips) for h in report.histories], report.fault, turns))
    assert told[0] == told[1]


def test_a_file_that_is_not_there_is_told_and_an_archive_counts_unpacked(tmp_path, monkeypatch):
    with pytest.raises(UnreadableFile, match=r"gone\.txt cannot be opened"):
        summarize(tmp_path / "gone.txt")
    monkeypatch.setattr(child_process, "PROGRAM", ("-c", "raise SystemExit(7)"))
    lines = history(tmp_path / "Zoe.jsonl", 1500).read_bytes()
    packed = write_zip(tmp_path / "Zoe.zip", {"Zoe.jsonl": lines})
    assert packed.stat().st_size < child_process.LARGE_BYTES
    with pytest.raises(UnreadableFile, match=r"Zoe\.zip could not be read to its end: .* status 7"):
        summarize(packed)


def test_an_export_is_proved_before_any_of_it_is_stored(bank, talk, tmp_path, monkeypatch):
    """What would be refused only in the app's own process could have taken it down."""
    persona = {"n": 1, "name": "Zoe", "id": "zoe", "created_at": "2026-03-01T18:00:00+00:00"}
    path = tmp_path / "zoe.jsonl"
    path.write_text(json.dumps({"memoir": 2, "persona": persona}) + "\n" + "x" * 100)
    with pytest.raises(UnreadableFile, match=r"zoe\.jsonl ends unexpectedly in line 2"):
        ingest(bank, path)
    monkeypatch.setattr(child_process, "PROGRAM", ("-c", "raise SystemExit(7)"))
    with pytest.raises(UnreadableFile, match=r"zoe\.jsonl could not be read to its end"):
        ingest(bank, path)
    assert_unharmed(bank)


def test_the_process_that_reads_loads_neither_the_screen_nor_a_model():
    look = "import sys, memory.importers.child_process; print({'gradio', 'torch', 'transformers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", look], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_who_waits_for_a_turn_can_cancel_and_takes_none():
    turns, task = threading.Semaphore(), Task()
    with wait_for_turn(turns, lambda: None):
        task.cancel()
        with pytest.raises(Cancelled), wait_for_turn(turns, lambda: task.report(0)):
            pass
    assert turns.acquire(blocking=False)
