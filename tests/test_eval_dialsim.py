"""DialSim: shows as pickles, scripts as text."""

import pickle
from datetime import UTC, datetime
from pathlib import Path

import pytest

from eval.benchmarks.dialsim.adapter import MOST_OF_A_TYPE, load
from eval.making.questions import graph_history
from memory.errors import UnreadableFile
from support.cpu_time import at_most_cpu_seconds
from support.dialsim_show import AGENT, EASY, HARD, session, show, write_show

SCRIPT = Path(__file__).parent / "data" / "harbour.txt"


@pytest.fixture
def history(tmp_path):
    (found,) = load(write_show(tmp_path))
    return found


def loaded(folder, value, name="quay_dialsim.pickle"):
    (folder / name).write_bytes(pickle.dumps(value))
    return next(load(folder / name))


def probe(history, id_):
    return next(p for p in history.probes if p.id == id_)


@pytest.mark.parametrize("shared", ["script", "hard_q"])
def test_a_text_that_many_sessions_share_is_not_read_for_ever(tmp_path, shared):
    long = f"Pia: {'Hello. ' * 100}\n" * 200
    item = {"questions": {"default": long}, "options": ["a", "b"], "answer": "a"}
    part = {"script": "Pia: Hello.", "date": "March 3, 2001", shared: long if shared == "script" else {"past": [item]}}
    assert len(loaded(tmp_path, {"S01E01": {1: part, 2: dict(part)}}).sessions) == 2
    many = {"S01E01": {n: dict(part) for n in range(5000)}}
    with at_most_cpu_seconds(5), pytest.raises(UnreadableFile, match="repeats its texts"):
        loaded(tmp_path, many)


def test_a_show_is_a_history_of_the_one_whom_the_agent_plays(history):
    assert (history.id, history.persona.name, history.persona.external_id) == ("friends", "Ross", "friends")
    assert [s.external_id for s in history.sessions] == [
        "2001-03-03#1",
        "2001-03-03#2",
        "2001-03-17#1",
        "2001-04-08#1",
        "2002-06-02#1",
        "2002-06-20#1",
    ]
    assert history.sessions[0].started_at == datetime(2001, 3, 3, tzinfo=UTC)
    assert history.skips == ()


def test_lines_become_turns_without_the_writers_and_with_what_goes_on(history):
    turns = history.sessions[0].turns
    assert [t.speaker for t in turns] == ["Scene", "Ross", "Pia", "Odo", "Ross", "Tam", "Ross", "Wilma"]
    assert turns[3].text == "The pilot cutter carried crate 1.\nwhich was heavy"
    assert (turns[0].external_id, turns[-1].external_id) == ("2001-03-03#1:1", "2001-03-03#1:8")


def test_every_question_is_a_probe_with_its_choice_its_askers_and_its_session(history):
    assert len(history.probes) == 6 * 2 * (len(HARD) + len(EASY))
    assert len({p.id for p in history.probes}) == len(history.probes)
    asked = probe(history, "2001-03-17#1/hard/past/1")
    assert asked.question == "default asks: which boat carried past 3-1?"
    assert asked.askers["Tam"] == "Tam asks: which boat carried past 3-1?"
    assert (asked.gold.choice, asked.gold.answers, asked.choices[1]) == (1, ("the pilot cutter",), "the pilot cutter")
    assert (asked.ability, asked.populations, asked.asked_in) == ("past", ("hard",), "2001-03-17#1")
    assert asked.asked_at == datetime(2001, 3, 17, tzinfo=UTC)


def test_questions_about_the_future_and_unknown_things_have_no_answer(history):
    answerable = {p.ability for p in history.probes if p.gold.answerable}
    assert answerable == {"past", "cur", "past_past", "past_cur", "cur_past", "ans_w_time", "ans_wo_time"}


