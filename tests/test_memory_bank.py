"""What the bank promises: whole or nothing, nothing twice, nothing overwritten, nobody else's."""

import sqlite3
import threading
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.bank import facts as knowing
from memory.bank import maintenance, schema
from memory.bank.bank import Bank
from memory.errors import BankUnavailable, MemoirError, UnknownMemory
from memory.types import (
    LearnedMemory,
    MemoryDraft,
    PersonaDraft,
    Quote,
    Relation,
    SessionDraft,
    TimeSpan,
    TurnDraft,
    WriteCounts,
)

MAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def turn(text, speaker="Ana", **more):
    return TurnDraft(speaker, "user", text, **more)


def session(*texts, external_id="s1", started_at=MAY):
    return SessionDraft(tuple(turn(t) for t in texts), started_at, "8 May 2023", external_id)


@pytest.fixture
def bank(tmp_path):
    return Bank(tmp_path / "bank.db")


@pytest.fixture
def ana(bank):
    return bank.create_persona(PersonaDraft("Ana", "ana-1"))


def test_a_session_is_kept_with_its_turns_and_a_memory_for_each(bank, ana):
    stored = bank.remember(ana.id, [session("I bought a kayak.", "It is red.")])
    assert stored == WriteCounts(sessions=1, turns=2, memories=2)
    kept = bank.sessions(ana.id)[0]
    assert (kept.started_at, kept.started_text, kept.turn_count) == (MAY, "8 May 2023", 2)
    assert [t.text for t in bank.turns(ana.id, kept.id)] == ["I bought a kayak.", "It is red."]
    memory = bank.memories(ana.id)[-1]
    assert [t.text for t in bank.sources(ana.id, memory.id)] == [memory.text]
    assert memory.said_at == MAY


def test_remembering_twice_adds_nothing(bank, ana):
    draft = session("I bought a kayak.", "Yes.", "Yes.")
    bank.remember(ana.id, [draft])
    assert bank.remember(ana.id, [draft]) == WriteCounts(known_turns=3)
    assert bank.counts(ana.id) == {"sessions": 1, "turns": 3, "dialogue": 3}


def test_a_session_that_grew_is_given_the_turns_it_lacks(bank, ana):
    bank.remember(ana.id, [session("One.", "Two.")])
    assert bank.remember(ana.id, [session("One.", "Two.", "Three.")]).turns == 1
    assert [t.position for t in bank.turns(ana.id, 1)] == [0, 1, 2]


def test_a_turn_that_is_not_recallable_stays_in_the_session_only(bank, ana):
    bank.remember(ana.id, [SessionDraft((turn("When was it?", recallable=False),), MAY)])
    assert bank.counts(ana.id) == {"sessions": 1, "turns": 1}


def test_a_later_fact_closes_the_earlier_and_both_are_kept(bank, ana):
    def lives(where, days):
        return MemoryDraft("profile", f"Lives in {where}", said_at=MAY + timedelta(days=days), attribute="home")

    bank.add_memories(ana.id, [lives("Porto", 0), lives("Lisbon", 30)])
    lisbon, porto = bank.memories(ana.id)
    assert (porto.valid_to, porto.superseded_by) == (MAY + timedelta(days=30), lisbon.id)
    assert lisbon.valid_to is None


def test_an_earlier_fact_that_comes_later_does_not_reopen_the_past(bank, ana):
    new = MemoryDraft("profile", "Lives in Lisbon", said_at=MAY, attribute="home")
    old = MemoryDraft("profile", "Lives in Porto", said_at=MAY - timedelta(days=90), attribute="home")
    bank.add_memories(ana.id, [new, old])
    held = {m.text: m for m in bank.memories(ana.id)}
    assert held["Lives in Lisbon"].valid_to is None
    assert held["Lives in Porto"].valid_to == MAY


def test_a_learned_memory_points_to_its_turn(bank, ana):
    fact = LearnedMemory(MemoryDraft("profile", "Has a kayak", said_at=MAY), (Quote(0, "bought a kayak"),))
    bank.remember(ana.id, [SessionDraft((turn("I bought a kayak."),), MAY, learned=(fact,))])
    learned = bank.memories(ana.id, store="profile")[0]
    assert [t.text for t in bank.sources(ana.id, learned.id)] == ["I bought a kayak."]


def test_a_failed_write_leaves_nothing_behind(bank, ana):
    broken = SessionDraft((turn("First."), TurnDraft("Ana", "nobody", "Second.")), MAY)  # type: ignore[arg-type]
    with pytest.raises(Exception, match="CHECK"):
        bank.remember(ana.id, [session("Kept?"), broken])
    assert bank.counts(ana.id) == {"sessions": 0, "turns": 0}


