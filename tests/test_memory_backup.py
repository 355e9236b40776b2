"""A backup is one moment of the bank, whoever writes; restoring gives that moment back and keeps what was there."""

import errno
import os
import sqlite3
import tempfile
import threading
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory.__main__ import main
from memory.bank import backup as backups
from memory.bank import connection, schema
from memory.bank.backup import backup, restore
from memory.bank.bank import Bank
from memory.bank.maintenance import verify
from memory.bank.unfinished import delete_unfinished, publish_new
from memory.embedding.embedder import DEFAULT_MODEL
from memory.errors import BankUnavailable, MemoirError, UnreadableFile
from memory.exporting.export import write_export
from memory.forgetting.forget import forget_memories
from memory.search import indexer
from memory.search.engine import segments
from memory.search.searcher import Searcher
from memory.types import PersonaDraft, SessionDraft, TurnDraft
from support.killed import kill_at
from support.small_disk import NoDisk, leave_free, small_disk

MAY = datetime(2023, 5, 8, tzinfo=UTC)


def tell(bank, *texts, name="a"):
    turns = tuple(TurnDraft("Ana", "user", text) for text in texts)
    bank.remember(1, [SessionDraft(turns, MAY, external_id=name)])


def texts(bank):
    return {m.text for p in bank.personas() for m in bank.memories(p.id)}


@pytest.fixture
def bank(tmp_path):
    bank = Bank(tmp_path / "home" / "bank.db")
    bank.create_persona(PersonaDraft("Ana"))
    tell(bank, "We painted the kitchen yellow.")
    return bank


@pytest.fixture
def kept(bank, tmp_path):
    backup(bank, tmp_path / "kept.db")
    return tmp_path / "kept.db"


@pytest.fixture
def disk(tmp_path):
    """A disk of 16 MB."""
    try:
        with small_disk(tmp_path / "disk", 16) as folder:
            yield folder
    except NoDisk as reason:
        pytest.skip(str(reason))


def files(folder):
    return sorted(p.name for p in folder.iterdir())


def test_a_backup_is_one_file_that_holds_what_the_bank_held(bank, kept, tmp_path):
    tell(bank, "Later.", name="b")
    assert files(tmp_path) == ["home", "kept.db"]
    assert texts(Bank(kept)) == {"We painted the kitchen yellow."}


def test_what_is_restored_is_what_was_and_what_was_there_is_kept_beside(bank, kept):
    tell(bank, "Later.", name="b")
    summary, before = restore(bank, kept)
    assert texts(bank) == {"We painted the kitchen yellow."}
    assert (summary.sessions, before) == (1, bank.path.with_name("bank.db.before-restore"))
    assert texts(Bank(before)) == {"We painted the kitchen yellow.", "Later."}
    assert restore(bank, before)[1] == bank.path.with_name("bank.db.before-restore-2")
    assert "Later." in texts(bank)


def test_a_bank_that_is_not_there_is_restored(tmp_path, kept):
    other = Bank(tmp_path / "elsewhere" / "bank.db")
    assert restore(other, kept)[1] is None
    assert texts(other) == {"We painted the kitchen yellow."}


def test_an_open_search_sees_what_was_restored(bank, kept, embedder):
    searcher = Searcher(bank, embedder)

    def found():
        indexer.embed_all(bank, embedder)
        return {h.memory.text for h in searcher.search(1, searcher.views(["kitchen"]), datetime.now(UTC))}

    tell(bank, "The kitchen is red now.", name="b")
    assert "The kitchen is red now." in found()
    restore(bank, kept)
    tell(bank, "The kitchen has a window.", name="c")
    assert found() == {"We painted the kitchen yellow.", "The kitchen has a window."}


def test_a_backup_taken_while_others_write_is_whole(bank, tmp_path):
    stop = threading.Event()

    def write():
        writer, number = Bank(bank.path), 0
        while not stop.is_set():
            tell(writer, f"one {number}", f"two {number}", name=f"w{number}")
            number += 1

    writing = threading.Thread(target=write)
    writing.start()
    try:
        held = [backup(bank, tmp_path / f"{n}.db") for n in range(5)]
    finally:
        stop.set()
        writing.join()
    assert all(h.turns == 2 * h.sessions - 1 == h.memories for h in held)