def test_evidence_is_the_sessions_of_the_days_that_the_oracles_name_as_far_as_they_had_come(history):
    assert probe(history, "2001-04-08#1/hard/past/0").gold.sessions == ("2001-03-03#1", "2001-03-03#2")
    assert probe(history, "2001-03-03#1/hard/past/0").gold.sessions == ("2001-03-03#1",)
    assert probe(history, "2001-04-08#1/hard/past/1").gold.sessions == ("2001-03-17#1",)
    assert probe(history, "2001-04-08#1/easy/ans_w_time/3").gold.sessions == ("2001-03-03#1", "2001-03-03#2")
    assert probe(history, "2001-04-08#1/easy/ans_wo_time/3").gold.sessions == ()
    assert probe(history, "2001-04-08#1/hard/fu/0").gold.sessions == ()


def test_without_oracles_there_is_no_evidence(tmp_path):
    found = loaded(tmp_path, show())
    assert found.persona.name == AGENT
    assert not any(p.gold.sessions for p in found.probes)


def test_the_first_questions_are_of_as_many_sessions(history):
    assert len({p.asked_in for p in history.probes[:6]}) == 6


def test_of_many_questions_of_a_type_some_are_kept_and_the_rest_is_counted(tmp_path):
    one = session("March 3, 2001", 1)
    one["hard_q"] = {"past": [one["hard_q"]["past"][0] | {"n": n} for n in range(30)]}
    one["easy_q"] = {}
    found = loaded(tmp_path, {"E1": {1: one}})
    assert len(found.probes) == MOST_OF_A_TYPE
    assert [s.reason for s in found.skips] == ["30 questions, 8 kept: one is asked in a session"]


def test_what_cannot_be_used_is_left_out_and_named(tmp_path):
    broken = session("some day", 1)
    sound = session("March 3, 2001", 2)
    sound["hard_q"] = {"past": [{"questions": {}, "options": ["a", "b"], "answer": "a"}, "not an object"]}
    sound["easy_q"] = {"ans_w_time": {1: {"questions": {"default": "Q?"}, "options": ["a", "b"], "answer": "c"}}}
    found = loaded(tmp_path, {"E1": {1: broken, 2: sound, 3: "nothing", 4: {"date": "March 4, 2001", "script": ""}}})
    assert found.probes == ()
    assert [s.started_at is None for s in found.sessions] == [True, False]
    assert [s.place for s in found.skips] == [
        "E1, session 1",
        "E1, session 2, past",
        "E1, session 2, ans_w_time",
        "E1, session 3",
        "E1, session 4",
    ]


@pytest.mark.parametrize("value", [["a", "list"], {}, {"E1": {}}, {"E1": {1: {"script": 3}}}, 7])
def test_another_layout_is_an_error_that_says_what_is_expected(tmp_path, value):
    with pytest.raises(UnreadableFile, match=r"quay_dialsim\.pickle (holds|has) .*expected"):
        loaded(tmp_path, value)


def test_a_folder_gives_its_shows_and_scripts_but_not_the_oracles_or_other_texts(tmp_path):
    write_show(tmp_path)
    (tmp_path / "harbour.txt").write_text(SCRIPT.read_text())
    (tmp_path / "prompt.txt").write_text("Answer the question.")
    assert [h.id for h in load(tmp_path)] == ["friends", "harbour"]


def test_a_folder_without_a_show_says_what_is_looked_for(tmp_path):
    with pytest.raises(UnreadableFile, match=r"friends_dialsim\.pickle"):
        list(load(tmp_path))


def test_a_script_is_a_history_without_questions_which_its_facts_can_give_it():
    (found,) = load(SCRIPT)
    assert [s.external_id for s in found.sessions] == ["2001-03-03#1", "2001-05-20#2"]
    assert found.probes == ()
    assert "no questions of its own" in found.skips[-1].reason
    made = graph_history(found, seed=1)
    assert {p.gold.answers[0] for p in made.probes if p.gold.answerable} == {"Vellmar", "Sandwick", "Wilma"}
    home = next(p for p in made.probes if p.gold.answers == ("Sandwick",))
    assert home.gold.turns == ("2001-05-20#2:2",)
    assert home.gold.sessions == home.gold.items == ("2001-05-20#2",)


def test_a_text_without_sessions_is_an_error(tmp_path):
    (tmp_path / "a.txt").write_text("Pia: Hello.")
    with pytest.raises(UnreadableFile, match="Session #1"):
        list(load(tmp_path / "a.txt"))
