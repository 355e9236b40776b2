"""A bank that cannot be opened, read or written: the message says why, and what it holds stays as it is."""

import os
import random
import sqlite3
import threading
from contextlib import closing, suppress
from dataclasses import replace

import pytest

from memory import ingest as ingesting
from memory.__main__ import main
from memory.bank import connection as opening
from memory.bank import corrections, journal, maintenance, schema
from memory.bank.backup import backup, restore
from memory.bank.bank import Bank
from memory.cli.program import INTERRUPTED
from memory.errors import BankUnavailable, MemoirError
from memory.forgetting.forget import forget_memories
from memory.ingest import ingest
from memory.types import LearnedMemory, MemoryDraft, PersonaDraft, Quote, SessionDraft, TurnDraft
from support.bad_input import HELD, MAY, assert_true_report, assert_unharmed, history, seeded

READING = (["list"], ["show", "--persona", "Iris"], ["export", "--persona", "Iris"])


@pytest.fixture
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("MEMOIR_HOME", str(folder))
    return folder


@pytest.mark.parametrize("inside", ["", "deeper"])
def test_a_home_that_is_a_file_is_told(tmp_path, monkeypatch, capsys, inside):
    file = tmp_path / "notes.txt"
    file.write_text("mine")
    monkeypatch.setenv("MEMOIR_HOME", str(file / inside))
    assert main(["list"]) == 1
    assert f"{file / inside / 'bank.db'}: its folder is a file, not a folder" in capsys.readouterr().err
    assert file.read_text() == "mine"


def test_a_folder_in_the_place_of_the_bank_is_told(home, capsys):
    (home / "bank.db").mkdir()
    assert main(["list"]) == 1
    message = capsys.readouterr().err
    assert f"{home / 'bank.db'}: is a folder, not a file. Nothing was changed." in message


@pytest.mark.parametrize("log", [b"", b"what the log holds"])
def test_a_bank_that_was_emptied_is_refused_and_can_be_restored(home, tmp_path, capsys, log):
    bank = seeded(home)
    backup(bank, tmp_path / "kept.db")
    bank.path.write_bytes(b"")
    bank.path.with_name("bank.db-wal").write_bytes(log)
    if not log:
        os.utime(bank.path, (0, 0))
    assert main(["list"]) == 1
    assert f"{bank.path} is empty: it was never completed, or its content was lost." in capsys.readouterr().err
    assert bank.path.with_name("bank.db-wal").read_bytes() == log
    restore(bank, tmp_path / "kept.db")
    assert_unharmed(bank)


def test_a_bank_that_is_emptied_while_it_is_in_use_is_not_begun_anew(home):
    bank = seeded(home)
    for end in ("-wal", "-shm"):
        bank.path.with_name(bank.path.name + end).unlink(missing_ok=True)
    bank.path.write_bytes(b"")
    with pytest.raises(BankUnavailable, match="is empty"):
        bank.personas()
    assert bank.path.stat().st_size == 0


def test_an_empty_file_that_another_process_may_be_filling_becomes_a_bank(home):
    (home / "bank.db").touch()
    assert_unharmed(seeded(home))


def test_a_home_with_a_mistyped_name_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MEMOIR_HOME", str(tmp_path / "mistyped"))
    assert main(["list"]) == 0
    assert f"{tmp_path / 'mistyped' / 'bank.db'}: no persona yet" in capsys.readouterr().out


@pytest.mark.parametrize("command", [*READING, ["import"], ["verify"], ["rebuild"]], ids=lambda c: c[0])
def test_a_bank_of_a_newer_version_is_refused_and_left_alone(home, tmp_path, capsys, command):
    bank = seeded(home)
    with sqlite3.connect(bank.path) as conn:
        conn.execute("PRAGMA user_version = 99")
    conn.close()
    before = bank.path.read_bytes()
    file = [str(history(tmp_path / "h.jsonl", 1))] if command == ["import"] else []
    assert main([*command, *file]) == 1
    assert f"memoir: {bank.path} is a bank of version 99; this Memoir reads up to" in capsys.readouterr().err
    assert bank.path.read_bytes() == before
    with pytest.raises(MemoirError):
        bank.create_persona(PersonaDraft("Zoe"))
    with sqlite3.connect(bank.path) as conn:
        conn.execute(f"PRAGMA user_version = {schema.newest_version()}")
    conn.close()
    assert_unharmed(bank)