def test_no_file_is_overwritten(bank, tmp_path):
    file = tmp_path / "mine.txt"
    file.write_text("mine")
    with pytest.raises(MemoirError, match=r"mine\.txt already exists"):
        backup(bank, file)
    assert file.read_text() == "mine"


def test_a_backup_that_fails_leaves_nothing(bank, tmp_path, monkeypatch):
    def breaks(*_):
        raise UnreadableFile("damaged")

    monkeypatch.setattr(backups, "inspect", breaks)
    with pytest.raises(UnreadableFile):
        backup(bank, tmp_path / "kept.db")
    with pytest.raises(MemoirError, match="not written"):
        backup(bank, tmp_path / "nowhere" / "kept.db")
    assert files(tmp_path) == ["home"]


def harmed(kept, how):
    if how == "missing":
        kept.unlink()
    elif how == "cut off":
        kept.write_bytes(kept.read_bytes()[:20_000])
    elif how == "text":
        kept.write_bytes(b"Dear diary, " * 500)
    elif how == "empty":
        kept.write_bytes(b"")
    else:
        with closing(sqlite3.connect(kept)) as conn, conn:
            if how == "newer":
                conn.execute("PRAGMA user_version = 99")
            elif how == "another database":
                conn.execute("PRAGMA user_version = 0")
            else:
                conn.execute("PRAGMA foreign_keys = OFF")
                conn.execute("DELETE FROM sessions")
    return kept


@pytest.mark.parametrize(
    "how", ["missing", "cut off", "text", "empty", "another database", "rows that point nowhere", "newer"]
)
def test_what_is_no_whole_bank_is_refused_and_nothing_is_changed(bank, kept, how):
    tell(bank, "Later.", name="b")
    before = texts(bank)
    with pytest.raises(MemoirError if how == "newer" else UnreadableFile, match="kept"):
        restore(bank, harmed(kept, how))
    assert texts(bank) == before
    assert files(bank.path.parent) == ["bank.db"]


POISON = {
    "a trigger that ignores deletes": "CREATE TRIGGER stay BEFORE DELETE ON turns BEGIN SELECT raise(IGNORE); END",
    "a trigger that copies": "CREATE TABLE copies (text); CREATE TRIGGER copy AFTER INSERT ON turns BEGIN"
    " INSERT INTO copies VALUES (new.text); END",
    "a trigger that rewrites": "CREATE TRIGGER rewrite AFTER INSERT ON turns BEGIN"
    " UPDATE turns SET text = 'I never said it' WHERE id = new.id; END",
    "one of ours with another body": "DROP TRIGGER memories_gone; CREATE TRIGGER memories_gone AFTER DELETE ON memories"
    " BEGIN DELETE FROM personas; END",
    "an endless view": "ALTER TABLE turns RENAME TO hidden; CREATE VIEW turns AS"
    " WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id FROM n",
    "a table of its own": "CREATE TABLE notes (text)",
    "a column more": "ALTER TABLE turns ADD COLUMN copy TEXT GENERATED ALWAYS AS (text) VIRTUAL",
    "a rule more": "PRAGMA writable_schema = ON; UPDATE sqlite_master SET sql = replace(sql,"
    " 'UNIQUE (session_id, identity)', 'UNIQUE (session_id, identity), CHECK (length(randomblob(9)) > 0)')"
    " WHERE name = 'turns'",
}

LACKING = {
    "without a trigger": ("DROP TRIGGER memories_gone", "trigger memories_gone is missing"),
    "without an index": ("DROP INDEX memories_persona", "index memories_persona is missing"),
    "with a text changed": ("UPDATE turns SET text = 'I never said it'", "turns 1"),
    "with a long name": ("UPDATE personas SET name = hex(zeroblob(100000))", "personas 1"),
}


@pytest.mark.parametrize("poison", POISON.values(), ids=POISON)
def test_a_backup_that_holds_more_than_a_bank_is_refused(bank, kept, poison):
    with closing(sqlite3.connect(kept)) as conn:
        conn.executescript(poison)
    with pytest.raises(UnreadableFile, match="holds what no Memoir made"):
        restore(bank, kept)
    assert texts(bank) == {"We painted the kitchen yellow."}
    assert files(bank.path.parent) == ["bank.db"]


