"""A changed bit is found: each row that is not derived has a digest of all its columns, kept by each change."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.bank import corrections, schema
from memory.bank.backup import backup, restore
from memory.bank.bank import Bank
from memory.bank.connection import REFUSALS
from memory.bank.maintenance import MAX_REPEATS, rebuild, verify
from memory.bank.queries.chats import change_chat
from memory.forgetting.forget import forget_memories
from memory.types import LearnedMemory, MemoryDraft, PersonaDraft, Quote, SessionDraft, TimeSpan, TurnDraft

MAY = datetime(2023, 5, 8, 10, 30, tzinfo=UTC)
COLUMNS = [(table, column) for table in schema.DIGESTED for column in (*schema.COLUMNS[table], "digest")]


def home(place, at, **of_fact):
    draft = MemoryDraft("profile", f"Lives in {place}", said_at=at, attribute="home", speaker="You")
    return LearnedMemory(draft, (Quote(0, f"live in {place}"),), **of_fact)


def tell(bank, who, place, day, *learned):
    at = MAY + timedelta(days=day)
    turns = (
        TurnDraft("You", "user", f"I live in {place}.", at, external_id=f"t{day}"),
        TurnDraft("Iris", "assistant", "Really?", at, recallable=False, cites=[m.id for m in bank.memories(who)][:2]),
    )
    session = SessionDraft(turns, at, "in May", f"s{day}", f"About {place}", "chat", (home(place, at), *learned))
    bank.remember(who, [session])
    return next(m for m in bank.memories(who) if m.text == f"Lives in {place}")


@pytest.fixture(scope="module")
def lived(tmp_path_factory):
    """A bank with rows in each of the tables."""
    bank = Bank(tmp_path_factory.mktemp("digests") / "bank.db")
    card = {"scenario": "A garden.", "first_message": "Hello.", "examples": "Bo: hi", "picture": "data:image/png,x"}
    bank.create_persona(PersonaDraft("Iris", "iris-1", "Gardens.", ("dry", "kind"), "terse", **card))
    trip = MemoryDraft("event", "A trip to Rome", "Rome", TimeSpan(MAY, MAY + timedelta(hours=3)), "last May", MAY)
    near = LearnedMemory(MemoryDraft("world", "Porto is near", said_at=MAY), (Quote(1, "Really"),), depends_on=(0,))
    tell(bank, 1, "Porto", 1, near, LearnedMemory(trip, (Quote(0, "Porto"),)))
    corrections.edit(bank, replace(tell(bank, 1, "Lisbon", 2), text="Lives in Lisboa"))
    corrections.pin(bank, 1, bank.memories(1, store="event")[0].id, pinned=True)
    bank.choose("embedding_model", "one")
    bank.choose("embedding_model", "any")
    assert verify(bank, "any") == []
    return bank


@pytest.fixture
def bank(lived, tmp_path):
    return copy_of(lived, tmp_path / "bank.db")


def copy_of(bank, path):
    with raw(bank) as conn:
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    path.write_bytes(bank.path.read_bytes())
    return Bank(path)


def raw(bank):
    """A connection that is not the bank's: what it writes is as if the disk had."""
    return closing(sqlite3.connect(bank.path, isolation_level=None))