def test_memories_are_handed_out_in_the_order_asked_for(bank, ana):
    bank.remember(ana.id, [session("One.", "Two.", "Three.")])
    newest, *_, oldest = (m.id for m in bank.memories(ana.id))
    assert [m.id for m in bank.memories_by_id(ana.id, [oldest, 99, newest])] == [oldest, newest]


def test_a_persona_is_renamed_and_keeps_what_it_knows(bank, ana):
    bank.add_memories(ana.id, [MemoryDraft("profile", "Likes fog")])
    assert bank.change_persona(ana.id, name="  Anabela\x00  Reis ").name == "Anabela Reis"
    assert bank.persona("anabela reis").id == ana.id
    assert [m.text for m in bank.memories(ana.id)] == ["Likes fog"]


@pytest.mark.parametrize(("number", "name"), [(1, "  "), (1, "BO"), (99, "Anabela")])
def test_a_persona_is_not_given_an_empty_name_nor_that_of_another(bank, ana, number, name):
    bank.create_persona(PersonaDraft("Bo"))
    with pytest.raises(MemoirError):
        bank.change_persona(number, name=name)
    assert [p.name for p in bank.personas()] == ["Ana", "Bo"]


def test_personas_do_not_see_each_other(bank, ana):
    bo = bank.create_persona(PersonaDraft("Bo"))
    bank.remember(ana.id, [session("Ana's secret.")])
    secret = bank.memories(ana.id)[0]
    assert bank.memories(bo.id) == []
    assert bank.memories_by_id(bo.id, [secret.id]) == []
    assert bank.turns(bo.id, secret.session_id) == []
    assert bank.sources(bo.id, secret.id) == []
    assert bank.origins(bo.id, [secret.id]) == {}
    for ask in (bank.memory, bank.session):
        with pytest.raises(UnknownMemory):
            ask(bo.id, 1)


def test_a_persona_is_found_by_number_name_and_source_id(bank, ana):
    assert bank.persona("ana") == bank.persona("ANA-1") == bank.persona(str(ana.id)) == ana
    with pytest.raises(MemoirError, match="known: Ana"):
        bank.persona("Zoe")


def test_the_same_source_makes_one_persona_and_equal_names_two(bank, ana):
    assert bank.create_persona(PersonaDraft("Ana", "ana-1")) == ana
    other = bank.create_persona(PersonaDraft("Ana", "ana-2"))
    assert (other.name, other.id != ana.id) == ("Ana (ana-2)", True)


def test_the_day_it_was_for_the_speaker_is_kept(bank, ana):
    lisbon = timezone(timedelta(hours=1))
    late = datetime(2026, 7, 4, 0, 30, tzinfo=lisbon)
    bank.remember(ana.id, [SessionDraft((turn("Home late.", said_at=late, said_text=late.isoformat()),))])
    assert bank.memories(ana.id)[0].said_at.isoformat() == late.isoformat()
    assert bank.turns(ana.id, 1)[0].said_at.day == 4


def test_an_id_is_never_used_again(bank, ana):
    bank.remember(ana.id, [session("One.", external_id="a")])
    with bank.writing() as db:
        db.conn.execute("DELETE FROM memories")
    bank.remember(ana.id, [session("Two.", external_id="b")])
    assert bank.memories(ana.id)[0].id == 2


def test_two_threads_writing_at_once_lose_nothing(bank, ana):
    def write(name):
        for n in range(20):
            bank.remember(ana.id, [session(f"{name} {n}", external_id=f"{name}{n}")])

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert bank.counts(ana.id)["turns"] == 80


def test_who_waits_to_write_gets_the_next_gap_between_others_writes(bank, ana):
    begun, over, writes = threading.Event(), threading.Event(), []

    def write_on_and_on():
        other = Bank(bank.path)
        while not over.is_set():
            with other.writing():
                writes.append(1)
                begun.set()
                over.wait(0.1)
            over.wait(0.005)

    writer = threading.Thread(target=write_on_and_on)
    writer.start()
    try:
        for _ in range(8):
            begun.clear()
            begun.wait(10)
            with bank.writing():
                pass
    finally:
        over.set()
        writer.join()
    assert len(writes) <= 50  # some two for each; by SQLite's own waits many more


def test_the_card_of_a_persona_is_edited_and_the_rest_of_it_stays(bank, ana):
    texts = {"description": " A beekeeper. ", "scenario": "A\x00 garden.", "first_message": "Hello.", "examples": ""}
    edited = bank.change_persona(ana.id, **texts)
    assert edited == replace(ana, description="A beekeeper.", scenario="A garden.", first_message="Hello.")
    assert bank.persona(ana.id) == edited
    with pytest.raises(MemoirError, match="There is no persona 99"):
        bank.change_persona(99, **texts)


