"""LongMemEval: a history a question, and no gold in what is read."""

import json
import tracemalloc
from datetime import UTC, datetime

import pytest

from memory.errors import UnreadableFile
from memory.importers.benchmarks.longmemeval import read, read_question
from memory.types import PersonaDraft, SessionDraft, Skip
from support.cpu_time import at_most_cpu_seconds

QUESTION = {
    "question_id": "q1_abs",
    "question": "Which boat did I buy?",
    "answer": "The red one",
    "answer_session_ids": ["answer_b"],
    "haystack_dates": ["2024/05/01 (Wed) 09:30", "2024/05/02"],
    "haystack_session_ids": ["a", "answer_b"],
    "haystack_sessions": [
        [{"role": "user", "content": "Any tea shops here?"}, {"role": "assistant", "content": "Two of them."}],
        [{"role": "user", "content": "I bought a boat today.", "has_answer": True}],
    ],
}


def records_of(tmp_path, *questions):
    path = tmp_path / "lme.json"
    path.write_text(json.dumps(questions), encoding="utf-8")
    return list(read(path))


def sessions_in(records):
    return [record for record in records if isinstance(record, SessionDraft)]


def skips_in(records):
    return [record for record in records if isinstance(record, Skip)]


def test_a_question_becomes_a_history_found_by_its_id(tmp_path):
    persona, *sessions = records_of(tmp_path, QUESTION)
    assert persona == PersonaDraft("LongMemEval q1_abs", external_id="q1_abs")
    assert [session.external_id for session in sessions] == ["a", "answer_b"]
    assert [turn.role for turn in sessions[0].turns] == ["user", "assistant"]
    assert sessions[0].turns[1].external_id == "a_2"


def test_dates_are_utc_and_keep_their_spelling(tmp_path):
    first, second = sessions_in(records_of(tmp_path, QUESTION))
    assert (first.started_at, first.started_text) == (datetime(2024, 5, 1, 9, 30, tzinfo=UTC), "2024/05/01 (Wed) 09:30")
    assert second.started_at == datetime(2024, 5, 2, tzinfo=UTC)


def test_a_text_too_long_for_a_date_is_reported_at_once(tmp_path):
    long = "2024/05/01" + " " * 150_000 + "09:30"
    with at_most_cpu_seconds(2.0):
        records = records_of(tmp_path, QUESTION | {"haystack_dates": [long, "2024/05/02"]})
    first, second = sessions_in(records)
    assert first.started_at is None
    assert second.started_at is not None
    assert [(skip.place, skip.reason) for skip in skips_in(records)] == [
        ("[0].haystack_sessions[0].date", "no readable date; kept without one")
    ]


def test_no_gold_is_read(tmp_path):
    records = records_of(tmp_path, QUESTION)
    texts = [turn.text + turn.speaker for session in sessions_in(records) for turn in session.turns]
    texts += [session.title for session in sessions_in(records)]
    for gold in ("has_answer", "answer_", "red one", "Which boat"):
        assert not any(gold in text for text in texts)


def test_fields_in_another_order_give_the_same_histories(tmp_path):
    turned = dict(reversed(QUESTION.items()))
    assert records_of(tmp_path, turned, QUESTION) == records_of(tmp_path, QUESTION, turned)


def test_a_session_id_used_twice_is_kept_apart_and_noted(tmp_path):
    records = records_of(tmp_path, QUESTION | {"haystack_session_ids": ["a", "a"]})
    assert [session.external_id for session in sessions_in(records)] == ["a", "a#2"]
    assert skips_in(records) == [
        Skip("[0].haystack_sessions[1]", "a session id used before in this history; kept as a#2")
    ]


def test_one_question_alone_is_read_like_one_of_a_file(tmp_path):
    assert list(read_question(0, QUESTION)) == records_of(tmp_path, QUESTION)
    assert list(read_question(0, dict(reversed(QUESTION.items())))) == records_of(tmp_path, QUESTION)


def test_sessions_that_are_no_list_are_noted(tmp_path):
    broken = QUESTION | {"haystack_sessions": {"a": [{"role": "user", "content": "Hello."}]}}
    note = Skip("[0].haystack_sessions.a", "expected a list of sessions, found an object")
    assert skips_in(records_of(tmp_path, broken)) == [note]
    assert skips_in(read_question(0, broken)) == [note]


def test_missing_and_future_dates_are_kept_and_noted(tmp_path):
    records = records_of(tmp_path, QUESTION | {"haystack_dates": ["2999/01/01 (Tue) 10:00"]})
    first, second = sessions_in(records)
    assert (first.started_at.year, second.started_at) == (2999, None)
    assert [skip.reason for skip in skips_in(records)] == [
        "dated in the future; kept as it is",
        "no readable date; kept without one",
    ]


def test_empty_turns_are_skipped_and_the_official_numbers_stay(tmp_path):
    turns = [{"role": "user", "content": " "}, {"role": "assistant", "content": "Good day."}, "noise"]
    records = records_of(tmp_path, QUESTION | {"haystack_sessions": [turns]})
    assert [turn.external_id for turn in sessions_in(records)[0].turns] == ["a_2"]
    assert [skip.place for skip in skips_in(records)] == [
        "[0].haystack_sessions[0][0].content",
        "[0].haystack_sessions[0][2]",
    ]


def test_a_truncated_file_keeps_every_complete_session(tmp_path):
    path = tmp_path / "lme.json"
    whole = json.dumps([QUESTION, QUESTION | {"question_id": "q2"}])
    path.write_text(whole[: whole.rindex("I bought")], encoding="utf-8")
    records = []
    with pytest.raises(UnreadableFile) as fault:
        records.extend(read(path))
    assert len(sessions_in(records)) == 3
    assert "in [1].haystack_sessions[1]" in str(fault.value)


def test_memory_stays_far_below_the_size_of_the_file(tmp_path):
    turns = [{"role": "user", "content": "word " * 400}] * 10
    question = QUESTION | {"haystack_sessions": [turns] * 40, "haystack_dates": [], "haystack_session_ids": []}
    path = tmp_path / "large.json"
    item = json.dumps(question)
    path.write_text("[" + ", ".join([item] * 25) + "]", encoding="utf-8")
    tracemalloc.start()
    try:
        count = sum(isinstance(record, SessionDraft) for record in read(path))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 1000
    assert path.stat().st_size > 18_000_000
    assert peak < 5_000_000


@pytest.mark.data
def test_the_development_file_has_thirty_histories(benchmark_data):
    records = list(read(benchmark_data / "longmemeval" / "longmemeval_s_cleaned_dev.json"))
    personas = [record for record in records if isinstance(record, PersonaDraft)]
    sessions = sessions_in(records)
    assert (len(personas), len({persona.external_id for persona in personas})) == (30, 30)
    assert sum(persona.external_id.endswith("_abs") for persona in personas) == 2
    assert (len(sessions), sum(len(session.turns) for session in sessions)) == (1418, 14719)
    assert all(session.started_at for session in sessions)
    assert not any("has_answer" in turn.text for session in sessions for turn in session.turns)