def test_what_is_no_bank_is_refused_and_left_alone(home, capsys):
    path = home / "bank.db"
    path.write_bytes(b"Dear diary, " * 1000)
    assert main(["list"]) == 1
    message = capsys.readouterr().err
    assert f"{path}: is not a Memoir bank, or is damaged (file is not a database)" in message
    assert "Check that its disk can be read" in message  # SQLite reports a read error in the same way
    assert path.read_bytes() == b"Dear diary, " * 1000


def test_a_database_of_something_else_is_refused_and_left_alone(home, capsys):
    with sqlite3.connect(home / "bank.db") as conn:
        conn.execute("CREATE TABLE notes (text)")
    conn.close()
    before = (home / "bank.db").read_bytes()
    assert main(["list"]) == 1
    assert f"{home / 'bank.db'} is a database, but not a Memoir bank. Nothing was changed." in capsys.readouterr().err
    assert (home / "bank.db").read_bytes() == before


def test_a_damaged_bank_is_told_and_left_alone(home, tmp_path, capsys):
    bank = seeded(home)
    ingest(bank, history(tmp_path / "h.jsonl", 50))
    content = bytearray(bank.path.read_bytes())
    content[4096 * 3 :] = b"\xff" * (len(content) - 4096 * 3)
    bank.path.write_bytes(content)
    assert main(["import", str(tmp_path / "h.jsonl")]) == 1
    assert (
        f"{bank.path}: is not a Memoir bank, or is damaged (database disk image is malformed)"
        in capsys.readouterr().err
    )
    assert main(["verify"]) == 1


FLIPPED = {
    "UPDATE turns SET text = 'I bought a kbyak.' WHERE id = 1": "turn 1 of session 1: its words or speaker were",
    "UPDATE turns SET speaker = 'Bna' WHERE id = 1": "turn 1 of session 1: its words or speaker were",
    "UPDATE turns SET text = CAST(x'49ff' AS TEXT) WHERE id = 2": "turn 2 of session 1: its words or speaker were",
    "UPDATE sources SET quote = 'kbyak' WHERE quote <> ''": "memory 4: turn 1 does not contain its quote",
    "UPDATE sources SET quote = 'Kayak' WHERE quote <> ''": "memory 4: turn 1 does not contain its quote",
    "UPDATE turns SET said_at = '2024-05-08T13:56:00+00:00' WHERE id = 1": "memory 1: its text, speaker or time was",
    "UPDATE memories SET text = 'I bought a kbyak.' WHERE id = 1": "memory 1: its text, speaker or time was",
    "UPDATE memories SET text = 'Ana lives in Pprto' WHERE id = 3": "memory 3: its text, speaker or time was",
    "UPDATE memories SET text = 'Owns a kbyak' WHERE id = 4": "memory 4: its text, speaker or time was",
}


@pytest.mark.parametrize("flip", FLIPPED)
def test_verify_names_a_letter_that_changed_in_what_was_said(home, capsys, flip):
    bank = seeded(home)
    owns = LearnedMemory(MemoryDraft("profile", "Owns a kayak", said_at=MAY), (Quote(0, "kayak"),))
    kayak = SessionDraft((TurnDraft("Ana", "user", HELD[0]),), MAY, external_id="held", learned=(owns,))
    bank.remember(bank.persona("Iris").id, [kayak])
    assert maintenance.verify(bank, "any") == []
    with bank.writing() as db:
        db.conn.execute(flip)
    assert main(["verify"]) == 1
    assert FLIPPED[flip] in capsys.readouterr().out


def test_verify_knows_the_parts_of_a_long_message(home):
    bank = seeded(home)
    long = " ".join(f"On day {n} we walked to village {n} and slept there." for n in range(80))
    chat = SessionDraft((TurnDraft("Ana", "user", long),), MAY, external_id="long", source="chat")
    bank.remember(bank.persona("Iris").id, [chat])
    assert maintenance.verify(bank, "any") == []
    with bank.writing() as db:
        db.conn.execute("UPDATE memories SET text = replace(text, 'day 3 ', 'day 4 ') WHERE text LIKE '%day 3 %'")
    (fault,) = [fault for fault in maintenance.verify(bank, "any") if "was changed" in fault]
    assert "its text, speaker or time" in fault


