"""PerLTQA: a character's profile, relations, events and dialogues."""

import json
from collections import Counter
from datetime import UTC, datetime

import pytest

from memory.importers.benchmarks.perltqa import literal, read, sniff
from memory.types import MemoryDraft, PersonaDraft, Relation, SessionDraft, Skip

CHARACTER = {
    "profile": {"Protagonist": "Pia Lund", "Nickname": "Pi", "Age": 31, "Occupation": "Boat builder", "Title": ""},
    "profile_description": "Pia builds boats.",
    "social_relationship": {
        "9_1": {"Supporting Characters": "Mo", "Description": "Pia's cousin", "Relationship": "cousin"}
    },
    "events": {
        "9_1_0": {
            "content": "They built a raft.",
            "summary": "The raft",
            "Characters": ["9_1"],
            "Creation Time": "2018",
            "Last Accessed Time": "",
            "Theme": "building",
        },
        "9_1_1": {"content": "A storm came.", "summary": "Storm!", "Creation Time": "while it rained", "Theme": ""},
    },
    "dialogues": {
        "9_1_0#3": {
            "events": "9_1_0",
            "contents": {"2018-07-15 10:00": ["Mo: Will it float?", "Pi: It will: trust me.", "Pia Lund:", "Mo：好"]},
        }
    },
}


def records_of(tmp_path, bank):
    path = tmp_path / "bank.json"
    path.write_text(json.dumps(bank), encoding="utf-8")
    return list(read(path))


@pytest.fixture
def records(tmp_path):
    return records_of(tmp_path, {"Pia Lund": CHARACTER})


def memories(records, store):
    return [record for record in records if isinstance(record, MemoryDraft) and record.store == store]


def test_a_character_is_a_persona_that_gives_nothing_away(records):
    assert records[0] == PersonaDraft("Pia Lund", external_id="Pia Lund")


def test_profile_fields_read_as_lines_and_are_found_by_their_names(records):
    found = {memory.external_id: memory.text for memory in memories(records, "profile")}
    assert found == {
        "Protagonist": "Protagonist: Pia Lund",
        "Nickname": "Nickname: Pi",
        "Age": "Age: 31",
        "Occupation": "Occupation: Boat builder",
        "profile_description": "Pia builds boats.",
    }
    assert Skip("Pia Lund.profile.Title", "empty profile field") in records


def test_a_relation_says_who_and_what(records):
    assert memories(records, "relationship") == [
        MemoryDraft(
            "relationship",
            "Mo (cousin): Pia's cousin",
            attribute="cousin",
            external_id="9_1",
            relation=Relation("", "cousin", "Mo"),
        )
    ]


def test_an_event_is_as_wide_as_its_source_is_vague(records):
    raft, storm = memories(records, "event")
    assert (raft.text, raft.attribute, raft.event_text) == ("The raft. They built a raft.", "building", "2018")
    assert (raft.event.start, raft.event.end) == (datetime(2018, 1, 1, tzinfo=UTC), datetime(2019, 1, 1, tzinfo=UTC))
    assert (storm.text, storm.event, storm.event_text) == ("Storm! A storm came.", None, "while it rained")
    assert Skip("Pia Lund.events.9_1_1.Creation Time", "no readable date; kept without one") in records


def test_a_dialogue_is_a_session_whose_protagonist_is_the_user(records):
    (session,) = [record for record in records if isinstance(record, SessionDraft)]
    assert (session.external_id, session.started_text) == ("9_1_0#3", "2018-07-15 10:00")
    assert session.started_at == datetime(2018, 7, 15, 10, tzinfo=UTC)
    assert [(turn.speaker, turn.role, turn.text) for turn in session.turns] == [
        ("Mo", "other", "Will it float?"),
        ("Pi", "user", "It will: trust me."),
        ("Mo", "other", "好"),
    ]
    assert Skip("Pia Lund.dialogues.9_1_0#3.contents.2018-07-15 10:00[2]", "empty turn") in records


