"""MADial-Bench: one event a line, with emotion and scene."""

import json
from collections import Counter
from datetime import UTC, datetime

import pytest

from memory.bank.bank import Bank
from memory.errors import UnreadableFile
from memory.importers.benchmarks.madial import read
from memory.ingest import ingest
from memory.types import MemoryDraft, PersonaDraft, Skip


def event(text, **fields):
    return {"time": "2024-02-03", "scene": "Others", "emotion": "Calm", "event": text} | fields


def written(tmp_path, *lines):
    path = tmp_path / "memory.json"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines), encoding="utf-8")
    return path


def records_of(tmp_path, *lines):
    return list(read(written(tmp_path, *lines)))


def test_a_line_is_an_event_on_its_day(tmp_path):
    persona, memory = records_of(tmp_path, {"7": event("Pia fed the gulls.")})
    assert persona == PersonaDraft("MADial-Bench", external_id="madial")
    assert (memory.store, memory.text, memory.external_id) == ("event", "Pia fed the gulls.", "7")
    assert (memory.emotion, memory.scene, memory.event_text) == ("Calm", "Others", "2024-02-03")
    assert (memory.event.start, memory.event.end) == (
        datetime(2024, 2, 3, tzinfo=UTC),
        datetime(2024, 2, 4, tzinfo=UTC),
    )


def test_users_get_a_history_each_however_the_lines_alternate(tmp_path):
    lines = [{str(number): event(f"Event {number}", **{"user-id": number % 2})} for number in range(4)]
    records = records_of(tmp_path, *lines)
    assert [record.external_id for record in records] == [
        "madial-0",
        "0",
        "madial-1",
        "1",
        "madial-0",
        "2",
        "madial-1",
        "3",
    ]
    bank = Bank(tmp_path / "bank.db")
    report = ingest(bank, tmp_path / "memory.json")
    found = {h.persona.external_id: [m.external_id for m in bank.memories(h.persona.id)] for h in report.histories}
    assert {user: sorted(ids) for user, ids in found.items()} == {"madial-0": ["0", "2"], "madial-1": ["1", "3"]}


def test_a_user_is_named_once_for_lines_that_follow_each_other(tmp_path):
    records = records_of(tmp_path, *({str(number): event("x")} for number in range(5)))
    assert [type(record) for record in records].count(PersonaDraft) == 1


def test_bad_lines_cost_only_themselves(tmp_path):
    lines = ['{"1": oops}', "[1]", {"2": event("")}, {"3": "no"}, {"4": event("Good.", time="one day")}]
    records = records_of(tmp_path, *lines)
    assert [record.external_id for record in records if not isinstance(record, Skip)] == ["madial", "4"]
    assert [(skip.place, skip.reason) for skip in records if isinstance(skip, Skip)] == [
        ("line 1", "invalid JSON at character 7: Expecting value"),
        ("line 2", "expected an object, found a list"),
        ("line 3, 2.event", "memory without an event"),
        ("line 4, 3", "expected an object, found text"),
        ("line 5, 4.time", "no readable date; kept without one"),
    ]


def test_a_file_that_ends_within_a_line_keeps_the_lines_before(tmp_path):
    whole = json.dumps({"1": event("One.")})
    records = []
    with pytest.raises(UnreadableFile, match=r"ends unexpectedly in line 2: expected the rest"):
        records.extend(read(written(tmp_path, whole, whole[:-20])))
    assert len(records) == 2


@pytest.mark.data
def test_the_english_bank_is_one_history_of_160(benchmark_data):
    records = list(read(benchmark_data / "madial_bench" / "en" / "MADial-Bench-en-memory.json"))
    memories = [record for record in records if isinstance(record, MemoryDraft)]
    assert (len(records), len(memories)) == (161, 160)
    assert Counter(memory.scene for memory in memories) == {
        "Activity": 60,
        "Preferences": 45,
        "Others": 43,
        "Emotional": 12,
    }
    assert all(memory.event and memory.emotion for memory in memories)


@pytest.mark.data
def test_the_chinese_bank_is_two_histories_of_171(benchmark_data):
    records = list(read(benchmark_data / "madial_bench" / "ch" / "MADial-Bench-zh-memory.json"))
    personas = [record.external_id for record in records if isinstance(record, PersonaDraft)]
    assert set(personas) == {"madial-1", "madial-2"}
    assert len(records) == 171 + len(personas)