@pytest.mark.parametrize(("change", "named"), LACKING.values(), ids=LACKING)
def test_a_backup_that_lacks_a_part_or_was_changed_is_refused(bank, kept, change, named):
    with closing(sqlite3.connect(kept)) as conn, conn:
        conn.execute(change)
    with pytest.raises(UnreadableFile, match=named):
        restore(bank, kept)
    assert texts(bank) == {"We painted the kitchen yellow."}
    assert files(bank.path.parent) == ["bank.db"]
    if "missing" in named:
        assert any(f"{named.replace(' is', ': is')}" in fault for fault in verify(Bank(kept), "any"))


def test_a_file_chooses_no_chat_model_and_no_embedding_model_that_is_not_installed(bank, kept):
    bank.choose("chat_model", "mine")
    for model, chosen in (("/etc", ""), (DEFAULT_MODEL, DEFAULT_MODEL)):
        Bank(kept).choose("embedding_model", model)
        Bank(kept).choose("chat_model", "http://127.0.0.1:9/v1#theirs")
        restore(bank, kept)
        assert (bank.choice("embedding_model", ""), bank.choice("chat_model", "")) == (chosen, "mine")


def test_derived_data_of_a_file_is_not_taken_on_trust(bank, kept, embedder):
    with Bank(kept).writing() as db:
        vectors = [("x", b"abcd"), ("y", b"abcd"), ("z", bytes(9))]
        db.conn.executemany("INSERT INTO vectors (model, key_hash, vector) VALUES ('a', ?, ?)", vectors)
        db.conn.execute(
            "INSERT INTO segments (persona_id, kind, first_id, last_id, size, payload) VALUES (1, ?, 1, 1, 1, x'80')",
            (segments.kind(embedder.model),),
        )
    restore(bank, kept)
    with bank.reading() as db:
        assert db.conn.execute("SELECT count(*), max(length(vector)) FROM vectors").fetchone() == (2, 4)
        assert db.conn.execute("SELECT count(*) FROM segments").fetchone() == (0,)


def test_an_open_search_sees_that_another_file_took_the_bank_s_place(bank, tmp_path, embedder):
    other = Bank(tmp_path / "other.db")
    other.create_persona(PersonaDraft("Ana"))
    for number in range(3):
        tell(other, f"My boat is moored at pier {number}.", name=f"b{number}")
    searcher = Searcher(bank, embedder)
    for name in "bcdefgh":
        tell(bank, f"Later {name}.", name=name)
    assert len(searcher.search(1, searcher.views(["later"]), datetime.now(UTC))) == 7
    backup(other, tmp_path / "copy.db")
    for end in ("", "-wal", "-shm"):
        bank.path.with_name(f"bank.db{end}").unlink(missing_ok=True)
    (tmp_path / "copy.db").rename(bank.path)
    found = searcher.search(1, searcher.views(["boat"]), datetime.now(UTC))
    assert {hit.memory.text for hit in found} == texts(other)


def test_a_restore_that_breaks_off_leaves_the_bank_as_it_was(bank, kept, monkeypatch):
    tell(bank, "Later.", name="b")

    def breaks(self):
        raise OSError("the disk is full")

    monkeypatch.setattr(Bank, "replacing", breaks)
    with pytest.raises(BankUnavailable, match=r"full.*It was left as it was"):
        restore(bank, kept)
    assert "Later." in texts(bank)
    assert files(bank.path.parent) == ["bank.db", "bank.db.before-restore"]


def test_a_damaged_bank_is_set_aside_and_replaced(bank, kept):
    bank.path.write_bytes(b"damaged " * 1000)
    _, before = restore(bank, kept)
    assert texts(bank) == {"We painted the kitchen yellow."}
    assert before.read_bytes() == b"damaged " * 1000


def fail(*_, **__):
    raise OSError(errno.EIO, "Input/output error")


@contextmanager
def fail_midway(self):
    fail()
    yield


STEPS = ["_adapt", "open_bank", "inspect", "replacing", "record", "mkdir", "mkstemp"]


