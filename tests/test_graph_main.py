"""`python -m graph ask` answers in words or JSON, and says what is wrong on stderr."""

import json
from datetime import datetime

import pytest

from graph.__main__ import main
from graph.models.registry import chat_model
from memory.bank.bank import Bank
from support.tiny_models import made_up

QUESTION = "When did I adopt Biscuit?"


@pytest.fixture
def home(marlow, tmp_path, monkeypatch, embedder):
    """A home whose bank knows what Marlow knows; the encoder is loaded once for all tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMOIR_HOME", str(tmp_path))
    monkeypatch.setattr("graph.server.services.shared", lambda model: embedder)
    return tmp_path


def ask(*words):
    return main(["ask", *words, "--persona", "marlow"])


def test_an_answer_is_printed_with_its_sources(home, capsys):
    assert ask(QUESTION, "--as-of", "2024-07-01") == 0
    answer, citation = capsys.readouterr().out.splitlines()
    assert "3 March 2024" in answer
    assert citation == (
        "  [1] dialogue, memory 1, session 1, 2024-03-04: Tilde: I adopted a greyhound called Biscuit yesterday."
    )


def test_json_holds_the_answer_its_sources_and_how_it_came_about(home, capsys):
    assert ask(QUESTION, "--as-of", "2024-07-01", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["abstained"], told["reason"], told["window"]) == (False, None, [])
    (citation,) = told["citations"]
    assert set(citation) == {"number", "memory", "session", "turn", "store", "speaker", "date", "quote", "scores"}
    assert citation["quote"] == "I adopted a greyhound called Biscuit yesterday."
    assert datetime.fromisoformat(citation["date"]) == datetime.fromisoformat("2024-03-04T10:00:00+00:00")
    assert {"lexical", "dense", "fused", "class", "fit", "rerank"} <= set(citation["scores"])
    bank = Bank(home / "bank.db")
    assert [t.id for t in bank.sources(1, citation["memory"])] == [citation["turn"]]
    assert [line["node"] for line in told["trace"]][:2] == ["classify", "retrieve"]
    assert all(line["milliseconds"] >= 0 for line in told["trace"])
    assert told["milliseconds"] == pytest.approx(sum(line["milliseconds"] for line in told["trace"]), abs=0.02)


def test_json_says_why_nothing_is_known_and_what_time_was_asked_about(home, capsys):
    assert ask("What did I do in 1950?", "--as-of", "2024-07-01", "--json", "--forgetful") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["abstained"], told["reason"], told["citations"]) == (True, "outside the known time", [])
    assert told["window"] == [{"text": "1950", "means": "1950", "sure": True}]


def test_nothing_after_the_day_is_known_and_all_of_the_day_is(home, capsys):
    ask(QUESTION, "--as-of", "2024-03-03", "--forgetful")
    assert "3 March" not in capsys.readouterr().out
    ask(QUESTION, "--as-of", "4 March 2024", "--forgetful")
    assert "3 March" in capsys.readouterr().out


def test_what_is_told_is_remembered_unless_it_is_to_be_forgotten(home, capsys):
    assert ask("I planted a quince tree.", "--forgetful") == 0
    ask("What did I plant?", "--forgetful")
    assert "quince" not in capsys.readouterr().out
    assert ask("I planted a quince tree.") == 0
    capsys.readouterr()
    ask("What did I plant?")
    assert "quince" in capsys.readouterr().out


def test_an_unknown_persona_is_a_fault_with_the_known_ones(home, capsys):
    assert main(["ask", "Hello?", "--persona", "Zoe"]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert "no persona 'Zoe'" in said.err
    assert "known: Marlow" in said.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ask", "Hello?", "--persona", "Marlow", "--as-of", "soonish"], "'soonish' is not a date"),
        (["ask", "  ", "--persona", "Marlow"], "the message is empty"),
        (["ask", "Hello?"], "--persona"),
        ([], "COMMAND"),
    ],
)
def test_wrong_arguments_are_named(home, capsys, words, said):
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("name", "value"), [("K", "0"), ("K", "many"), ("DENSE_WEIGHT", "2"), ("RANKER", "best")])
def test_a_setting_that_does_not_fit_is_named(home, capsys, monkeypatch, name, value):
    monkeypatch.setenv(f"MEMOIR_{name}", value)
    assert ask(QUESTION) == 1
    assert f"memoir: MEMOIR_{name}: Input should be" in capsys.readouterr().err


def test_a_setting_reaches_the_node_it_is_for(home, capsys, monkeypatch):
    monkeypatch.setenv("MEMOIR_K", "1")
    ask(QUESTION, "--json", "--forgetful")
    trace = {line["node"]: line for line in json.loads(capsys.readouterr().out)["trace"]}
    assert max(trace["retrieve"]["figures"].values()) == 1


def test_a_bank_that_cannot_be_opened_is_a_fault(home, capsys):
    (home / "bank.db").write_bytes(b"this is no bank, and long enough to be sure of it" * 100)
    assert ask(QUESTION) == 1
    assert "bank.db" in capsys.readouterr().err


@pytest.mark.slow
def test_a_model_is_measured_by_its_name(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr("graph.models.local_model.REPLY_TOKENS", 8)
    assert main(["models", made_up(tmp_path / "tiny"), "--quantization", "fp32", "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert (figures["quantization"], figures["context"]) == ("fp32", 8192)
    assert figures["keeps to a JSON schema"].endswith(" of 10")
    assert figures["tokens per s"] > 0
    chat_model(figures["model"], quantization="fp32").weights.unload()


def test_no_model_cannot_be_measured(capsys):
    assert main(["models", "none"]) == 1
    assert "is not a chat model" in capsys.readouterr().err
