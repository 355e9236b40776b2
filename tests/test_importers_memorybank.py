"""MemoryBank: a user's days with an assistant."""

import json
from datetime import UTC, datetime

import pytest

from memory.importers.benchmarks.memorybank import read
from memory.types import PersonaDraft, SessionDraft, Skip

USER = {
    "name": "Pia",
    "summary": {},
    "overall_history": "derived by a model",
    "history": {
        "2024-04-27": [{"query": "I like boats.", "response": "So do I."}, {"query": "Bye.", "response": ""}],
        "2024-04-28": [],
        "some day": [{"query": "Hello?", "response": "Hello."}],
    },
    "meta_information": {"name": "Pia", "personality": "calm", "hobbies": "rowing", "speaking_style": "brief."},
}


@pytest.fixture
def records(tmp_path):
    path = tmp_path / "bank.json"
    path.write_text(json.dumps({"Pia": USER, "Odd": [1]}), encoding="utf-8")
    return list(read(path))


def test_a_user_is_a_persona_described_by_the_meta_information(records):
    description = "Personality: calm. Hobbies: rowing. Speaking style: brief."
    assert records[0] == PersonaDraft("Pia", external_id="Pia", description=description)


def test_a_date_is_a_session_of_queries_and_responses(records):
    session = next(record for record in records if isinstance(record, SessionDraft))
    assert session.started_at == datetime(2024, 4, 27, tzinfo=UTC)
    assert (session.external_id, session.started_text) == ("2024-04-27", "2024-04-27")
    assert [(turn.speaker, turn.role, turn.text) for turn in session.turns] == [
        ("Pia", "user", "I like boats."),
        ("Assistant", "assistant", "So do I."),
        ("Pia", "user", "Bye."),
    ]


def test_what_is_empty_undated_or_no_user_is_noted(records):
    assert [(skip.place, skip.reason) for skip in records if isinstance(skip, Skip)] == [
        ("Pia.history.2024-04-27[1].response", "empty turn"),
        ("Pia.history.2024-04-28", "session without turns"),
        ("Pia.history.some day.date", "no readable date; kept without one"),
        ("Odd", "expected an object, found a list"),
        ("Odd", "expected a user with a history; skipped"),
    ]


def test_a_history_that_is_no_object_is_noted(tmp_path):
    path = tmp_path / "bank.json"
    path.write_text(json.dumps({"Pia": USER | {"history": 3}}), encoding="utf-8")
    assert list(read(path))[1:] == [Skip("Pia.history", "expected an object, found a number")]


def test_what_a_model_derived_is_not_read(records):
    assert "derived by a model" not in repr(records)


@pytest.mark.data
@pytest.mark.parametrize("language", ["en", "cn"])
def test_the_bank_has_fifteen_users_and_566_exchanges(benchmark_data, language):
    records = list(read(benchmark_data / "memorybank" / f"memory_bank_{language}.json"))
    sessions = [record for record in records if isinstance(record, SessionDraft)]
    assert sum(isinstance(record, PersonaDraft) for record in records) == 15
    assert sum(len(session.turns) for session in sessions) == 2 * 566
    days = {session.started_text for session in sessions}
    assert (min(days), max(days), len(days)) == ("2023-04-27", "2023-05-06", 10)
