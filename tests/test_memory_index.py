"""The index equals the rows, however it was built, and among many memories it finds what a full scan finds."""

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from itertools import count

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory.bank import maintenance as upkeep
from memory.bank.bank import Bank
from memory.bank.rows import digest
from memory.forgetting.forget import forget_memories
from memory.search import indexer, searcher
from memory.search.engine import index, packing, segments
from memory.search.engine.index import IndexCache
from memory.types import MemoryDraft, PersonaDraft, SessionDraft, TimeSpan, TurnDraft

MAY = datetime(2023, 5, 8, tzinfo=UTC)
DAY = timedelta(days=1)
LATER = MAY + 10_000 * DAY
MODEL, DIMENSIONS = "made-up", 96


class MadeUpEmbedder:
    """A vector a text, always the same; near each other where the first words are equal."""

    model, dimensions = MODEL, DIMENSIONS

    def encode(self, texts):
        return np.stack([self._vector(text) for text in texts])

    encode_query = encode_document = encode

    def share_in_vocabulary(self, text):
        return 1.0

    def _vector(self, text):
        topic, whole = (self._random(t) for t in (text.split()[0], text))
        vector = topic + 0.7 * whole
        return (vector / np.linalg.norm(vector)).astype(np.float32)

    def _random(self, text):
        return np.random.default_rng(int(digest(text), 16)).standard_normal(DIMENSIONS) * 0.97 ** np.arange(DIMENSIONS)


EMBEDDER = MadeUpEmbedder()


@pytest.fixture
def small(monkeypatch):
    """Segments so small that a few dozen memories make several."""
    monkeypatch.setattr(packing, "MAX_ROWS", 12)
    monkeypatch.setattr(packing, "MIN_ROWS", 3)
    monkeypatch.setattr(index, "MAX_UNPACKED_ROWS", 6)


@pytest.fixture
def ana(tmp_path):
    bank = Bank(tmp_path / "bank.db")
    return bank, bank.create_persona(PersonaDraft("Ana")).id


def talk(numbers, topics=7):
    """A session of turns that say a number."""
    turns = tuple(TurnDraft("Ana" if n % 2 else "Bo", "user", f"topic{n % topics} number{n}", MAY) for n in numbers)
    return SessionDraft(turns, MAY, external_id=f"s{min(numbers)}")


def fact(n):
    return MemoryDraft("profile", f"Lives in place {n}", said_at=MAY + n * DAY, attribute="home", speaker="Ana")


def read(bank, persona, indexes=None):
    """The index of a persona, renewed or read anew."""
    with bank.reading() as db:
        db.conn.execute("BEGIN")
        return (indexes or IndexCache(EMBEDDER)).get(db, persona)


def assert_same(one, other):
    """Two indexes say the same of every memory, though their segments may differ."""
    assert len(one) == len(other)
    if not len(one):
        return
    queries = EMBEDDER.encode(["topic1 number1", "Lives here"])
    rows = np.arange(len(one))
    words = [["number1", "topic1"], ["live", "place", "ana"]]
    said = []
    for held in (one, other):
        found = held.candidates(
            rows, np.ones(len(words)), held.lexical_scores(words), held.dense_scores(queries).cosine(rows)
        )
        scores = [getattr(found, field.name) for field in fields(found) if field.name != "columns"]
        said.append([*scores, *found.columns])
    for ours, theirs in zip(*said, strict=True):
        np.testing.assert_allclose(ours.astype(float), theirs.astype(float), atol=0.01)
    spans = [TimeSpan(MAY + DAY, MAY + 3 * DAY)]
    assert one.overlapping(spans).tolist() == other.overlapping(spans).tolist()


steps = st.lists(st.sampled_from(["say", "say much", "tell", "embed", "pack", "forget", "ask"]), max_size=14)


@given(steps)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_happens_the_cached_index_equals_the_rows(tmp_path_factory, small, happens):
    bank = Bank(tmp_path_factory.mktemp("index") / "bank.db")
    persona = bank.create_persona(PersonaDraft("Ana")).id
    bank.remember(bank.create_persona(PersonaDraft("Bo")).id, [talk([10**6])])
    cache, numbers, draw = IndexCache(EMBEDDER), count(), np.random.default_rng(1)
    for step in happens:
        if step.startswith("say"):
            bank.remember(persona, [talk([next(numbers) for _ in range(20 if "much" in step else 1)])])
        elif step == "tell":
            bank.add_memories(persona, [fact(int(draw.integers(9)))])
        elif step == "embed":
            indexer.embed_pending(bank, EMBEDDER, limit=int(draw.integers(1, 15)))
        elif step == "pack":
            packing.pack(bank, MODEL, DIMENSIONS)
        elif step == "forget" and (memories := bank.memories(persona)):
            forget_memories(bank, persona, [memories[int(draw.integers(len(memories)))].id])
        else:
            read(bank, persona, cache)
    assert_same(read(bank, persona, cache), read(bank, persona))
    assert upkeep.verify(bank, MODEL) == []
    upkeep.rebuild(bank)
    assert_same(read(bank, persona, cache), read(bank, persona))
    assert upkeep.verify(bank, MODEL) == []


