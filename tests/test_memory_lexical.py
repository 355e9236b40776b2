"""The fast index ranks as the reference does, in English and in Chinese."""

import random
from datetime import UTC, datetime, timedelta

import pytest

from memory.bank.bank import Bank
from memory.bank.queries.indexing import index_terms
from memory.embedding import minilm
from memory.embedding.embedder import Embedder
from memory.search import tokens
from memory.search.engine.index import IndexCache
from memory.search.engine.postings import reference_bm25
from memory.types import MemoryDraft, PersonaDraft


def reference(db, persona_id, query):
    return reference_bm25(index_terms(db, [persona_id]), [query])[0]


@pytest.fixture(scope="module")
def bank(tmp_path_factory):
    """300 memories of random words, Zipf-distributed, as talk is."""
    random.seed(3)
    bank = Bank(tmp_path_factory.mktemp("lexical") / "bank.db")
    persona = bank.create_persona(PersonaDraft("Ana"))
    vocabulary = [f"w{n}x" for n in range(400)]
    weights = [1 / (n + 1) for n in range(400)]
    texts = [" ".join(random.choices(vocabulary, weights, k=random.randint(1, 25))) for _ in range(300)]
    bank.add_memories(persona.id, [MemoryDraft("world", t, external_id=str(n)) for n, t in enumerate(texts)])
    return bank


def index(db, persona_id):
    return IndexCache(Embedder(minilm.NAME)).get(db, persona_id)


def test_the_index_scores_as_rank_bm25_does(bank):
    random.seed(4)
    queries = [[f"w{n}x" for n in random.sample(range(400), random.randint(1, 8))] for _ in range(100)]
    with bank.reading() as db:
        scores = index(db, 1).lexical_scores(queries)
        for query, ours in zip(queries, scores, strict=True):
            assert ours == pytest.approx(reference(db, 1, query), abs=1e-9)


def test_a_word_that_most_memories_hold_never_scores_below_zero(bank):
    with bank.reading() as db:
        for scores in (index(db, 1).lexical_scores([["w0x"]])[0], reference(db, 1, ["w0x"])):
            assert (scores >= 0).all()
            assert scores.max() > 0


def test_the_index_counts_who_holds_a_term(bank):
    with bank.reading() as db:
        texts = [t.split() for (t,) in db.conn.execute("SELECT terms FROM memories WHERE persona_id = 1")]
        total, held = index(db, 1).document_frequencies(["w0x", "w7x", "unheard"], datetime.now(UTC))
    assert total == len(texts)
    assert held == {term: sum(term in text for text in texts) for term in ("w0x", "w7x", "unheard")}


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("She’s adopting puppies!", ["she", "adopt", "puppi"]),
        ("Caroline's LGBTQ group", ["carolin", "lgbtq", "group"]),
        ("我昨天去爬山", ["我昨", "昨天", "天去", "去爬", "爬山"]),
        ("Ｆｕｌｌ ｗｉｄｔｈ", ["full", "width"]),
        ("🙂 \x00 \" ' * ( )", []),
    ],
)
def test_terms(text, terms):
    assert tokens.terms(text) == terms


def test_a_question_is_searched_by_what_it_names():
    assert tokens.content_terms("When did you go to the beach?") == ["go", "beach"]
    assert tokens.content_terms("What was it?") == ["what", "was", "it"]


def test_memories_without_a_word_score_nothing(bank):
    silent = bank.create_persona(PersonaDraft("Silent"))
    bank.add_memories(silent.id, [MemoryDraft("world", "🙂"), MemoryDraft("world", "🌊")])
    with bank.reading() as db:
        assert index(db, silent.id).lexical_scores([["w1x"]]).tolist() == [[0, 0]]
        assert reference(db, silent.id, ["w1x"]).tolist() == [0, 0]


def test_a_persona_is_searched_alone(bank):
    other = bank.create_persona(PersonaDraft("Bo"))
    bank.add_memories(other.id, [MemoryDraft("world", "w1x kept apart")])
    with bank.reading() as db:
        assert index(db, other.id).lexical_scores([["w1x"]]).shape == (1, 1)
        assert reference(db, other.id, ["w1x"]).shape == (1,)
        assert index(db, 1).lexical_scores([["apart"]]).max() == 0


def test_a_word_is_as_rare_as_it_is_for_the_persona(bank):
    """A speaker's name is in half of one persona's memories and in few of the whole bank."""
    cleo = bank.create_persona(PersonaDraft("Cleo"))
    said = [f"remark {n}" for n in range(9)] + ["a zeppelin passed"]
    bank.add_memories(cleo.id, [MemoryDraft("world", text, speaker="Cleo") for text in said])
    with bank.reading() as db:
        scores = index(db, cleo.id).lexical_scores([["cleo", "zeppelin"]])[0]
    assert scores.argmax() == 9
    assert scores[9] > 1
    assert scores[:9].max() < 1e-4


def test_how_rare_a_word_was_does_not_depend_on_what_was_said_later(tmp_path):
    """As of a day, the scores are those of a bank that ends on that day."""
    random.seed(5)
    texts = [" ".join(random.choices([f"w{n}x" for n in range(30)], k=random.randint(1, 12))) for _ in range(90)]
    days = [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=n) for n in range(len(texts))]
    drafts = [MemoryDraft("world", text, said_at=day) for text, day in zip(texts, days, strict=True)]
    whole, ended = Bank(tmp_path / "whole.db"), Bank(tmp_path / "ended.db")
    for bank, kept in ((whole, drafts), (ended, drafts[:40])):
        bank.add_memories(bank.create_persona(PersonaDraft("Ana")).id, kept)
    queries = [[f"w{n}x", f"w{n + 1}x"] for n in range(29)]
    with whole.reading() as db, ended.reading() as other:
        now = index(db, 1).lexical_scores(queries)[:, :40]
        then = index(db, 1).lexical_scores(queries, days[39])[:, :40]
        expected = index(other, 1).lexical_scores(queries)
    assert then == pytest.approx(expected, abs=1e-9)
    assert now != pytest.approx(expected, abs=1e-2)
