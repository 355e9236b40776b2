"""LongMemEval: a question, its haystack, and the evidence that can be recalled."""

import json
import random
import tracemalloc
from collections import Counter
from datetime import UTC, datetime

import pytest

from eval.benchmarks.longmemeval.adapter import load
from memory.errors import UnreadableFile
from memory.importers.benchmarks import longmemeval as importer
from memory.types import SessionDraft, Skip

QUESTION = {
    "question_id": "q1",
    "question_type": "multi-session",
    "question": "Which boats did I buy?",
    "question_date": "2024/05/30 (Thu) 23:40",
    "answer": "The red one and the blue one",
    "answer_session_ids": ["answer_b_1", "answer_b_2"],
    "haystack_dates": ["2024/05/01 (Wed) 09:30", "2024/05/02 (Thu) 10:00", "2024/05/03 (Fri) 11:00"],
    "haystack_session_ids": ["a", "answer_b_1", "answer_b_2"],
    "haystack_sessions": [
        [{"role": "user", "content": "Any tea shops here?"}],
        [
            {"role": "user", "content": "Hello.", "has_answer": False},
            {"role": "assistant", "content": "Hello!", "has_answer": False},
            {"role": "user", "content": "I bought a red boat.", "has_answer": True},
        ],
        [{"role": "assistant", "content": "So the blue boat is yours as well.", "has_answer": True}],
    ],
}


def write(tmp_path, *questions, name="longmemeval_s.json"):
    path = tmp_path / name
    path.write_text(json.dumps(questions), encoding="utf-8")
    return path


def loaded(tmp_path, **changes):
    (history,) = load(write(tmp_path, QUESTION | changes))
    return history


def test_a_question_is_a_history_that_a_user_would_import(tmp_path):
    path = write(tmp_path, QUESTION)
    (history,) = load(path)
    records = list(importer.read(path))
    assert (history.id, history.persona) == ("q1", records[0])
    assert list(history.sessions) == [record for record in records if isinstance(record, SessionDraft)]
    assert (history.memories, history.skips) == ((), ())


def test_evidence_is_sessions_and_marked_turns_whoever_speaks(tmp_path):
    (found,) = loaded(tmp_path).probes
    assert found.gold.sessions == ("answer_b_1", "answer_b_2")
    assert found.gold.turns == ("answer_b_1_3", "answer_b_2_1")
    assert (found.gold.answers, found.gold.answerable) == (("The red one and the blue one",), True)
    assert (found.ability, found.asked_at) == ("multi-session", datetime(2024, 5, 30, 23, 40, tzinfo=UTC))


def test_the_official_evidence_is_what_the_user_said_whenever_it_is_dated(tmp_path):
    (found,) = loaded(tmp_path).probes
    assert (found.gold.user_turns, found.gold.user_sessions) == (("answer_b_1_3",), ("answer_b_1",))
    (early,) = loaded(tmp_path, question_date="2024/05/01 (Wed) 23:40").probes
    assert early.gold.turns == ()
    assert (early.gold.user_turns, early.gold.user_sessions) == (("answer_b_1_3",), ("answer_b_1",))


def test_numbers_are_answers(tmp_path):
    assert loaded(tmp_path, answer=3).probes[0].gold.answers == ("3",)


def test_what_only_the_assistant_said_is_not_in_the_user_side(tmp_path):
    assert loaded(tmp_path).probes[0].populations == ("all", "no_abs", "user_side")
    only = loaded(tmp_path, answer_session_ids=["answer_b_2"]).probes[0]
    assert only.populations == ("all", "no_abs")


def test_a_question_without_an_answer_is_not_counted(tmp_path):
    (found,) = loaded(tmp_path, question_id="q1_abs").probes
    assert (found.gold.answerable, found.counted, found.populations) == (False, False, ("all",))


def test_a_date_without_a_clock_time_is_the_end_of_the_day(tmp_path):
    found = loaded(tmp_path, question_date="2024/05/30 (Thu)").probes[0]
    assert found.asked_at == datetime(2024, 5, 30, 23, 59, 59, 999_999, tzinfo=UTC)


def test_a_question_without_a_readable_date_comes_after_the_last_session(tmp_path):
    history = loaded(tmp_path, question_date="soon")
    assert history.probes[0].asked_at == datetime(2024, 5, 3, 23, 59, 59, 999_999, tzinfo=UTC)
    assert [skip.place for skip in history.skips] == ["[0].question_date"]


def test_evidence_after_the_question_is_left_out_of_both_levels(tmp_path):
    history = loaded(tmp_path, question_date="2024/05/02 (Thu) 10:00")
    gold = history.probes[0].gold
    assert (gold.sessions, gold.turns) == (("answer_b_1",), ("answer_b_1_3",))
    late = "evidence 'answer_b_2' is dated 2024/05/03 (Fri) 11:00, after the question; left out"
    assert history.skips == (Skip("[0].answer_session_ids", late),)


def test_the_first_of_two_sessions_with_one_id_is_the_evidence(tmp_path):
    history = loaded(
        tmp_path, haystack_session_ids=["a", "answer_b_1", "answer_b_1"], answer_session_ids=["answer_b_1"]
    )
    assert [session.external_id for session in history.sessions] == ["a", "answer_b_1", "answer_b_1#2"]
    assert history.probes[0].gold.sessions == ("answer_b_1",)
    assert history.probes[0].gold.turns == ("answer_b_1_3",)
    assert history.skips[-1] == Skip(
        "[0].answer_session_ids[0]", "evidence 'answer_b_1' is 2 times in the haystack; the first is meant"
    )


