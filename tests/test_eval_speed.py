import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from eval.__main__ import main
from eval.speed import measure, references
from eval.speed.synthetic import A_SESSION, Life, Size, make_bank, mixtures, sessions_of
from memory.bank.bank import Bank
from memory.errors import MemoirError
from memory.search import tokens as lexical
from memory.types import PersonaDraft

SIZES, PERSONAS = ("200", "400"), "10 x 20"
OF_ONE = {
    "query encoding",
    "retrieval",
    "import, durable and found by its words",
    "packing, in the background",
    "bank on disk",
    "first answer of a new process, encoder loaded",
    "resident memory of that process",
    "recall@10 by words against exact",
    "recall@10 by meaning against exact",
    *(reference.name for reference in references.REFERENCES),
}
SILENT = lambda *progress: None  # noqa: E731


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """What the command says of small sizes, as JSON and as the table made of it."""
    home, said = tmp_path_factory.mktemp("bench"), []
    few = [replace(r, most=300) if r.name == "rank-bm25" else r for r in references.REFERENCES]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEMOIR_HOME", str(home))
        patch.setattr(measure, "ROUNDS", 1)
        patch.setattr(measure, "ROUND_TEXTS", A_SESSION)
        patch.setattr(measure, "REFERENCES", few)
        # Servers of earlier tests may report an error meanwhile, on standard error.
        patch.setattr("builtins.print", lambda text, file=None, **_: said.append(text) if file is None else None)
        assert main(["bench", "--sizes", "400,200", "--personas", "10x20", "--questions", "8", "--json"]) == 0
    held = json.loads(said[0])
    return held, measure.to_markdown([measure.SpeedFigure(**figure) for figure in held["figures"]])


def figures(bench, size):
    return {f["measure"]: f for f in bench[0]["figures"] if f["size"] == size}


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_bench_measures_everything_at_every_size(bench, size):
    assert set(figures(bench, size)) >= OF_ONE
    assert all(f["values"] or f["note"] for f in figures(bench, size).values())


def test_bench_measures_many_personas_cold_and_warm(bench):
    found = figures(bench, PERSONAS)
    assert found["retrieval, a persona's first question"]["n"] == 9
    assert found["retrieval"]["n"] == 10


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("by", ["words", "meaning"])
def test_what_is_searched_whole_is_found_as_by_exact_search(bench, size, by):
    assert figures(bench, size)[f"recall@10 by {by} against exact"]["values"] == {"": 1.0}


def test_the_larger_size_is_set_beside_the_smaller(bench):
    assert figures(bench, "400")["retrieval p50 over that at 200"]["values"][""] > 0


def test_a_reference_that_is_too_slow_is_not_run_and_the_table_says_why(bench):
    left_out = figures(bench, "400")["rank-bm25"]
    assert left_out["note"] == "not run: reads every document for each question"
    assert not left_out["values"]
    assert left_out["note"] in bench[1]


def test_the_table_says_where_when_and_with_what_it_was_measured(bench):
    for said in ("machine", "date", "versions", "how"):
        assert bench[0][said] in bench[1]
    rows = [line for line in bench[1].splitlines() if line.startswith("|")]
    assert len(rows) == 2 + len({f["measure"] for f in bench[0]["figures"]})


@pytest.mark.parametrize("wrong", [["--sizes", "10,x"], ["--sizes", "0"], ["--personas", "10"], ["--questions", "-1"]])
def test_bench_refuses_what_is_no_size(wrong):
    with pytest.raises(SystemExit) as fault:
        main(["bench", *wrong])
    assert fault.value.code == 2


