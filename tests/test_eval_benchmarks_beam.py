"""BEAM: chats in batches, and questions whose evidence is named in several shapes."""

import json
from datetime import UTC, datetime

import pytest

from eval.benchmarks.beam.adapter import CHATS, QUESTIONS, load
from memory.errors import UnreadableFile


def message(number, content, day="", role="user"):
    return {"role": role, "id": number, "content": content} | ({"time_anchor": day} if day else {})


BATCHES = [
    {
        "batch_number": 1,
        "turns": [
            [
                message(0, "I bought a canoe. ->-> 1,1", "March-15-2024"),
                message(1, "Congratulations!", role="assistant"),
            ],
            [message(2, "It is called Otter. ->-> 1,2")],
        ],
    },
    {"batch_number": 2, "turns": [[message(3, "I sold the canoe."), message(4, "")]]},
    {"batch_number": 3, "turns": [[message(5, "The new one is red.", "May-2-2024")]]},
]
EXTRACTION = {
    "question": "What is my canoe called?",
    "answer": "Otter",
    "source_chat_ids": [2],
    "rubric": ["Otter", 3, " "],
}
UPDATE = {"question": "Have I a canoe?", "answer": "A red one", "source_chat_ids": {"old": [0], "new": [[3], 5]}}
CONTRADICTION = {"question": "Did I sell it?", "ideal_answer": "You said both", "source_chat_ids": [3, 77]}
NEVER = {"question": "What did it cost?", "ideal_response": "You did not say.", "abstention_type": "missing"}
QUESTION_LISTS = {
    "information_extraction": [EXTRACTION],
    "knowledge_update": [UPDATE],
    "contradiction_resolution": [CONTRADICTION],
    "abstention": [NEVER],
}


def write(folder, batches=BATCHES, questions=QUESTION_LISTS, chat=CHATS[-1]):
    (folder / QUESTIONS).parent.mkdir(parents=True, exist_ok=True)
    (folder / chat).write_text(json.dumps(batches), encoding="utf-8")
    (folder / QUESTIONS).write_text(json.dumps(questions), encoding="utf-8")


def loaded(folder, **files):
    write(folder, **files)
    (history,) = load(folder)
    return history


def test_a_batch_is_a_session_of_its_day_or_the_day_before(tmp_path):
    history = loaded(tmp_path / "100K" / "1")
    assert (history.id, len(history.probes)) == ("100K-1", 4)
    days = [session.started_at for session in history.sessions]
    assert days == [datetime(2024, 3, 15, tzinfo=UTC)] * 2 + [datetime(2024, 5, 2, tzinfo=UTC)]
    assert {probe.asked_at for probe in history.probes} == {datetime(2024, 5, 2, 23, 59, 59, 999_999, tzinfo=UTC)}


def test_the_mark_of_the_plan_is_not_remembered(tmp_path):
    first = loaded(tmp_path).sessions[0]
    assert [turn.text for turn in first.turns] == ["I bought a canoe.", "Congratulations!", "It is called Otter."]
    assert [turn.role for turn in first.turns] == ["user", "assistant", "user"]


def test_evidence_is_found_in_lists_and_objects(tmp_path):
    history = loaded(tmp_path)
    gold = {probe.ability: probe.gold for probe in history.probes}
    assert (gold["information_extraction"].turns, gold["information_extraction"].answers) == (("2",), ("Otter",))
    assert gold["knowledge_update"].turns == ("0", "3", "5")
    assert gold["knowledge_update"].sessions == ("batch 1", "batch 2", "batch 3")
    assert gold["contradiction_resolution"].turns == ("3",)
    assert any("'77' is not in the chat" in skip.reason for skip in history.skips)


def test_rubrics_are_read_and_events_come_in_order(tmp_path):
    ordering = {"question": "In which order?", "answer": "Bought, sold", "rubric": ["bought", "sold"]}
    probes = loaded(tmp_path, questions={**QUESTION_LISTS, "event_ordering": [ordering]}).probes
    assert (probes[0].gold.rubric, probes[0].gold.in_order) == (("Otter",), False)
    assert (probes[-1].gold.rubric, probes[-1].gold.in_order) == (("bought", "sold"), True)
    assert probes[1].gold.rubric == ()


def test_abstaining_is_right_where_nothing_was_said(tmp_path):
    never = loaded(tmp_path).probes[-1]
    assert (never.gold.answerable, never.gold.answers, never.populations) == (False, (), ("all",))


def test_an_id_that_stands_twice_is_no_evidence(tmp_path):
    plans = [{"plan-1": [BATCHES[0]]}, {"plan-2": [{"turns": [[message(2, "It is a kayak.", "May-9-2024")]]}]}]
    history = loaded(tmp_path, batches=plans)
    assert [len(session.turns) for session in history.sessions] == [3, 1]
    assert history.probes[0].gold.turns == ()
    assert any("'2' stands twice" in skip.reason for skip in history.skips)


def test_a_shortened_chat_is_read_in_place_of_the_whole(tmp_path):
    write(tmp_path)
    history = loaded(tmp_path, batches=BATCHES[:1], chat=CHATS[0])
    assert len(history.sessions) == 1


def test_chats_come_in_the_order_of_their_numbers(tmp_path):
    for name in ("10", "2", "1"):
        write(tmp_path / "100K" / name)
    assert [history.id for history in load(tmp_path)] == ["100K-1", "100K-2", "100K-10"]


def test_a_question_without_reference_is_named_and_not_asked(tmp_path):
    history = loaded(tmp_path, questions={"temporal_reasoning": [{"question": "When?"}, "x"]})
    assert history.probes == ()
    assert [skip.place for skip in history.skips if "questions" in skip.place] == [
        "probing_questions.json, temporal_reasoning[0]",
        "probing_questions.json, temporal_reasoning[1]",
    ]


@pytest.mark.parametrize("batches", [[], {}, [{"messages": []}], [{"turns": [[message(0, " ")]]}]])
def test_what_is_no_chat_is_refused(tmp_path, batches):
    with pytest.raises(UnreadableFile, match="does not look like BEAM"):
        loaded(tmp_path, batches=batches)


def test_a_folder_without_chats_is_refused(tmp_path):
    with pytest.raises(UnreadableFile, match="no chat of BEAM"):
        list(load(tmp_path))
    (tmp_path / QUESTIONS).parent.mkdir()
    (tmp_path / QUESTIONS).write_text("{}")
    with pytest.raises(UnreadableFile, match=r"no chat_trunecated.json or chat.json"):
        list(load(tmp_path))
