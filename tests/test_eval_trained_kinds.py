"""PerLTQA's split, and a classifier that is trained on one part of it and asked about another."""

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import test_eval_benchmarks_perltqa as perltqa
from eval.__main__ import main
from eval.benchmarks import NEEDS, PRESETS
from eval.benchmarks.perltqa import training
from eval.benchmarks.perltqa.adapter import SIZES, labelled_questions, load, split
from eval.play.models import RECORD, TrainedKinds
from eval.runs.evaluator import Evaluator
from eval.settings import EvalSettings
from memory.embedding import minilm
from memory.errors import MemoirError
from memory.types import SEMANTIC, STORES
from support.chat_server import ChatServer

JOBS = ("baker", "welder", "nurse", "pilot", "potter", "judge", "baron", "coach", "diver", "clerk")


# --- the split


def test_the_whole_benchmark_is_split_as_the_paper_prints():
    parts = split(f"Question {n}?" for n in range(8593))
    assert Counter(parts.values()) == SIZES == {"training": 5155, "validation": 1719, "test": 1719}


def test_a_part_of_the_benchmark_is_split_by_the_same_shares_whatever_its_order():
    questions = [f"Question {n}?" for n in range(202)]
    parts = split(questions)
    assert Counter(parts.values()) == {"training": 122, "validation": 40, "test": 40}
    assert split(reversed(questions)) == parts


def test_a_question_stays_in_its_part_when_another_one_is_added():
    parts = split(f"Question {n}?" for n in range(1000))
    more = split(f"Question {n}?" for n in range(1001))
    assert sum(more[question] != part for question, part in parts.items()) <= 3


@given(st.lists(st.sampled_from(["A?", "a ?", "a  ?", "B?", "C?", "D?", "E?", "F?"]), min_size=1))
def test_equal_texts_are_in_one_part_and_every_text_is_in_one(questions):
    parts = split(questions)
    assert set(parts) == set(questions)
    assert len({parts[question] for question in questions if question in ("a ?", "a  ?")}) <= 1


