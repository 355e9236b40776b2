"""LoCoMo: two friends, numbered sessions, pictures as captions."""

import json
from datetime import UTC, datetime

import pytest

from memory.errors import UnreadableFile
from memory.importers.benchmarks.locomo import read
from memory.types import PersonaDraft, SessionDraft, Skip

SAMPLE = {
    "qa": [{"question": "Where does Pia row?", "answer": "On the lake", "evidence": ["D1:1"], "category": 1}],
    "conversation": {
        "speaker_a": "Pia",
        "speaker_b": "Mo",
        "session_10_date_time": "9:05 am on 3 June, 2024",
        "session_10": [{"speaker": "Pia", "dia_id": "D10:1", "text": "Back again!"}],
        "session_1_date_time": "1:56 pm on 8 May, 2024",
        "session_1": [
            {"speaker": "Pia", "dia_id": "D1:1", "text": "I went rowing."},
            {"speaker": "Mo", "dia_id": "D1:2", "text": "Look!", "blip_caption": "a red boat", "query": "boat"},
            {"speaker": "Mo", "dia_id": "D1:3", "text": "", "img_url": ["https://example.org/a.jpg"]},
        ],
    },
    "session_summary": {"session_1_summary": "They talk."},
    "sample_id": "conv-1",
}


def records_of(tmp_path, *samples):
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps(samples), encoding="utf-8")
    return list(read(path))


def with_session(turns, date="1:56 pm on 8 May, 2024"):
    names = {"speaker_a": "Pia", "speaker_b": "Mo"}
    return SAMPLE | {"conversation": names | {"session_1": turns, "session_1_date_time": date}}


def test_a_conversation_is_named_after_both_and_found_by_its_id(tmp_path):
    assert records_of(tmp_path, SAMPLE)[0] == PersonaDraft("Pia & Mo", external_id="conv-1")


def test_sessions_come_in_numbered_order_with_their_dates(tmp_path):
    _, first, tenth = records_of(tmp_path, SAMPLE)
    assert (first.external_id, tenth.external_id) == ("session_1", "session_10")
    assert first.started_at == datetime(2024, 5, 8, 13, 56, tzinfo=UTC)
    assert tenth.started_text == "9:05 am on 3 June, 2024"


def test_turns_keep_speaker_role_and_dia_id(tmp_path):
    turns = records_of(tmp_path, SAMPLE)[1].turns
    assert [(turn.speaker, turn.role, turn.external_id) for turn in turns] == [
        ("Pia", "user", "D1:1"),
        ("Mo", "other", "D1:2"),
        ("Mo", "other", "D1:3"),
    ]


def test_a_picture_is_read_as_its_caption(tmp_path):
    turns = records_of(tmp_path, SAMPLE)[1].turns
    assert turns[1].text == "Look! [shares a picture: a red boat]"
    assert turns[2].text == "[shares a picture]"


def test_questions_and_summaries_are_not_read(tmp_path):
    kept = repr(records_of(tmp_path, SAMPLE))
    assert "On the lake" not in kept
    assert "They talk" not in kept


def test_an_unreadable_date_keeps_the_session_and_is_noted(tmp_path):
    _, note, session = records_of(tmp_path, with_session([{"speaker": "Pia", "text": "Hi"}], "when the ice melts"))
    assert (session.started_at, session.started_text) == (None, "when the ice melts")
    assert note == Skip("[0].conversation.session_1_date_time", "no readable date; kept without one")


def test_bad_turns_are_skipped_with_their_place(tmp_path):
    bad = [{"speaker": "Pia", "text": ""}, 7, {"speaker": "Mo", "text": ["no"]}, {"speaker": "Mo", "text": "Yes."}]
    records = records_of(tmp_path, with_session(bad))
    assert [record.place for record in records if isinstance(record, Skip)] == [
        "[0].conversation.session_1[0].text",
        "[0].conversation.session_1[1]",
        "[0].conversation.session_1[2].text",
        "[0].conversation.session_1[2].text",
    ]
    assert [turn.text for turn in records[-1].turns] == ["Yes."]


def test_what_is_no_conversation_is_passed_over(tmp_path):
    records = records_of(tmp_path, 3, {"sample_id": "x"}, SAMPLE)
    assert [type(record) for record in records[-3:]] == [PersonaDraft, SessionDraft, SessionDraft]
    assert "expected a conversation; skipped" in {record.reason for record in records[:-3]}


def test_a_truncated_file_keeps_the_conversations_before_the_break(tmp_path):
    path = tmp_path / "locomo.json"
    path.write_text(json.dumps([SAMPLE, SAMPLE])[:-40], encoding="utf-8")
    records = []
    with pytest.raises(UnreadableFile, match=r"in \[1\]"):
        records.extend(read(path))
    assert len(records) == 3


def test_zeros_in_a_text_are_left_out_and_noted(tmp_path):
    _, note, session = records_of(tmp_path, with_session([{"speaker": "Pia", "text": "a\x00b 🌊 שלום"}]))
    assert session.turns[0].text == "ab 🌊 שלום"
    assert note == Skip("[0].conversation.session_1[0].text", "1 U+0000 characters removed")


@pytest.mark.data
def test_the_development_file_has_five_conversations(benchmark_data):
    records = list(read(benchmark_data / "locomo" / "locomo_dev.json"))
    personas = [record for record in records if isinstance(record, PersonaDraft)]
    assert [persona.external_id for persona in personas] == ["conv-26", "conv-30", "conv-41", "conv-42", "conv-43"]
    assert personas[0].name == "Caroline & Melanie"
    sessions = [record for record in records if isinstance(record, SessionDraft)]
    assert (len(sessions), sum(len(session.turns) for session in sessions)) == (128, 2760)
    assert not any(isinstance(record, Skip) for record in records)