def test_what_is_packed_is_not_read_again_and_after_a_turn_only_the_turn_is(ana, small, monkeypatch):
    bank, persona = ana
    bank.remember(persona, [talk(range(60))])
    indexer.embed_all(bank, EMBEDDER)
    rows, loads = [], []
    of, load = segments.Columns.build, packing.load
    monkeypatch.setattr(segments.Columns, "build", lambda values: rows.append(len(values[0])) or of(values))
    monkeypatch.setattr(packing, "load", lambda db, number: loads.append(number) or load(db, number))
    cache = IndexCache(EMBEDDER)
    read(bank, persona, cache)
    assert (sum(rows), len(loads)) == (0, 5)
    for n in range(60, 66):
        rows.clear()
        bank.remember(persona, [talk([n])])
        assert len(read(bank, persona, cache)) == n + 1
        assert (sum(rows), len(loads)) == (1, 5)
    forget_memories(bank, persona, [7])
    rows.clear()
    read(bank, persona, cache)
    assert (sum(rows), len(loads)) == (11 + 6, 5)


def test_the_layout_names_these_arrays():
    """Packed segments of banks have these arrays in this order: if they change, `LAYOUT` must change, too."""
    parts = (segments.Columns, segments.Postings, segments.SegmentVectors)
    assert [len(part._fields) for part in parts] == [8, 5, 4]
    assert segments.LAYOUT == "5c1f0be27d9a4e36"


@pytest.mark.slow
def test_segments_stay_few_as_memories_come_one_by_one(ana, small):
    bank, persona = ana
    for n in range(100):
        bank.remember(persona, [talk([n])])
        indexer.embed_all(bank, EMBEDDER)
    with bank.reading() as db:
        packed = packing.list_packed(db, persona, MODEL)
    assert sum(p.size for p in packed) > 100 - packing.MIN_ROWS
    assert len(packed) <= 16


def test_a_forgotten_memory_takes_its_packed_segment_with_it(ana, small):
    bank, persona = ana
    bank.remember(persona, [talk(range(24))])
    indexer.embed_all(bank, EMBEDDER)
    with bank.reading() as db:
        packed = packing.list_packed(db, persona, MODEL)
        gone = next(p for p in packed if p.first <= 5 <= p.last)
        (payload,) = db.conn.execute("SELECT payload FROM segments WHERE id = ?", (gone.number,)).fetchone()
    forget_memories(bank, persona, [5])
    with bank.reading() as db:
        assert packing.list_packed(db, persona, MODEL) == [p for p in packed if p != gone]
    assert payload[-256:] not in bank.path.read_bytes()


def test_a_fact_that_no_longer_holds_leaves_its_segment_packed(ana, small):
    bank, persona = ana
    bank.add_memories(persona, [fact(n) for n in range(5)])
    indexer.embed_all(bank, EMBEDDER)
    with bank.reading() as db:
        before = packing.list_packed(db, persona, MODEL)
    bank.add_memories(persona, [fact(6)])
    read_index = read(bank, persona)
    assert read_index.closed.rows.tolist() == [0, 1, 2, 3, 4]
    with bank.reading() as db:
        assert packing.list_packed(db, persona, MODEL) == before


def test_verify_sees_a_packed_segment_that_the_rows_belie(ana, small):
    bank, persona = ana
    bank.remember(persona, [talk(range(12))])
    indexer.embed_all(bank, EMBEDDER)
    assert upkeep.verify(bank, MODEL) == []
    with bank.writing() as db:
        other = segments.to_bytes(next(segments.read_rows(db, persona, MODEL, DIMENSIONS, 0, 6)))
        db.conn.execute("UPDATE segments SET payload = ?", (other,))
    assert "rebuild mends it" in " ".join(upkeep.verify(bank, MODEL))
    upkeep.rebuild(bank)
    indexer.embed_all(bank, EMBEDDER)
    assert upkeep.verify(bank, MODEL) == []