def test_a_second_time_within_a_dialogue_is_that_of_its_turns(tmp_path):
    contents = {"2018-07-15 10:00": ["Mo: One."], "2018-07-16 11:00": ["Mo: Two."]}
    records = records_of(tmp_path, {"Pia": {"dialogues": {"d": {"contents": contents}}}})
    turns = records[-1].turns
    assert [turn.said_at for turn in turns] == [None, datetime(2018, 7, 16, 11, tzinfo=UTC)]
    assert turns[1].said_text == "2018-07-16 11:00"


def test_a_line_without_a_speaker_is_kept(tmp_path):
    records = records_of(tmp_path, {"Pia": {"dialogues": {"d": {"contents": {"2018-07-15 10:00": ["The wind rose"]}}}}})
    assert [(turn.speaker, turn.text) for turn in records[-1].turns] == [("unknown", "The wind rose")]


def test_broken_sections_cost_only_themselves(tmp_path):
    broken = CHARACTER | {"events": ["no"], "dialogues": {"x": 5, "y": {"contents": {"2018": [5]}}}}
    records = records_of(tmp_path, {"Pia Lund": broken, "Odd": 3})
    assert len(memories(records, "profile")) == 5
    places = {record.place for record in records if isinstance(record, Skip)}
    assert {"Pia Lund.events", "Pia Lund.dialogues.x", "Pia Lund.dialogues.y.contents.2018[0]", "Odd"} <= places


def test_a_list_of_characters_names_each_in_its_profile(tmp_path, records):
    listed = records_of(tmp_path, [CHARACTER, {"profile": {"Age": 3}}])
    assert [r for r in listed if not isinstance(r, Skip)] == [r for r in records if not isinstance(r, Skip)]
    why = "expected a profile with a Protagonist, who names the character; skipped"
    assert Skip("[1]", why) in listed
    assert sniff(json.dumps([CHARACTER]).encode())


@pytest.mark.parametrize("section", ["profile", "social_relationship", "events", "dialogues"])
@pytest.mark.parametrize("shape", [list, dict])
def test_a_section_written_as_python_says_what_it_says(tmp_path, records, section, shape):
    written = CHARACTER | {section: f" {CHARACTER[section]!r}"}
    found = records_of(tmp_path, [written] if shape is list else {"Pia Lund": written})
    assert [r for r in found if not isinstance(r, Skip)] == [r for r in records if not isinstance(r, Skip)]


@pytest.mark.parametrize("text", ["{", "{1, 2}", "b'x'", "{(1,): 2}", "__import__('os')", "[" * 5000])
def test_what_is_no_value_of_json_says_nothing(text):
    assert literal(text) is None


def test_a_list_of_questions_is_no_bank():
    assert not sniff(b'[{"Pia Lund": {"profile": [{"Question": "Who?"}], "social_relationship": []}}]')


@pytest.mark.data
def test_the_sample_has_the_counts_its_source_states(benchmark_data):
    records = list(read(benchmark_data / "perltqa" / "perltmem_en_v2.sample.json"))
    assert [record.name for record in records if isinstance(record, PersonaDraft)] == ["Zhang Xiaohong"]
    stores = Counter(record.store for record in records if isinstance(record, MemoryDraft))
    assert stores == {"profile": 14 + 1, "relationship": 9, "event": 23}
    sessions = [record for record in records if isinstance(record, SessionDraft)]
    assert (len(sessions), sum(len(session.turns) for session in sessions)) == (21, 344)
    assert all(session.started_at for session in sessions)
    assert {turn.role for session in sessions for turn in session.turns if turn.speaker == "Zhang Xiaohong"} == {"user"}


@pytest.mark.data
def test_the_sample_keeps_each_events_own_words_for_its_time(benchmark_data):
    records = list(read(benchmark_data / "perltqa" / "perltmem_en_v2.sample.json"))
    events = {memory.external_id: memory for memory in memories(records, "event")}
    assert events["4_2_0"].event_text == "2018"
    assert (
        events["4_2_0"].event.end - events["4_2_0"].event.start
        > events["4_0_0"].event.end - events["4_0_0"].event.start
    )