def test_verify_lists_faults_of_a_damaged_file_and_never_breaks_off(home, tmp_path):
    bank = seeded(home)
    ingest(bank, history(tmp_path / "h.jsonl", 3))
    whole = bank.path.read_bytes()
    chance = random.Random(18)
    for _ in range(60):
        damaged = bytearray(whole)
        damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        bank.path.write_bytes(damaged)
        with suppress(MemoirError):
            maintenance.verify(bank, "any")


def test_a_damaged_schema_that_sqlite_quotes_is_told(home, tmp_path, capsys):
    bank = seeded(home)
    backup(bank, tmp_path / "kept.db")
    bank.path.write_bytes(bank.path.read_bytes().replace(b"CREATE TABLE", b"CR\xc5ATE TABLE"))
    for command in (["verify"], ["list"], ["restore", str(bank.path)]):
        assert main(command) == 1
        assert f"{bank.path}: is not a Memoir bank, or is damaged" in capsys.readouterr().err
    restore(bank, tmp_path / "kept.db")
    assert_unharmed(bank)


def test_repeated_and_edited_words_are_no_faults(home):
    bank = seeded(home)
    iris = bank.persona("Iris")
    again = tuple(TurnDraft("Ana", "user", "Yes.") for _ in range(3))
    bank.remember(iris.id, [SessionDraft(again, MAY, external_id="yes")])
    forget_memories(bank, iris.id, [next(m.id for m in bank.memories(iris.id) if m.text == "Yes.")])
    for memory in bank.memories(iris.id):
        corrections.edit(bank, replace(memory, text=f"{memory.text} Edited."))
    assert maintenance.verify(bank, "any") == []


def test_a_migration_that_fails_leaves_the_bank_as_it_was(tmp_path, monkeypatch):
    bank = seeded(tmp_path)

    def interrupt(db):
        raise KeyboardInterrupt

    grow = "ALTER TABLE turns ADD COLUMN mood TEXT;\nCREATE VIRTUAL TABLE turns_fts USING fts5 (text);\n"
    monkeypatch.setattr(schema, "MIGRATIONS", {**schema.MIGRATIONS, "grow": grow})
    monkeypatch.setattr(schema, "_AFTERWARDS", {"grow": interrupt})
    with pytest.raises(KeyboardInterrupt):
        bank.personas()
    monkeypatch.undo()
    assert_unharmed(bank)


def test_making_a_bank_that_is_stopped_can_be_done_again(tmp_path, monkeypatch):
    def stopped(db, version):
        upgrade(db, version)
        raise KeyboardInterrupt

    upgrade = schema.upgrade
    monkeypatch.setattr(schema, "upgrade", stopped)
    with pytest.raises(KeyboardInterrupt):
        Bank(tmp_path / "bank.db").personas()
    monkeypatch.undo()
    assert_unharmed(seeded(tmp_path))


def test_waiting_too_long_for_another_writer_is_told(home, tmp_path, monkeypatch, capsys):
    bank = seeded(home)
    path = history(tmp_path / "h.jsonl", 1)
    monkeypatch.setattr(opening, "BUSY_SECONDS", 0.1)
    with Bank(bank.path).writing():
        assert main(["import", str(path)]) == 1
    message = capsys.readouterr().err
    assert f"{bank.path}: another process has been writing for too long (database is locked)" in message
    assert "Nothing from h.jsonl was stored." in message
    assert main(["import", str(path)]) == 0
    assert_unharmed(bank)


def journal_mode(path):
    with closing(sqlite3.connect(path)) as conn:
        return conn.execute("PRAGMA journal_mode").fetchone()[0]


def test_opening_a_new_bank_waits_for_others_that_open_it(tmp_path):
    path = tmp_path / "bank.db"
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        release = threading.Timer(0.5, other.execute, ("COMMIT",))
        release.start()
        assert Bank(path).personas() == []
        release.join()
    assert journal_mode(path) == "wal"


def test_a_bank_in_rollback_mode_becomes_write_ahead(tmp_path):
    bank = seeded(tmp_path)
    with closing(sqlite3.connect(bank.path)) as conn:
        conn.execute("PRAGMA journal_mode = DELETE")
    assert journal_mode(bank.path) == "delete"
    assert [p.name for p in bank.personas()] == ["Iris"]
    assert journal_mode(bank.path) == "wal"
    assert_unharmed(bank)