def write(folder, number=40):
    """A character with as many questions about a profile as about events."""
    folder.mkdir(exist_ok=True)
    half = range(number // 2)
    profile = [perltqa.item("Occupation", "A baker.", f"Is Pia a {JOBS[n % 10]} in {n // 10}?") for n in half]
    events = [perltqa.item("['9_1_0']", "A raft.", f"What did Mo build on day {n} of that trip?") for n in half]
    questions = {"profile": profile, "events": [{"9_1_0": events}]}
    return perltqa.write(folder, {"Pia Lund": perltqa.CHARACTER}, [{"Pia Lund": questions}])


def test_the_adapter_marks_the_test_questions_and_the_others_are_to_train_on(tmp_path):
    (history,) = load(write(tmp_path))
    labelled = labelled_questions(tmp_path)
    assert {part: len(own) for part, own in labelled.items()} == {"training": 24, "validation": 8, "test": 8}
    assert Counter(kind for own in labelled.values() for _, kind in own) == {"semantic": 20, "episodic": 20}
    marked = {probe.question for probe in history.probes if "test" in probe.populations}
    assert marked == {text for text, _ in labelled["test"]}


def test_a_question_whose_memory_is_missing_is_split_but_not_asked(tmp_path):
    lost = perltqa.item("Shoe size", question="What is her shoe size?")
    bank = {"Pia Lund": perltqa.CHARACTER}
    perltqa.write(
        tmp_path, bank, [{"Pia Lund": perltqa.QUESTIONS | {"profile": [lost]}, "Somebody": perltqa.QUESTIONS}]
    )
    (history,) = load(tmp_path)
    assert lost["Question"] not in {probe.question for probe in history.probes}
    assert sum(map(len, labelled_questions(tmp_path).values())) == 5 + 5


@pytest.mark.data
def test_the_sample_is_split_by_the_papers_shares(benchmark_data):
    counts = {part: len(own) for part, own in labelled_questions(benchmark_data / "perltqa").items()}
    assert counts == {"training": 122, "validation": 40, "test": 40}


# --- training


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A BERT of one layer with random weights and the words of MiniLM."""
    from transformers import AutoTokenizer, BertConfig, BertModel

    folder = tmp_path_factory.mktemp("base")
    tokenizer = AutoTokenizer.from_pretrained(minilm.folder())
    shape = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    BertModel(BertConfig(vocab_size=len(tokenizer), **shape)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def train(home, base, *options):
    """Train on the files in a folder; returns the status."""
    return main(
        ["train", "perltqa", "--data", str(home / "data"), "--base", str(base), "--out", str(home / "out"), *options]
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory, base):
    """A folder with files and a classifier that was trained on them, as `out`."""
    home = tmp_path_factory.mktemp("home")
    write(home / "data")
    assert train(home, base) == 0
    return home


@pytest.fixture
def command(home, monkeypatch, capsys):
    monkeypatch.setenv("MEMOIR_HOME", str(home / "memoir"))

    def run(*arguments):
        status = main(["run", "perltqa", "--data", str(home / "data"), *arguments])
        return status, *capsys.readouterr()

    return run


def test_training_prints_the_sizes_and_the_figures_of_the_test_questions(home, base, tmp_path, capsys):
    (tmp_path / "data").symlink_to(home / "data")
    assert train(tmp_path, base, "--json", "--instruction") == 0
    done = json.loads(capsys.readouterr().out)
    assert done["questions"] == {"training": 24, "validation": 8, "test": 8}
    assert set(done["test"]) == {f"classification_{name}" for name in ("accuracy", "precision", "recall", "f1")}
    assert done["test"]["classification_recall"] == done["test"]["classification_accuracy"]
    assert 1 <= done["epoch"] <= 4
    trained, plain = TrainedKinds.load(tmp_path / "out"), TrainedKinds.load(home / "out")
    assert (len(trained.training.seen), trained.training.base) == (32, str(base))
    longer, shorter = (len(each.tokens(["Who?"])["input_ids"][0]) for each in (trained, plain))
    assert longer > shorter + 20


def test_it_learns_and_keeps_the_best_epoch(home, base, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(training, "LEARNING_RATE", 3e-3)
    monkeypatch.setattr(training, "EPOCHS", 15)
    write(tmp_path / "data", 200)
    assert train(tmp_path, base, "--json") == 0
    done = json.loads(capsys.readouterr().out)
    assert done["test"]["classification_accuracy"] == done["validation"]["classification_accuracy"] == 1
    assert done["epoch"] < 15
    assert done["always"]["classification_accuracy"] < 0.7


def test_the_same_seed_trains_the_same_classifier(home, base, tmp_path):
    (tmp_path / "data").symlink_to(home / "data")
    assert train(tmp_path, base) == 0
    first, second = ((folder / "out" / "model.safetensors").read_bytes() for folder in (home, tmp_path))
    assert first == second


@pytest.mark.parametrize(
    ("questions", "options", "said"),
    [(40, ("--base", "/nowhere"), "--base /nowhere is no model"), (2, (), "has no questions for training")],
)
def test_what_cannot_be_trained_is_an_error_and_leaves_no_folder(tmp_path, base, capsys, questions, options, said):
    write(tmp_path / "data", questions)
    assert train(tmp_path, base, *options) == 1
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_with_files_is_not_written_to(home, base, capsys):
    assert train(home, base) == 1
    assert "has files already" in capsys.readouterr().err


# --- asking


def test_it_gives_every_store_of_a_kind_the_same_share_and_refuses_what_it_has_seen(home):
    trained = TrainedKinds.load(home / "out")
    parts = {part: own[-1][0] for part, own in labelled_questions(home / "data").items()}
    stores = trained.stores(parts["test"])
    ((semantic, episodic),) = trained.probabilities([parts["test"]])
    assert set(stores) == set(STORES)
    assert sum(stores[store] for store in SEMANTIC) == pytest.approx(semantic)
    assert stores["event"] == stores["dialogue"] == episodic / 2
    for part in ("training", "validation"):
        with pytest.raises(MemoirError, match="questions=test"):
            trained.stores(parts[part])


def test_half_a_classifier_is_none(home, tmp_path):
    with pytest.raises(MemoirError, match="python -m eval train perltqa"):
        TrainedKinds.load(tmp_path)
    (tmp_path / RECORD).write_bytes((home / "out" / RECORD).read_bytes())
    with pytest.raises(MemoirError, match="cannot be loaded"):
        TrainedKinds.load(tmp_path)


def test_table_4_has_its_row_once_it_is_trained_and_all_rows_have_the_test_questions(command, home, capsys):
    _, _, err = command("--preset", "perltqa-table-4")
    (label,) = (row.label for row in PRESETS["perltqa-table-4"].rows if row.needs == NEEDS["TRAINED"])
    assert f"Skipped the row “{label}”: it needs {NEEDS['TRAINED']}." in err
    status, out, err = command("--preset", "perltqa-table-4", "--set", f"trained_classifier={home / 'out'}", "--json")
    assert status == 0, err
    rows = json.loads(out)["rows"]
    assert {name: row["n"] for name, row in rows.items()} == {"learned": 8, label: 8}
    evaluator = Evaluator(EvalSettings(home=home / "memoir"))
    samples = evaluator.runs.get(rows[label]["run"]).samples()
    trained = TrainedKinds.load(home / "out")
    assert all(sample.prediction.stores == pytest.approx(trained.stores(sample.probe.question)) for sample in samples)
    assert rows["learned"]["settings"]["trained_classifier"] == ""
    assert rows[label]["settings"]["trained_classifier"].startswith(f"{home / 'out'}, SHA-256 ")


def test_a_chat_model_classifies_by_instruction_and_with_examples(command, home):
    """The model finds every question to be about an event, which half of them are."""
    with ChatServer('{"profile": 10, "relationship": 0, "world": 0, "event": 80, "dialogue": 10}') as server:
        status, out, err = command("--preset", "perltqa-table-4", "--set", f"model={server.model()}", "--json")
        sent = [len(request["messages"]) for request in server.requests]
    assert status == 0, err
    rows = json.loads(out)["rows"]
    assert list(rows) == ["learned", "instruction", "few-shot"]
    marked = [kind for _, kind in labelled_questions(home / "data")["test"]]
    for label in ("instruction", "few-shot"):
        assert rows[label]["metrics"]["classification_accuracy"]["value"] == marked.count("episodic") / len(marked)
        assert rows[label]["unreadable"] == {}
    assert (len(sent), sent[:8], min(sent[8:]) > 8) == (16, [1] * 8, True)


def test_a_run_that_asks_the_questions_of_training_stops(command, home):
    trained = ("--reader", "none", "--set", f"trained_classifier={home / 'out'}")
    status, _, err = command(*trained)
    assert status == 1
    assert "set questions=test" in err
    assert command(*trained, "--set", "questions=test")[0] == 0
    assert command(*trained, "--set", "classifier=none")[0] == 0


def test_a_folder_without_a_classifier_stops_a_run_before_it_asks(command, tmp_path):
    status, _, err = command("--set", f"trained_classifier={tmp_path}", "--set", "questions=test")
    assert status == 1
    assert "holds no trained classifier" in err