# That a bank is damaged shows as it is copied; it is then moved instead.
@pytest.mark.parametrize(
    ("step", "damaged"),
    [*((step, False) for step in [*STEPS, "_copy", "link"]), *((step, True) for step in [*STEPS, "replace"])],
)
def test_a_restore_that_fails_at_any_step_leaves_the_bank_in_its_place(bank, kept, monkeypatch, step, damaged):
    tell(bank, "Later.", name="b")
    if damaged:
        bank.path.write_bytes(b"damaged " * 1000)
    before = bank.path.read_bytes()
    if step == "inspect":
        looks = iter([backups.inspect(kept)])
        monkeypatch.setattr(backups, "inspect", lambda *_, **__: next(looks, None) or fail())
    elif step == "replacing":
        monkeypatch.setattr(Bank, "replacing", fail_midway)
    elif step == "record":
        monkeypatch.setattr(backups.journal, "record", fail)
    elif step in ("replace", "mkdir"):
        monkeypatch.setattr(Path, step, fail)
    elif step == "link":
        monkeypatch.setattr(os, step, fail)
    elif step == "mkstemp":
        monkeypatch.setattr(tempfile, step, fail)
    else:
        monkeypatch.setattr(backups, step, fail)
    with pytest.raises(BankUnavailable, match="Input/output error"):
        restore(bank, kept)
    monkeypatch.undo()
    assert bank.path.read_bytes() == before
    assert set(files(bank.path.parent)) <= {"bank.db", "bank.db.before-restore"}
    if not damaged:
        assert "Later." in texts(bank)
    restore(bank, kept)
    assert texts(bank) == {"We painted the kitchen yellow."}


def kill(call, bank, file, at):
    """Back up or restore in a process that is killed when it comes to a function."""
    code = "from memory.bank import backup\nfrom memory.bank.bank import Bank\n"
    code += f"backup.{call}(Bank(Path({str(bank.path)!r})), Path({str(file)!r}))"
    kill_at(at if at.startswith("memory.") else f"memory.bank.backup.{at}", code)


@pytest.mark.parametrize("at", ["_copy", "inspect", "publish_new"])
def test_a_backup_that_is_killed_leaves_the_name_free_and_can_be_done_again(bank, tmp_path, at):
    file = tmp_path / "kept.db"
    kill("backup", bank, file, at)
    assert not file.exists()
    backup(bank, file)
    assert texts(Bank(file)) == {"We painted the kitchen yellow."}
    assert files(tmp_path) == ["home", "kept.db"]


def test_a_backup_that_is_killed_once_it_has_its_name_is_there_under_no_other(bank, tmp_path):
    file = tmp_path / "kept.db"
    kill("backup", bank, file, "memory.bank.unfinished.sync_folder")
    with pytest.raises(MemoirError, match="already exists"):
        backup(bank, file)
    assert files(tmp_path) == ["home", "kept.db"]
    assert texts(Bank(file)) == texts(bank)


def test_what_a_killed_backup_left_is_deleted_by_the_next_of_any_name_or_a_start(bank, tmp_path):
    kill("backup", bank, tmp_path / "monday.db", "inspect")
    (left,) = tmp_path.glob(".monday.db.*.half")
    backup(bank, tmp_path / "tuesday.db")
    assert left.exists()  # it may still be being written
    os.utime(left, (0, 0))
    backup(bank, tmp_path / "wednesday.db")
    assert files(tmp_path) == ["home", "tuesday.db", "wednesday.db"]
    beside = bank.path.with_name(".bank.db.abcd1234.half")
    beside.touch()
    os.utime(beside, (0, 0))
    assert Bank(bank.path).personas()
    assert not beside.exists()


@pytest.mark.parametrize("at", ["_adapt", "inspect", "_copy", "publish_new", "Bank.replacing"])
def test_a_restore_that_is_killed_leaves_the_bank_and_no_copy_after_forgetting(bank, kept, at):
    tell(bank, "Later.", name="b")
    kill("restore", bank, kept, at)
    assert "Later." in texts(bank)
    kept_before = {"bank.db.before-restore"} if at == "Bank.replacing" else set()
    assert {name for name in files(bank.path.parent) if not name.startswith(".")} == {"bank.db", *kept_before}
    (kitchen,) = (m.id for m in bank.memories(1) if "kitchen" in m.text)
    report = forget_memories(bank, 1, [kitchen])
    assert {path.name for path in report.copies} == kept_before
    words = b"We painted the kitchen yellow."
    assert {path.name for path in bank.path.parent.iterdir() if words in path.read_bytes()} == kept_before
    assert report.residue == 0