def test_a_bank_that_is_being_written_is_never_read_without_locks(tmp_path, monkeypatch):
    bank = seeded(tmp_path)
    monkeypatch.setattr(opening, "BUSY_SECONDS", 0.1)
    with closing(sqlite3.connect(bank.path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(BankUnavailable, match="database is locked"):
            bank.personas()


def test_stopping_an_import_by_hand_leaves_whole_sessions(home, tmp_path, monkeypatch, capsys):
    bank = seeded(home)
    path = history(tmp_path / "h.jsonl", 100)
    monkeypatch.setattr(ingesting, "BATCH_TURNS", 200)
    add = ingesting._BatchWriter.add

    def add_some(self, record_of, record):
        if record_of.sessions == 55:
            raise KeyboardInterrupt
        add(self, record_of, record)

    with monkeypatch.context() as patch:
        patch.setattr(ingesting._BatchWriter, "add", add_some)
        assert main(["import", str(path)]) == INTERRUPTED
    assert "memoir: Interrupted. What was stored before is kept" in capsys.readouterr().err
    assert bank.counts(bank.persona("Zoe").id) == {"sessions": 50, "turns": 1000, "dialogue": 1000}
    assert_unharmed(bank)
    assert main(["import", str(path)]) == 0
    assert bank.counts(bank.persona("Zoe").id) == {"sessions": 100, "turns": 2000, "dialogue": 2000}


def test_forgetting_a_persona_during_its_import_is_told(home, tmp_path, monkeypatch):
    bank = seeded(home)
    path = history(tmp_path / "h.jsonl", 30)
    monkeypatch.setattr(ingesting, "BATCH_TURNS", 200)

    def forget(share):
        if share > 0.6:
            with bank.writing() as db:
                db.conn.execute("DELETE FROM personas WHERE name = 'Zoe'")

    with pytest.raises(MemoirError, match=r"nothing was stored\. \d+ turns in whole sessions"):
        ingest(bank, path, progress=forget)
    assert_unharmed(bank)


def test_reading_goes_on_while_another_writes(home, tmp_path):
    bank = seeded(home)
    path = history(tmp_path / "h.jsonl", 300)
    writer = threading.Thread(target=ingest, args=(bank, path))
    writer.start()
    seen = []
    while writer.is_alive():
        seen.append(sum(bank.counts(p.id)["turns"] for p in bank.personas()))
        assert_unharmed(bank)
    writer.join()
    assert seen == sorted(seen)
    assert {n % 20 for n in seen} == {2}


def test_an_import_keeps_a_chat_waiting_for_no_more_than_some_hundred_turns(home, tmp_path):
    bank = seeded(home)
    ingest(bank, history(tmp_path / "h.jsonl", 60))
    batches = [entry.counts.get("turns", 0) for entry in journal.read(bank) if entry.persona == "Zoe"]
    assert sum(batches) == 1200
    assert max(batches) <= 500


def test_a_refusal_of_the_bank_itself_is_told(home, tmp_path):
    bank = seeded(home)
    with bank.writing() as db:
        db.conn.execute("CREATE TRIGGER no_more BEFORE INSERT ON turns BEGIN SELECT RAISE(ABORT, 'no more turns'); END")
    with pytest.raises(BankUnavailable, match=r"breaks a rule of the bank \(no more turns\); none of it was stored"):
        ingest(bank, history(tmp_path / "h.jsonl", 1))
    assert bank.counts(bank.persona("Zoe").id) == {"sessions": 0, "turns": 0}
    assert maintenance.verify(bank, "any") == ["trigger no_more: no Memoir made it; restore a backup"]
    with bank.writing() as db:
        db.conn.execute("DROP TRIGGER no_more")
    assert_unharmed(bank)


def test_exporting_to_where_nothing_can_be_written_is_told(home, tmp_path, capsys):
    seeded(home)
    target = tmp_path / "missing" / "iris.jsonl"
    assert main(["export", "--persona", "Iris", "--output", str(target)]) == 1
    assert f"memoir: {target}: not written (No such file or directory)" in capsys.readouterr().err


def test_an_import_that_stored_all_agrees_with_its_report(home, tmp_path):
    bank = seeded(home)
    report = ingest(bank, history(tmp_path / "h.jsonl", 30))
    assert_true_report(bank, report)
    assert_unharmed(bank)
