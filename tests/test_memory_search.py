"""Search finds by words and by meaning, store by store, and never what was not known yet."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from memory.bank.bank import Bank
from memory.forgetting.forget import forget_memories
from memory.search import indexer, scoring
from memory.search import searcher as searcher_module
from memory.search.scoring import SearchSettings, mix
from memory.search.searcher import MAX_NAMES, Searcher
from memory.types import MemoryDraft, PersonaDraft, SessionDraft, TurnDraft

MAY = datetime(2023, 5, 8, tzinfo=UTC)
DAY = timedelta(days=1)


class CountingEmbedder:
    """The real model, counting its calls."""

    def __init__(self, real):
        self._real, self.model, self.dimensions, self.calls = real, real.model, real.dimensions, 0

    def encode(self, texts):
        self.calls += 1
        return self._real.encode(texts)

    encode_query = encode_document = encode

    def share_in_vocabulary(self, text):
        return self._real.share_in_vocabulary(text)


@pytest.fixture
def made(tmp_path, embedder):
    bank = Bank(tmp_path / "bank.db")
    ana = bank.create_persona(PersonaDraft("Ana"))
    said = ["I adopted a puppy from the shelter.", "The tax office wrote again.", "We painted the kitchen yellow."]
    turns = tuple(TurnDraft("Ana", "user", text, MAY + n * DAY) for n, text in enumerate(said))
    bank.remember(ana.id, [SessionDraft(turns, MAY)])
    bank.add_memories(ana.id, [MemoryDraft("profile", "Occupation: bookbinder", said_at=MAY)])
    counting = CountingEmbedder(embedder)
    indexer.embed_pending(bank, counting)
    counting.calls = 0
    return bank, ana, Searcher(bank, counting)


def ask(made, text, as_of=MAY + 10 * DAY, **settings):
    _, ana, searcher = made
    return searcher.search(ana.id, searcher.views([text]), as_of, SearchSettings(**settings))


def test_words_and_meaning_both_find(made):
    assert "puppy" in ask(made, "puppy", dense_weight=0)[0].memory.text
    assert "puppy" in ask(made, "Which animal lives with us now?", dense_weight=1)[0].memory.text
    assert "puppy" in ask(made, "Did we get a dog?")[0].memory.text


def test_every_store_keeps_its_best(made):
    stores = [hit.memory.store for hit in ask(made, "What did I adopt?", k=1)]
    assert sorted(stores) == ["dialogue", "profile"]


def test_a_longer_ranking_goes_on_where_the_best_end(made):
    best = ask(made, "What did I adopt?", k=1)
    longer = ask(made, "What did I adopt?", k=1, depth=50)
    assert len(longer) > len(best)
    assert longer[: len(best)] == best
    assert {hit.dropped for hit in longer[len(best) :]} == {"rank"}


def test_nothing_said_later_is_found(made):
    assert not [h for h in ask(made, "What colour is the kitchen?", as_of=MAY + DAY) if "kitchen" in h.memory.text]


def test_a_memory_without_a_vector_is_found_by_its_words(made):
    bank, ana, _ = made
    bank.add_memories(ana.id, [MemoryDraft("world", "The ferry leaves at nine.", said_at=MAY)])
    assert ask(made, "When does the ferry leave?")[0].memory.text == "The ferry leaves at nine."


def test_what_is_forgotten_is_not_found_again(made):
    bank, ana, _ = made
    forget_memories(bank, ana.id, [ask(made, "puppy")[0].memory.id])
    assert not [h for h in ask(made, "puppy") if "puppy" in h.memory.text]


def test_a_question_costs_one_encoder_call(made):
    _, _, searcher = made
    ask(made, "puppy")
    ask(made, "kitchen")
    assert searcher.embedder.calls == 2


def test_a_question_is_answered_from_one_state_of_the_bank(made, monkeypatch):
    bank, _, _ = made
    score = scoring.score

    def meanwhile(*given):
        with bank.writing() as db:
            db.conn.execute("DELETE FROM memories")
        return score(*given)

    monkeypatch.setattr(scoring, "score", meanwhile)
    assert len(ask(made, "puppy")) == 4
    assert ask(made, "puppy") == ()


def test_a_question_opens_the_bank_once(made, monkeypatch):
    bank, _, _ = made
    reading, opened = bank.reading, []
    monkeypatch.setattr(bank, "reading", lambda: opened.append(1) or reading())
    assert len(ask(made, "puppy")) == 4
    assert len(opened) == 1


def test_an_empty_persona_finds_nothing(made):
    bank, _, searcher = made
    nobody = bank.create_persona(PersonaDraft("Nobody"))
    assert searcher.search(nobody.id, searcher.views(["puppy"]), MAY) == ()
    assert searcher.main_speakers(nobody.id, "Ana said", MAY) == ()
    assert searcher.document_frequencies(nobody.id, ["puppi"], MAY) == (0, {"puppi": 0})


def test_the_indexer_embeds_each_text_once_and_goes_on_where_it_stopped(made):
    bank, ana, searcher = made
    bank.add_memories(ana.id, [MemoryDraft("world", "Same words.", external_id=str(n)) for n in range(5)])
    assert indexer.count_pending(bank, searcher.embedder.model) == 1
    assert indexer.embed_pending(bank, searcher.embedder) == 1
    assert indexer.embed_pending(bank, searcher.embedder) == 0


def test_the_indexer_thread_works_off_what_waits(made):
    bank, ana, searcher = made
    thread = indexer.Indexer(bank, searcher.embedder)
    thread.start()
    bank.add_memories(ana.id, [MemoryDraft("world", "A new thing.")])
    thread.wake()
    assert thread.wait(30)
    thread.stop()
    assert indexer.count_pending(bank, searcher.embedder.model) == 0


scores = hnp.arrays(
    np.float64, st.shared(st.integers(1, 20), key="n"), elements=st.floats(-1, 50).map(lambda x: round(x, 6))
)


@given(scores, scores, st.floats(0, 1))
def test_fused_scores_lie_between_none_and_best(lexical, dense, weight):
    mixed = mix(lexical, dense, np.ones(len(dense), dtype=bool), weight)
    assert mixed.shape == lexical.shape
    assert (mixed >= 0).all()
    assert (mixed <= 1 + 1e-9).all()


@given(scores, st.floats(0.1, 1000))
def test_the_scale_of_a_score_does_not_matter(lexical, factor):
    nothing, embedded = np.zeros_like(lexical), np.ones(len(lexical), dtype=bool)
    np.testing.assert_allclose(
        mix(lexical, nothing, embedded, 0.5), mix(lexical * factor, nothing, embedded, 0.5), atol=1e-6
    )


cosines = hnp.arrays(
    np.float64, st.shared(st.integers(1, 20), key="n"), elements=st.integers(1, 1000).map(lambda x: x / 1000)
)


@given(scores, cosines, st.floats(0, 1), st.floats(0, 0.9))
def test_an_embedding_model_whose_cosines_are_all_high_ranks_as_one_whose_are_spread(lexical, dense, weight, least):
    embedded = np.ones(len(dense), dtype=bool)
    high = mix(lexical, least + (1 - least) * dense, embedded, weight)
    np.testing.assert_allclose(high, mix(lexical, dense, embedded, weight), atol=1e-6)


@pytest.fixture
def talking(made):
    """Ana's three turns, and those of two others: Bo said six, Cy one."""
    bank, ana, searcher = made
    said = [*[("Bo", f"Ana and Cy saw boat number {n}.") for n in range(6)], ("Cy", "Hello Ana.")]
    turns = tuple(TurnDraft(who, "other", text, MAY + 5 * DAY) for who, text in said)
    bank.remember(ana.id, [SessionDraft(turns, MAY + 5 * DAY)])
    return lambda text, days=10: searcher.main_speakers(ana.id, text, MAY + days * DAY)


def test_a_speaker_is_who_says_a_good_part_of_what_is_said(talking):
    assert talking("What did Ana, or Bo, or Cy, or Dee say?") == ("Ana", "Bo")
    assert talking("what did ana say?") == ()


def test_who_speaks_only_later_is_no_speaker_yet(talking):
    assert talking("What did Ana or Bo say?", days=4) == ("Ana",)


def test_a_long_text_asks_for_no_more_names_than_a_short_one(made, monkeypatch):
    _, ana, searcher = made
    looked_up, real = [], searcher_module.term_code
    monkeypatch.setattr(searcher_module, "term_code", lambda name: looked_up.append(name) or real(name))
    searcher.main_speakers(ana.id, " ".join(f"Name{n}" for n in range(14_000)), MAY + DAY)
    assert 0 < len(looked_up) <= MAX_NAMES