def test_a_bank_of_a_later_version_is_refused_and_left_alone(bank, ana):
    with sqlite3.connect(bank.path) as conn:
        conn.execute(f"PRAGMA user_version = {schema.newest_version() + 1}")
    conn.close()
    before = bank.path.read_bytes()
    with pytest.raises(MemoirError, match="Update Memoir"):
        bank.personas()
    assert bank.path.read_bytes() == before


@pytest.fixture
def version_5(tmp_path):
    """A bank as Memoir wrote it at revision e897bc6, the first whose banks are still read."""
    path = tmp_path / "five" / "bank.db"
    path.parent.mkdir()
    with sqlite3.connect(path) as conn:
        conn.executescript((Path(__file__).parent / "data" / "bank_version_5.sql").read_text(encoding="utf-8"))
    conn.close()
    return Bank(path)


def test_a_bank_of_version_5_opens_with_everything(version_5):
    (iris,) = version_5.personas()
    assert (iris.name, iris.external_id, iris.traits, iris.manner, iris.proactive) == (
        "Iris",
        "iris-1",
        ("patient", "dry"),
        "warm",
        False,
    )
    assert version_5.counts(iris.id) == {
        "sessions": 2, "turns": 4, "dialogue": 3, "event": 1, "profile": 5, "relationship": 3, "world": 2,
    }  # fmt: skip
    memories = {m.text: m for m in version_5.memories(iris.id)}
    lisbon, porto = memories["Lives in Lisbon"], memories["Lives in Porto"]
    assert (lisbon.pinned, porto.superseded_by, porto.valid_to) == (True, lisbon.id, lisbon.valid_from)
    assert version_5.quotes(iris.id, lisbon.id) == {3: "live in Lisbon"}
    assert memories["Is fond of boats"].retracted_at is not None
    assert (memories["A trip to Porto"].event, memories["A trip to Porto"].event_text) == (
        TimeSpan(datetime(2023, 5, 8, 10, 30, tzinfo=UTC), datetime(2023, 5, 8, 13, 30, tzinfo=UTC)),
        "last May",
    )
    assert {m.relation for m in memories.values() if m.relation} == {
        Relation("Noor", "younger sister", "Leila"),
        Relation("", "partner", "Tomas"),
        Relation("", "younger brother", "Li Ming"),
        Relation("Noor", "home", "Vellmar"),
        Relation("Noor", "favourite tea", "mint"),
        Relation("You", "home", "Porto"),
        Relation("You", "home", "Lisbon"),
    }
    assert [t.text for t in version_5.turns(iris.id, 2)] == ["I live in Lisbon.", "Really?"]
    assert maintenance.verify(version_5, "tiny") == []


def shape(bank):
    """Each table's columns in any order, its indexes, and the triggers."""
    with bank.reading() as db:
        tables = {
            name: sorted(tuple(column)[1:] for column in db.conn.execute(f"PRAGMA table_xinfo({name})"))
            for name in db.table_names()
        }
        others = "SELECT name, sql FROM sqlite_master WHERE type <> 'table' AND sql IS NOT NULL"
        return tables, {name: " ".join(sql.split()) for name, sql in db.conn.execute(others)}


def test_a_bank_with_an_imported_card_finds_its_first_message_on_the_persona(bank):
    card = bank.create_persona(PersonaDraft("Iris", "card-1")).id
    other = bank.create_persona(PersonaDraft("Ana")).id
    kept = [TurnDraft("first message", "other", "Good morning, {{user}}."), TurnDraft("scenario", "other", "A garden.")]
    for persona in (card, other):
        bank.remember(persona, [SessionDraft(tuple(kept), external_id="card")])
    with sqlite3.connect(bank.path) as conn:
        for column in ("scenario", "first_message", "examples", "kept_apart", "picture"):
            conn.execute(f"ALTER TABLE personas DROP COLUMN {column}")
        conn.execute("ALTER TABLE sessions DROP COLUMN hidden")
        conn.execute("ALTER TABLE turns DROP COLUMN unsupported")
        for table in schema.DIGESTED:
            conn.execute(f"ALTER TABLE {table} DROP COLUMN digest")
        conn.execute("DROP TABLE choices")
        conn.execute("PRAGMA user_version = 8")
    conn.close()
    assert (iris := bank.persona(card)).first_message == "Good morning, {{user}}."
    assert (iris.scenario, iris.examples, bank.persona(other).scenario) == ("A garden.", "", "")


