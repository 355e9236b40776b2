"""A text is encoded once, whoever asks, and the cache changes no vector."""

import multiprocessing

import numpy as np

from eval.play.models import CachedEmbedder
from memory.embedding import minilm
from memory.embedding.embedder import Embedder
from support.tiny_models import made_up_encoder

TEXTS = ["The heron stood still.", "Pine tar holds for a season.", "The heron stood still."]


def test_vectors_are_those_of_the_encoder_in_the_order_asked(tmp_path, embedder):
    cached = CachedEmbedder(tmp_path / "c.db", embedder)
    assert np.array_equal(cached.encode(TEXTS), embedder.encode(TEXTS))
    assert cached.texts == 2
    assert np.array_equal(cached.encode(TEXTS[::-1]), embedder.encode(TEXTS[::-1]))
    assert cached.texts == 2


def test_a_second_process_needs_no_model(tmp_path, embedder):
    CachedEmbedder(tmp_path / "c.db", embedder).encode(TEXTS)
    later = CachedEmbedder(tmp_path / "c.db", Embedder(minilm.NAME))
    assert later.dimensions == embedder.dimensions
    assert later.encode(TEXTS[:1]).shape == (1, embedder.dimensions)
    assert not later.inner.ready
    assert (later.texts, later.cached) == (0, 1)


def test_a_question_and_a_document_of_the_same_words_are_kept_apart(tmp_path):
    encoder = Embedder(made_up_encoder(tmp_path, {"query": "query: ", "document": "text: "}))
    cached = CachedEmbedder(tmp_path / "c.db", encoder)
    for _ in range(2):
        assert np.array_equal(cached.encode_query(TEXTS), encoder.encode_query(TEXTS))
        assert np.array_equal(cached.encode_document(TEXTS), encoder.encode_document(TEXTS))
    assert (cached.texts, cached.cached) == (4, 8)


def test_models_are_kept_apart(tmp_path, embedder):
    cached = CachedEmbedder(tmp_path / "c.db", embedder)
    cached.encode(TEXTS)
    other = CachedEmbedder(tmp_path / "c.db", embedder)
    other.model = "another"
    other.encode(TEXTS)
    assert other.texts == 2


def test_nothing_has_no_vectors(tmp_path, embedder):
    assert CachedEmbedder(tmp_path / "c.db", embedder).encode([]).shape == (0, embedder.dimensions)


def test_more_texts_than_a_statement_can_ask_for(tmp_path, embedder):
    cached = CachedEmbedder(tmp_path / "c.db", embedder)
    texts = [f"number {n}" for n in range(1100)]
    cached.encode(texts[:550])
    cached.encode(texts)
    assert cached.texts == 1100


def opened(path):
    """What goes wrong when a process opens the cache; empty if nothing does."""
    try:
        CachedEmbedder(path, Embedder(minilm.NAME))
    except Exception as fault:
        return repr(fault)
    return ""


def test_many_processes_can_make_the_cache_at_once(tmp_path):
    with multiprocessing.get_context("fork").Pool(8) as pool:
        for number in range(30):
            assert pool.map(opened, [tmp_path / f"{number}.db"] * 8, chunksize=1) == [""] * 8