def flipped(column, value, chance):
    """The value with one bit changed; where there is none, another one."""
    if isinstance(value, int):
        return value ^ 1 << chance.draw(st.integers(8, 40))
    if value is None and column.endswith(("_by", "_id")):
        return 1 << 40
    if not value:
        return b"x"
    content = bytearray(value.encode())
    content[chance.draw(st.integers(0, len(content) - 1))] ^= 1 << chance.draw(st.integers(0, 7))
    return bytes(content)


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_a_bit_that_changes_in_any_column_is_found(lived, tmp_path, table, column):
    key = schema._key_of(table)

    @settings(max_examples=3, deadline=None)
    @given(st.data())
    def flip(chance):
        bank = copy_of(lived, tmp_path / "bank.db")
        with raw(bank) as conn:
            conn.execute("PRAGMA ignore_check_constraints = ON")
            conn.execute("PRAGMA synchronous = OFF")
            for (trigger,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                conn.execute(f"DROP TRIGGER {trigger}")  # a disk sets none off
            rows = conn.execute(f"SELECT {column}, {', '.join(key)} FROM {table}").fetchall()
            value, *ids = chance.draw(st.sampled_from(rows))
            changed = flipped(column, value, chance)
            cast = "CAST(? AS TEXT)" if isinstance(changed, bytes) else "?"
            where = " AND ".join(f"{name} = ?" for name in key)
            conn.execute(f"UPDATE {table} SET {column} = {cast} WHERE {where}", (changed, *ids))
        named = f"{table} {', '.join(map(str, ids))}:"
        faults = [fault for fault in verify(bank, "any") if REFUSALS["value"] in fault or REFUSALS["revision"] in fault]
        assert len(faults) == 1
        assert column in key or faults[0].startswith(named)

    flip()


def test_every_table_has_digests_but_those_that_are_derived(lived):
    with lived.reading() as db:
        others = {"vectors", "segments", "sqlite_sequence", "sqlite_stat1"}
        assert set(db.table_names()) - others == set(schema.DIGESTED)


def test_a_digest_is_the_same_everywhere(lived):
    """What other versions of SQLite and Python make of a row is what these do."""
    with lived.reading() as db:
        schema.keep_digests(db.conn)
        values = "NULL, 7, 'O''Hara \"said\" \\ no\n', char(7, 31, 127, 233, 128512)"
        (digest,) = db.conn.execute(f"SELECT row_digest(CAST(json_array({values}) AS BLOB))").fetchone()
    assert digest == -8830397569577951439


CHANGES = {
    "rename": lambda bank: bank.change_persona(1, name="Ida"),
    "card": lambda bank: bank.change_persona(1, description="a", scenario="b", first_message="c", examples="d"),
    "apart": lambda bank: bank.change_persona(1, kept_apart=True),
    "title": lambda bank: change_chat(bank, bank.sessions(1)[0], title="Other"),
    "continued": lambda bank: tell(bank, 1, "Porto", 3),
    "wrong": lambda bank: corrections.mark_wrong(bank, 1, bank.memories(1, store="world")[0].id),
    "undo": lambda bank: [corrections.undo(bank, 1) for _ in range(2)],
    "merge": lambda bank: corrections.merge(bank, 1, *_two(bank)),
    "forget": lambda bank: forget_memories(bank, 1, [_superseding(bank)]),
    "rebuild": rebuild,
}


def _two(bank):
    first, second, *_ = [m.id for m in bank.memories(1, store="dialogue")]
    return first, [second]


def _superseding(bank):
    return next(m.superseded_by for m in bank.memories(1) if m.superseded_by and m.retracted_at is None)


@pytest.mark.parametrize("change", CHANGES)
def test_what_memoir_changes_has_true_digests(bank, change):
    CHANGES[change](bank)
    assert verify(bank, "any") == []


def test_a_link_that_is_emptied_because_its_memory_went_has_a_true_digest(bank):
    with bank.writing() as db:
        db.conn.execute("DELETE FROM memories WHERE id IN (SELECT superseded_by FROM memories)")
    assert verify(bank, "any") == []


def test_a_backup_of_before_there_were_digests_has_true_ones(bank, tmp_path):
    with raw(bank) as conn:
        for table in schema.DIGESTED:
            conn.execute(f"ALTER TABLE {table} DROP COLUMN digest")
        conn.execute("ALTER TABLE turns DROP COLUMN unsupported")
        before = schema.FIRST_VERSION + list(schema.MIGRATIONS).index("digests")
        conn.execute(f"PRAGMA user_version = {before}")
    other = Bank(tmp_path / "other.db")
    restore(other, bank.path)
    assert verify(other, "any") == verify(bank, "any") == []
    tell(other, 1, "Rome", 3)
    backup(other, tmp_path / "copy.db")
    assert verify(Bank(tmp_path / "copy.db"), "any") == []


def test_a_memory_that_something_else_deletes_is_missed_until_what_is_left_is_kept(bank):
    with raw(bank) as conn:
        conn.execute("PRAGMA foreign_keys = ON")
        conn.execute("DELETE FROM memories WHERE store = 'event'")
    bank.choose("embedding_model", "other")
    assert verify(bank, "any") == [f"revision 1: {REFUSALS['revision']}"]
    rebuild(bank)
    assert verify(bank, "any") == []


def test_a_change_does_not_make_a_damaged_row_look_whole(bank):
    fact = bank.memories(1, store="event")[0].id
    with raw(bank) as conn:
        conn.execute("UPDATE memories SET emotion = 'x' WHERE id = ?", (fact,))
    corrections.pin(bank, 1, fact, pinned=False)
    assert [fault.partition(":")[0] for fault in verify(bank, "any")] == [f"memories {fact}", "revision 1"]


def test_a_thousand_turns_that_say_the_same_are_all_verified(tmp_path):
    bank = Bank(tmp_path / "bank.db")
    persona = bank.create_persona(PersonaDraft("Echo"))
    said = tuple(TurnDraft("Ann", "user", "Again.", MAY) for _ in range(MAX_REPEATS + 20))
    bank.remember(persona.id, [SessionDraft(said, MAY, MAY.isoformat(), "s1")])
    assert bank.counts(persona.id)["turns"] == len(said)
    assert verify(bank, "any") == []
    with bank.writing() as db:
        db.conn.execute("UPDATE turns SET text = 'Never.' WHERE id = (SELECT max(id) FROM turns)")
    assert any("its words or speaker were changed" in fault for fault in verify(bank, "any"))
