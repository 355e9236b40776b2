"""Memoir's own format: what is exported comes back the same."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.bank.relations import relation_of
from memory.errors import UnreadableFile
from memory.importers.generic.memoir import read
from memory.types import MemoryDraft, PersonaDraft, SessionDraft, Skip, TimeSpan, TurnDraft
from support.memoir_lines import dump_records

START = '{"memoir": 1, "persona": {"name": "Iris"}}'

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30)
said = texts.filter(str.strip)
moments = st.datetimes(datetime(1900, 1, 1), datetime(2020, 1, 1), timezones=st.just(UTC))
maybe = st.none() | moments
spans = st.builds(
    lambda start, length: TimeSpan(start, start + length),
    moments,
    st.timedeltas(timedelta(seconds=1), timedelta(days=400)),
)
personas = st.builds(
    PersonaDraft, said, texts, texts, st.lists(texts, max_size=3).map(tuple), said, st.booleans(), texts, texts, texts
)
roles = st.sampled_from(["user", "assistant", "other"])
turns = st.builds(TurnDraft, said, roles, said, maybe, texts, texts, st.booleans(), st.none() | spans, texts)
sessions = st.builds(SessionDraft, st.lists(turns, min_size=1, max_size=4).map(tuple), maybe, texts, texts, texts)
stores = st.sampled_from(["profile", "relationship", "world", "event", "dialogue"])
memories = st.builds(
    MemoryDraft,
    *(stores, said, texts, st.none() | spans, texts, maybe, maybe, maybe, texts, texts, texts, texts, texts),
).map(lambda memory: replace(memory, relation=relation_of(memory)))


def records_of(tmp_path, *lines):
    path = tmp_path / "iris.memoir"
    path.write_text("\n".join(lines), encoding="utf-8")
    return list(read(path))


def one_object(records):
    lines = [json.loads(line) for line in dump_records(records)]
    parts = {"session": "sessions", "memory": "memories"}
    whole = {"memoir": 1, "persona": lines[0]["persona"], "sessions": [], "memories": []}
    for line in lines[1:]:
        for key, value in line.items():
            whole[parts[key]].append(value)
    return whole


def without_skips(records):
    return [record for record in records if not isinstance(record, Skip)]


@given(st.lists(st.tuples(personas, st.lists(sessions | memories, max_size=3)), min_size=1, max_size=3))
def test_what_is_exported_comes_back_the_same(tmp_path_factory, histories):
    records = [record for persona, contents in histories for record in (persona, *contents)]
    path = tmp_path_factory.mktemp("memoir") / "export.jsonl"
    path.write_text("".join(line + "\n" for line in dump_records(records)), encoding="utf-8", newline="")
    assert without_skips(read(path)) == records


@given(personas, st.lists(sessions, max_size=2), st.lists(memories, max_size=2), st.sampled_from([None, 2]))
def test_the_layout_as_one_object_says_the_same(tmp_path_factory, persona, said_sessions, kept_memories, indent):
    records = [persona, *said_sessions, *kept_memories]
    path = tmp_path_factory.mktemp("memoir") / "export.json"
    path.write_text(json.dumps(one_object(records), indent=indent), encoding="utf-8", newline="")
    assert without_skips(read(path)) == records


def test_an_object_whose_persona_comes_last_is_read(tmp_path):
    turned = '{"memoir": 1, "sessions": [{"turns": [{"text": "hi", "speaker": "Iris"}]}], "persona": {"name": "Iris"}}'
    persona, _, session = records_of(tmp_path, turned)
    assert persona.name == "Iris"
    assert session.turns[0].role == "assistant"


def test_the_least_that_can_be_written_is_enough(tmp_path):
    lines = ['{"session": {"turns": [{"text": "hi"}, {"text": "hello", "speaker": "Iris"}]}}']
    _, note, session = records_of(tmp_path, START, *lines)
    assert [(turn.speaker, turn.role) for turn in session.turns] == [("user", "user"), ("Iris", "assistant")]
    assert note == Skip("line 2, session.started_at", "no readable date; kept without one")


@pytest.mark.parametrize(
    ("start", "end", "first", "last"),
    [
        ("2018", "", (2018, 1, 1), (2019, 1, 1)),
        ("2021-10-05", "", (2021, 10, 5), (2021, 10, 6)),
        ("2021-10-05", "2021-10-07", (2021, 10, 5), (2021, 10, 8)),
        ("2021-10-05T10:00:00+00:00", "2021-10-05T12:30:00+00:00", (2021, 10, 5, 10), (2021, 10, 5, 12, 30)),
        ("2021-10-05T12:00:00+02:00", "", (2021, 10, 5, 10), (2021, 10, 5, 10, 1)),
    ],
)
def test_an_event_is_as_wide_as_it_is_written(tmp_path, start, end, first, last):
    fields = {"store": "event", "text": "A storm.", "event_start": start, "event_end": end}
    memory = records_of(tmp_path, START, json.dumps({"memory": fields}))[1]
    assert memory.event == TimeSpan(datetime(*first, tzinfo=UTC), datetime(*last, tzinfo=UTC))


def test_a_date_in_words_is_kept_in_the_sources_words(tmp_path):
    session = '{"session": {"started_at": "2024-05-01", "turns": [{"text": "hi", "said_at": "by moonlight"}]}}'
    _, note, kept = records_of(tmp_path, START, session)
    assert (kept.started_at, kept.started_text) == (datetime(2024, 5, 1, tzinfo=UTC), "2024-05-01")
    assert (kept.turns[0].said_at, kept.turns[0].said_text) == (None, "by moonlight")
    assert note.place == "line 2, session.turns[0].said_at"


def test_bad_records_are_skipped_with_place_and_reason(tmp_path):
    lines = [
        START,
        '{"session": {"started_at": "2024-05-01", "turns": [{"text": ["no"]}, {"text": "yes", "role": "boss"}]}}',
        '{"memory": {"store": "attic", "text": "x"}}',
        '{"memory": {"store": "world", "text": " "}}',
        '{"session": {"turns": []}}',
        '{"else": 1}',
        '{"memory": oops}',
        "7",
    ]
    skips = [record for record in records_of(tmp_path, *lines) if isinstance(record, Skip)]
    assert [(skip.place, skip.reason) for skip in skips] == [
        ("line 2, session.turns[0].text", "expected text, found a list"),
        ("line 2, session.turns[0].text", "empty turn"),
        ("line 2, session.turns[1].role", "expected one of user, assistant, other; kept as other"),
        ("line 3, memory.store", "expected one of profile, relationship, world, event, dialogue"),
        ("line 4, memory.text", "memory without text"),
        ("line 5, session.turns", "session without turns"),
        ("line 6", "expected a persona, a session or a memory"),
        ("line 7", "invalid JSON at character 12: Expecting value"),
        ("line 8", "expected an object, found a number"),
    ]


@pytest.mark.parametrize("layout", ['{"session": %s}', '{"memoir": 1, "sessions": [%s]}'])
def test_lone_surrogates_and_zeros_do_not_reach_the_bank(tmp_path, layout):
    session = r'{"started_at": "2024-05-01", "turns": [{"text": "a\ud800b\u0000c"}]}'
    start = [START] if "memoir" not in layout else []
    records = records_of(tmp_path, *start, layout % session)
    assert without_skips(records)[1].turns[0].text == "a\ufffdbc"
    (note,) = (record for record in records if isinstance(record, Skip) and record.place.endswith("turns[0].text"))
    assert "1 U+0000 characters removed" in note.reason


def test_a_later_version_is_refused_with_the_remedy(tmp_path):
    with pytest.raises(UnreadableFile, match="version 3 of Memoir's format; this Memoir reads versions 1 and 2"):
        records_of(tmp_path, '{"memoir": 3, "persona": {"name": "Iris"}}')


def test_a_history_without_a_persona_is_named_after_the_file(tmp_path):
    records = without_skips(records_of(tmp_path, '{"memoir": 1}', '{"memory": {"store": "world", "text": "Rain."}}'))
    assert records[0].name == "iris"
    assert records[1].text == "Rain."


def test_a_file_that_breaks_off_keeps_what_is_complete(tmp_path):
    records = []
    path = tmp_path / "iris.json"
    path.write_text('{"memoir": 1, "memories": [{"store": "world", "text": "Rain."}, {"store": "wor', encoding="utf-8")
    with pytest.raises(UnreadableFile, match=r"in memories\[1\]"):
        records.extend(read(path))
    assert [type(record) for record in without_skips(records)] == [PersonaDraft, MemoryDraft]


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["lines", "object"])
def test_a_hundred_thousand_turns_in_one_session_are_read(tmp_path, layout):
    session = SessionDraft(tuple(TurnDraft("Ana", "user", f"line {n} " * 10) for n in range(100_000)))
    records = [PersonaDraft("Iris"), session]
    text = "\n".join(dump_records(records)) if layout == "lines" else json.dumps(one_object(records))
    kept = without_skips(records_of(tmp_path, text))
    assert kept == records