def test_a_stopped_bench_leaves_nothing_behind(tmp_path, monkeypatch, capsys):
    def stopped(life, folder, embedder, watch, **sizes):
        (folder / "bank.db").write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setenv("MEMOIR_HOME", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(measure, "measure", stopped)
    assert main(["bench"]) == 130
    assert "Interrupted" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_bank_that_was_broken_off_is_made_anew(tmp_path, embedder):
    size, life = Size(1, 40), Life()
    half = tmp_path / "1x40-seed-0"
    half.mkdir()
    (half / "bank.db").write_text("half")
    world = make_bank(tmp_path, size, life, ["Hello."], embedder, SILENT)
    assert len(Bank(world.path).memories(world.personas[0])) == 40


def test_a_bank_that_was_made_before_is_taken_as_it_is(tmp_path, embedder):
    first = make_bank(tmp_path, Size(2, 20), Life(), ["Hello."], embedder, SILENT)
    before = first.path.stat().st_mtime_ns
    assert make_bank(tmp_path, Size(2, 20), Life(), ["Hello."], embedder, SILENT) == first
    assert first.path.stat().st_mtime_ns == before


@pytest.mark.parametrize("package", ["bm25s", "tantivy"])
def test_a_missing_package_is_asked_for_with_the_line_that_installs_it(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MemoirError, match=r"pip install -r requirements-test\.txt"):
        getattr(references, package)(None)


def test_the_engines_for_words_find_the_same_line_and_nothing_for_words_that_nobody_said(tmp_path):
    terms = ["red boat harbour", "green boat", "old windmill on hill"]
    corpus = references.Corpus(np.arange(1, 4), terms, np.zeros((3, 2), np.float32), frozenset(), tmp_path)
    for build in (references.fts5, references.bm25s, references.tantivy):
        search = build(corpus)
        assert search(["windmill", "boat"], np.zeros(2))[0][0] == 3
        assert {found for found, _ in search(["boat"], np.zeros(2))} >= {1, 2}
        assert not search(["lighthouse"], np.zeros(2))


# --- the made-up life


def test_a_life_is_the_same_for_its_seed_and_another_for_another():
    assert list(Life(3).sessions(200)) == list(Life(3).sessions(200))
    assert list(Life(3).sessions(200)) != list(Life(4).sessions(200))


def test_a_smaller_life_is_the_beginning_of_a_larger():
    def said(memories):
        return [[t.text for t in s.turns] for s in Life().sessions(memories)]

    assert said(400)[:10] == said(200)


def test_personas_share_a_life_without_sharing_a_session():
    size = Size(5, 3 * A_SESSION)
    numbers = [number for persona in range(5) for number in sessions_of(size, persona)]
    assert sorted(numbers) == list(range(15))
    told = [s.external_id for p in range(5) for s in Life().sessions(size.memories, first=p, every=5)]
    assert told == [f"session {number}" for number in numbers]


def test_every_session_leaves_as_many_memories_as_it_says(tmp_path):
    bank = Bank(tmp_path / "bank.db")
    persona = bank.create_persona(PersonaDraft("Ada"))
    assert bank.remember(persona.id, list(Life().sessions(100))).memories == 100


def test_turns_are_as_long_as_talk():
    lengths = [len(t.text.split()) for s in Life().sessions(4000) for t in s.turns]
    assert 15 <= np.median(lengths) <= 25
    assert max(lengths) > 4 * np.median(lengths)


def test_questions_are_about_what_was_said():
    life, draw = Life(), np.random.default_rng(0)
    said = [set(lexical.content_terms(t.text)) for s in life.sessions(200) for t in s.turns]
    for question in life.questions(20, range(10), draw):
        asked = set(lexical.content_terms(question))
        assert any(len(asked & words) >= 4 for words in said)


def test_mixtures_have_the_mean_and_the_spectrum_of_what_they_are_made_of(embedder):
    given = embedder.encode([t.text for s in Life().sessions(800) for t in s.turns])
    made = mixtures(given, 4000, np.random.default_rng([0, 2]))

    def leading(vectors):
        values = np.linalg.eigvalsh(np.cov(vectors.T))[::-1]
        return np.cumsum(values)[[7, 31, 127]] / values.sum()

    assert np.allclose(np.linalg.norm(made, axis=1), 1, atol=1e-5)
    assert float(given.mean(axis=0) @ made.mean(axis=0)) > 0.95 * float(given.mean(axis=0) @ given.mean(axis=0))
    assert np.allclose(leading(made), leading(given), atol=0.05)


def test_every_memory_has_a_vector_and_encoded_texts_have_their_own(tmp_path, embedder):
    life = Life()
    (session,) = life.sessions(A_SESSION)
    texts = [t.text for t in session.turns[:3]]
    world = make_bank(tmp_path, Size(1, 100), life, texts, embedder, SILENT)
    held = references.read(Bank(world.path), embedder.model, embedder.dimensions)
    assert np.allclose(np.linalg.norm(held.vectors, axis=1), 1, atol=1e-5)
    assert np.allclose(held.vectors[:3], embedder.encode(texts), atol=1e-6)