def test_evidence_that_is_not_there_is_noted(tmp_path):
    sessions = [*QUESTION["haystack_sessions"][:2], [{"role": "user", "content": " ", "has_answer": True}]]
    history = loaded(tmp_path, haystack_sessions=sessions, answer_session_ids=["nowhere", "answer_b_2"])
    assert (history.probes[0].gold.sessions, history.probes[0].gold.turns) == ((), ())
    assert [skip.reason for skip in history.skips][-2:] == [
        "evidence 'nowhere' is not in the haystack; left out",
        "evidence 'answer_b_2' has no text; left out",
    ]


@pytest.mark.parametrize("field", ["question_id", "question", "answer"])
def test_a_question_that_cannot_be_asked_costs_only_itself(tmp_path, field):
    first, second = load(write(tmp_path, QUESTION | {field: None}, QUESTION | {"question_id": "q2"}))
    assert (first.probes, [p.id for p in second.probes]) == ((), ["q2"])
    assert first.skips == (Skip(f"[0].{field}", "missing; the question is not asked"),)


def test_an_id_used_twice_is_told_apart(tmp_path):
    first, second = load(write(tmp_path, QUESTION, QUESTION))
    assert [h.id for h in (first, second)] == [h.probes[0].id for h in (first, second)] == ["q1", "q1-2"]


def test_what_is_no_question_is_noted_with_the_next(tmp_path):
    first, second = load(write(tmp_path, QUESTION, 5, QUESTION | {"question_id": "q2"}))
    assert (first.skips, second.skips) == ((), (Skip("[1]", "expected a question, found a number"),))


def test_the_order_of_questions_and_fields_does_not_matter(tmp_path):
    other = QUESTION | {"question_id": "q2"}
    there = list(load(write(tmp_path, QUESTION, other)))
    back = list(load(write(tmp_path, dict(reversed(other.items())), dict(reversed(QUESTION.items())))))
    assert there == back[::-1]


def test_questions_before_a_break_are_handed_over(tmp_path):
    path = tmp_path / "longmemeval_s.json"
    path.write_text(json.dumps([QUESTION, QUESTION])[:-40], encoding="utf-8")
    found = []
    with pytest.raises(UnreadableFile, match=r"longmemeval_s\.json ends unexpectedly at byte"):
        found.extend(load(path))
    assert len(found) == 1


def test_a_folder_may_hold_one_portion(tmp_path):
    write(tmp_path, QUESTION, name="longmemeval_s")
    assert len(list(load(tmp_path))) == 1
    write(tmp_path, QUESTION, name="longmemeval_oracle.json")
    write(tmp_path, QUESTION, name="longmemeval_s_cleaned.json")
    with pytest.raises(UnreadableFile, match=r"longmemeval_oracle\.json, longmemeval_s_cleaned\.json"):
        list(load(tmp_path))


def test_one_question_is_in_memory_at_a_time(tmp_path):
    turns = [{"role": "user", "content": "word " * 400}] * 10
    question = QUESTION | {"haystack_sessions": [turns] * 20}
    path = tmp_path / "longmemeval_m.json"
    item = json.dumps(question)
    path.write_text("[" + ", ".join([item] * 40) + "]", encoding="utf-8")
    tracemalloc.start()
    try:
        count = sum(len(history.sessions) for history in load(path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (count, path.stat().st_size > 15_000_000, peak < 6_000_000) == (800, True, True)


@pytest.mark.data
def test_the_development_file_has_thirty_questions(benchmark_data):
    histories = list(load(benchmark_data / "longmemeval"))
    probes = [p for history in histories for p in history.probes]
    assert (len(histories), len(probes), len({p.id for p in probes})) == (30, 30, 30)
    assert Counter(p.ability for p in probes) == {
        "multi-session": 11,
        "temporal-reasoning": 7,
        "single-session-preference": 5,
        "knowledge-update": 4,
        "single-session-user": 2,
        "single-session-assistant": 1,
    }
    assert Counter(name for p in probes for name in p.populations) == {"all": 30, "no_abs": 28, "user_side": 27}
    assert sum(p.counted for p in probes) == sum(p.gold.answerable for p in probes) == 28
    assert sum(len(p.gold.sessions) for p in probes) == 63
    reasons = [skip.reason for history in histories for skip in history.skips]
    assert Counter(reason.split(" ")[0] for reason in reasons) == {"evidence": 4, "empty": 1, "a": 1}
    assert all("after the question" in reason for reason in reasons if reason.startswith("evidence"))


@pytest.mark.data
def test_histories_are_what_a_user_imports(benchmark_data):
    path = benchmark_data / "longmemeval" / "longmemeval_s_cleaned_dev.json"
    imported = [record for record in importer.read(path) if isinstance(record, SessionDraft)]
    assert [session for history in load(path) for session in history.sessions] == imported


@pytest.mark.data
def test_a_shuffled_file_holds_the_same_probes(benchmark_data, tmp_path):
    source = benchmark_data / "longmemeval" / "longmemeval_s_cleaned_dev.json"
    questions = json.loads(source.read_text(encoding="utf-8"))
    random.Random(5).shuffle(questions)
    shuffled = write(tmp_path, *questions)
    assert {p.id: p for h in load(shuffled) for p in h.probes} == {p.id: p for h in load(source) for p in h.probes}
