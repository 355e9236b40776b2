"""The fast index ranks as the reference does, in English and in Chinese."""

import random

import pytest

from memory import lexical
from memory.bank import Bank
from memory.types import MemoryDraft, PersonaDraft


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


def test_fts5_scores_as_rank_bm25_does(bank):
    random.seed(4)
    with bank.reading() as db:
        for _ in range(100):
            query = [f"w{random.randint(0, 399)}x" for _ in range(random.randint(1, 8))]
            fast, reference = (rank(db, 1, query, -1) for rank in lexical.RANKERS.values())
            assert fast == pytest.approx(reference, abs=1e-6)


def test_a_word_that_most_memories_hold_never_scores_below_zero(bank):
    with bank.reading() as db:
        assert all(score > 0 for rank in lexical.RANKERS.values() for score in rank(db, 1, ["w0x"], 1000).values())


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
    assert lexical.terms(text) == terms


def test_a_question_is_searched_by_what_it_names():
    assert lexical.content_terms("When did you go to the beach?") == ["go", "beach"]
    assert lexical.content_terms("What was it?") == ["what", "was", "it"]


def test_query_syntax_in_a_question_is_only_words(bank):
    with bank.reading() as db:
        for text in ('scope : "persona2"', "w1x AND NOT w2x", 'a" OR "b', "NEAR(w1x w2x)", "w1*", "{terms}: w1x"):
            lexical.fts5(db, 1, lexical.terms(text), 10)


def test_a_persona_is_searched_alone(bank):
    other = bank.create_persona(PersonaDraft("Bo"))
    bank.add_memories(other.id, [MemoryDraft("world", "w1x persona1 kept apart")])
    with bank.reading() as db:
        for rank in lexical.RANKERS.values():
            assert set(rank(db, other.id, ["w1x", "persona1"], -1)) == {301}
            assert 301 not in rank(db, 1, ["w1x", "persona1"], -1)


def test_a_word_is_as_rare_as_it_is_for_the_persona(bank):
    """A speaker's name is in half of one persona's memories and in few of the whole bank."""
    cleo = bank.create_persona(PersonaDraft("Cleo"))
    said = [f"remark {n}" for n in range(9)] + ["a zeppelin passed"]
    bank.add_memories(cleo.id, [MemoryDraft("world", text, speaker="Cleo") for text in said])
    with bank.reading() as db:
        for rank in lexical.RANKERS.values():
            scores = rank(db, cleo.id, ["cleo", "zeppelin"], -1)
            best, second = list(scores.values())[:2]
            assert best > 1 > 1e-4 > second