def test_quotes_of_an_older_bank_are_spelled_as_their_turns_are(version_5):
    with sqlite3.connect(version_5.path) as conn:
        conn.execute("UPDATE sources SET quote = 'LIVE IN  LISBON.' WHERE memory_id = 12")
        conn.execute("UPDATE sources SET quote = 'live in Faro' WHERE memory_id = 9")
    conn.close()
    assert version_5.quotes(1, 12) == {3: "live in Lisbon"}
    assert version_5.quotes(1, 9) == {1: "live in Faro"}
    assert any(
        "memory 9: turn 1 does not contain its quote" in fault for fault in maintenance.verify(version_5, "tiny")
    )


def test_a_migrated_bank_has_the_shape_of_a_new_one(version_5, bank):
    assert shape(version_5) == shape(bank)


def test_a_bank_of_an_unreleased_version_is_refused_and_left_alone(bank, ana):
    with sqlite3.connect(bank.path) as conn:
        conn.execute("PRAGMA user_version = 4")
    conn.close()
    before = bank.path.read_bytes()
    with pytest.raises(BankUnavailable, match=r"version 4; this Memoir reads version 5 and later.*Export it"):
        bank.personas()
    assert bank.path.read_bytes() == before


def test_tables_are_strict_and_foreign_keys_hold(bank, ana):
    with bank.reading() as db:
        assert all(
            db.table(name).strict for name in ("personas", "sessions", "turns", "memories", "sources", "vectors")
        )
        assert db.conn.execute("PRAGMA foreign_keys").fetchone() == (1,)
        assert db.conn.execute("PRAGMA journal_mode").fetchone() == ("wal",)


words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=30)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(words, min_size=1, max_size=4), min_size=1, max_size=4))
def test_any_text_is_kept_as_it_is_and_once(tmp_path_factory, sessions):
    bank = Bank(tmp_path_factory.mktemp("bank") / "bank.db")
    ana = bank.create_persona(PersonaDraft("Ana"))
    drafts = [session(*texts, external_id=str(n)) for n, texts in enumerate(sessions)]
    bank.remember(ana.id, drafts)
    bank.remember(ana.id, drafts)
    kept = [[t.text for t in bank.turns(ana.id, s.id)] for s in bank.sessions(ana.id)]
    assert kept == sessions


def test_a_new_fact_looks_at_the_facts_of_its_attribute_alone(bank, ana):
    def steps():
        """Instructions of SQLite's machine, in thousands, that one more fact takes."""
        taken = []
        with bank.writing() as db:
            db.conn.set_progress_handler(lambda: taken.append(1), 1000)
            draft = MemoryDraft("profile", f"Lives somewhere {len(held)}", said_at=MAY, attribute="home", speaker="Ana")
            knowing.add_memory(db, ana.id, draft)
        return len(taken)

    held = []
    few = steps()
    held += [MemoryDraft("world", f"Thing {n}", said_at=MAY) for n in range(3000)]
    bank.add_memories(ana.id, held)
    assert steps() <= few + 1


@pytest.mark.parametrize("kept", [False, True])
def test_a_bank_that_is_deleted_while_it_is_used_is_not_begun_anew(tmp_path, kept):
    bank = Bank(tmp_path / "bank.db")
    with bank.kept_open() if kept else nullcontext():
        bank.create_persona(PersonaDraft("Ana"))
        for file in tmp_path.iterdir():
            file.unlink()
        for use in (bank.personas, lambda: bank.create_persona(PersonaDraft("Ben"))):
            with pytest.raises(BankUnavailable, match="was moved or deleted while Memoir was running"):
                use()
    assert not list(tmp_path.iterdir())


def rename_and_fail(bank):
    with bank.writing() as db:
        db.conn.execute("UPDATE personas SET name = 'Cleo'")
        raise ZeroDivisionError


def test_a_bank_that_is_kept_open_is_the_one_that_is_there(tmp_path):
    bank, other = Bank(tmp_path / "bank.db"), Bank(tmp_path / "other.db")
    other.create_persona(PersonaDraft("Ben"))
    with bank.kept_open():
        bank.create_persona(PersonaDraft("Ana"))
        with bank.kept_open(), pytest.raises(ZeroDivisionError):
            rename_and_fail(bank)
        assert [persona.name for persona in bank.personas()] == ["Ana"]
        for file in tmp_path.glob("bank.db*"):
            file.unlink()
        other.path.rename(bank.path)
        assert [persona.name for persona in bank.personas()] == ["Ben"]
    assert list(tmp_path.iterdir()) == [bank.path]  # its log is emptied and gone