@pytest.mark.parametrize("change", ["payload = zeroblob(900)", "payload = substr(payload, 2)", "last_id = last_id - 1"])
def test_the_memories_of_a_damaged_segment_are_read_row_by_row(ana, small, change):
    bank, persona = ana
    bank.remember(persona, [talk(range(60))])
    indexer.embed_all(bank, EMBEDDER)
    rows = read(bank, persona)
    with bank.writing() as db:
        db.conn.execute(f"UPDATE segments SET {change} WHERE id = (SELECT min(id) FROM segments)")
    assert_same(read(bank, persona), rows)
    assert any("rebuild mends it" in fault for fault in upkeep.verify(bank, MODEL))


def test_packing_gives_way_to_a_memory_forgotten_meanwhile(ana, small, monkeypatch):
    bank, persona = ana
    bank.remember(persona, [talk(range(12))])
    while indexer.embed_pending(bank, EMBEDDER):
        pass
    to_bytes = segments.to_bytes
    monkeypatch.setattr(segments, "to_bytes", lambda made: forget_memories(bank, persona, [3]) and to_bytes(made))
    packing.pack(bank, MODEL, DIMENSIONS)
    monkeypatch.undo()
    with bank.reading() as db:
        assert packing.list_packed(db, persona, MODEL) == []


def test_only_the_personas_asked_last_are_kept(ana, monkeypatch):
    bank, first = ana
    personas = [first, *(bank.create_persona(PersonaDraft(f"Persona {n}")).id for n in range(9))]
    for persona in personas:
        bank.remember(persona, [talk(range(persona * 100, persona * 100 + 20))])
    cache = IndexCache(EMBEDDER)
    monkeypatch.setattr(index, "CACHE_BYTES", 3 * read(bank, first).size)
    kept = [read(bank, persona, cache) for persona in personas]
    assert len(cache._indexes) == 3
    again = [read(bank, persona, cache) for persona in personas[-3:]]
    assert all(one is other for one, other in zip(again, kept[-3:], strict=True))
    assert read(bank, first, cache) is not kept[0]


def test_among_very_many_the_likely_ones_are_those_a_look_at_all_finds(ana, monkeypatch):
    bank, persona = ana
    monkeypatch.setattr(packing, "MAX_ROWS", 1000)
    bank.remember(persona, [talk(range(n, n + 50), topics=40) for n in range(0, 6000, 50)])
    while indexer.embed_pending(bank, EMBEDDER, limit=6000):
        pass
    packing.pack(bank, MODEL, DIMENSIONS)
    read_index, exact = read(bank, persona), EMBEDDER.encode([f"topic{n % 40} number{n}" for n in range(6000)])
    queries = EMBEDDER.encode([f"topic{n % 40} asked{n}" for n in range(60)])
    words = read_index.lexical_scores([[f"number{n}"] for n in range(60)])
    monkeypatch.setattr(searcher, "MAX_ROWS", 1000)
    monkeypatch.setattr(searcher, "COARSE", 400)
    monkeypatch.setattr(searcher, "KEPT", 50)
    found = []
    for n, query in enumerate(queries):
        meaning = read_index.dense_scores(query[None])
        best = set(np.argsort(-(exact @ query))[:10].tolist())
        rows = searcher.likely_rows(read_index, words[n : n + 1], meaning, LATER, (), 10)
        assert len(rows) < 1500
        assert n in rows  # the one that holds the word
        cosine = meaning.cosine(rows)[0]
        found.append(len(best & set(rows[np.argsort(-cosine)[:10]].tolist())) / 10)
    assert np.mean(found) >= 0.98


def test_what_was_not_said_yet_is_never_weighed(ana, monkeypatch):
    bank, persona = ana
    bank.remember(persona, [SessionDraft(tuple(TurnDraft("Bo", "user", f"a{n}", MAY + n * DAY) for n in range(50)))])
    monkeypatch.setattr(searcher, "MAX_ROWS", 10)
    monkeypatch.setattr(searcher, "KEPT", 3)
    read_index = read(bank, persona)
    later_is_better = np.arange(50.0)[None]
    week = [TimeSpan(MAY, MAY + 7 * DAY)]
    meaning = replace(read_index.dense_scores(EMBEDDER.encode(["a1"])), coarse=later_is_better.astype(np.float32))
    rows = searcher.likely_rows(read_index, later_is_better, meaning, MAY + 20 * DAY, week, 1)
    assert rows.max() == 20
    assert {6, 7} <= set(rows.tolist())