def test_a_restore_after_a_killed_one_deletes_what_that_left(bank, kept):
    kill("restore", bank, kept, "_adapt")
    (bank.path.parent / ".bank.db.half").write_bytes(kept.read_bytes())  # the name that earlier versions used
    restore(bank, kept)
    assert files(bank.path.parent) == ["bank.db", "bank.db.before-restore"]


def test_a_restore_whose_new_file_is_deleted_meanwhile_keeps_the_bank(bank, kept, monkeypatch):
    tell(bank, "Later.", name="b")
    opened = backups.open_bank

    def forget_first(path, **how):
        delete_unfinished(bank.path.parent)
        return opened(path, **how)

    monkeypatch.setattr(backups, "open_bank", forget_first)
    with pytest.raises(BankUnavailable, match="left as it was"):
        restore(bank, kept)
    assert "Later." in texts(bank)


def test_a_backup_to_a_disk_without_links_replaces_nothing(bank, tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    backup(bank, tmp_path / "kept.db")
    assert files(tmp_path) == ["home", "kept.db"]
    with pytest.raises(FileExistsError):
        publish_new(bank.path, tmp_path / "kept.db")
    assert texts(Bank(tmp_path / "kept.db")) == texts(bank)


def test_an_export_is_on_the_disk_before_it_takes_the_place_of_another(bank, tmp_path, monkeypatch):
    done = []
    sync, replace = os.fsync, Path.replace
    monkeypatch.setattr(os, "fsync", lambda file: done.append("sync") or sync(file))
    monkeypatch.setattr(Path, "replace", lambda *names: done.append("replace") or replace(*names))
    write_export(bank, bank.personas(), tmp_path / "ana.jsonl")
    assert done == ["sync", "replace", "sync"]  # the file, its name, the folder


def test_a_bank_that_cannot_be_copied_for_now_is_not_taken_for_damaged(bank, kept, monkeypatch):
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.1)
    with closing(sqlite3.connect(bank.path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(BankUnavailable, match="writing for too long"):
            restore(bank, kept)
    assert files(bank.path.parent) == ["bank.db"]


def test_a_restore_on_a_disk_that_fills_up_keeps_the_bank(bank, kept, disk):
    small = Bank(disk / "bank.db")
    restore(small, kept)
    tell(small, "Later.", *(f"line {n} " + "and so on " * 300 for n in range(100)), name="b")
    size = small.path.stat().st_size
    outcomes = set()
    for free in range(0, 4 * size, 128 << 10):
        filling = leave_free(disk, free)
        try:
            restore(small, kept)
            outcomes.add("restored")
        except BankUnavailable as fault:
            outcomes.add("the disk is full" if "the disk is full" in str(fault) else str(fault))
        filling.unlink()
        assert ("Later." in texts(small)) == ("restored" not in outcomes)
        assert not [name for name in files(disk) if "half" in name]
        if "restored" in outcomes:
            break
    assert outcomes == {"the disk is full", "restored"}


def test_a_backup_onto_a_full_disk_says_so(bank, disk):
    leave_free(disk, 0)
    with pytest.raises(BankUnavailable, match="disk is full"):
        backup(bank, disk / "kept.db")
    assert files(disk) == ["filling"]


def test_a_backup_of_an_earlier_version_is_brought_up_to_date_in_the_bank_only(bank, kept, monkeypatch):
    old = kept.with_name("old.db")
    earlier = Bank(old)
    with earlier.writing() as db:
        db.execute("INSERT INTO personas (name, created_at) VALUES ('Zoe', '2023-05-08T00:00:00+00:00')")
    monkeypatch.setattr(
        schema, "MIGRATIONS", {**schema.MIGRATIONS, "mood": "ALTER TABLE turns ADD COLUMN mood TEXT;\n"}
    )
    held = old.read_bytes()
    restore(bank, old)
    assert [p.name for p in bank.personas()] == ["Zoe"]
    assert old.read_bytes() == held


def test_the_commands_say_what_they_did(bank, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MEMOIR_HOME", str(bank.path.parent))
    assert main(["backup", str(tmp_path / "b.db")]) == 0
    assert "1 persona, 1 session, 1 turn, 1 memory; checked" in capsys.readouterr().out
    assert main(["backup", str(tmp_path / "b.db")]) == 1
    assert "already exists" in capsys.readouterr().err
    assert main(["restore", str(tmp_path / "b.db")]) == 0
    assert "bank.db.before-restore" in capsys.readouterr().out
