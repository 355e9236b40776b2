"""Memoir's own benchmark: three lives written by hand, and the probes asked of each."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memory.importers.generic.memoir import read
from memory.types import MemoryDraft, PersonaDraft, SessionDraft, Skip

FOLDER = Path(__file__).parents[1] / "assets" / "benchmark"
LIVES = ("ines", "kofi", "marta")
UNANSWERABLE = {"false-premise", "never-mentioned"}
ABILITIES = UNANSWERABLE | set("single-session multi-session temporal knowledge-update preference proactive".split())

each_life = pytest.mark.parametrize("life", LIVES)


def records_of(life):
    return list(read(FOLDER / f"{life}.jsonl"))


def sessions_of(life):
    return [record for record in records_of(life) if isinstance(record, SessionDraft)]


def probes_of(life):
    lines = (FOLDER / f"{life}.probes.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def sources_of(life):
    """Every turn and every memory with the moment from which it can be known, as (id, moment)."""
    for record in records_of(life):
        if isinstance(record, SessionDraft):
            yield from ((turn.external_id, record.started_at) for turn in record.turns)
        elif isinstance(record, MemoryDraft):
            yield record.external_id, record.said_at


def test_the_benchmark_is_these_three_lives():
    assert sorted(path.name for path in FOLDER.glob("*.jsonl")) == sorted(
        name for life in LIVES for name in (f"{life}.jsonl", f"{life}.probes.jsonl")
    )


@each_life
def test_a_life_is_imported_without_a_skip(life):
    records = records_of(life)
    assert [record for record in records if isinstance(record, Skip)] == []
    assert [record.external_id for record in records if isinstance(record, PersonaDraft)] == [life]


@each_life
def test_a_life_lasts_about_a_year_in_at_least_forty_sessions_told_in_order(life):
    starts = [session.started_at for session in sessions_of(life)]
    assert len(starts) >= 40
    assert starts == sorted(starts)
    assert timedelta(days=350) <= starts[-1] - starts[0] <= timedelta(days=380)


@each_life
def test_no_two_turns_or_memories_have_the_same_id(life):
    assert [name for name, count in Counter(name for name, _ in sources_of(life)).items() if count > 1] == []


def test_there_are_at_least_150_probes_and_no_two_have_the_same_id():
    names = [probe["id"] for life in LIVES for probe in probes_of(life)]
    assert len(set(names)) == len(names) >= 150


@each_life
def test_all_eight_abilities_are_asked_of_each_life(life):
    assert {probe["ability"] for probe in probes_of(life)} == ABILITIES


@each_life
def test_evidence_is_part_of_the_life_and_not_later_than_the_question(life):
    known_from = dict(sources_of(life))
    for probe in probes_of(life):
        asked = datetime.fromisoformat(probe["asked_at"])
        assert asked.tzinfo == UTC, probe["id"]
        late = [name for name in probe["evidence"] if name not in known_from or known_from[name] > asked]
        assert (probe["id"], late) == (probe["id"], [])


@each_life
def test_evidence_names_each_turn_once(life):
    for probe in probes_of(life):
        assert len(set(probe["evidence"])) == len(probe["evidence"]), probe["id"]


@each_life
def test_what_can_be_answered_has_answers_and_evidence_and_the_rest_has_neither(life):
    for probe in probes_of(life):
        expected = probe["ability"] not in UNANSWERABLE
        assert (bool(probe["answers"]), bool(probe["evidence"])) == (expected, expected), probe["id"]
        assert all(answer.strip() for answer in probe["answers"]), probe["id"]


@each_life
def test_a_multi_session_answer_needs_more_than_one_session(life):
    session_of = {turn.external_id: session.external_id for session in sessions_of(life) for turn in session.turns}
    for probe in probes_of(life):
        if probe["ability"] == "multi-session":
            assert len({session_of[name] for name in probe["evidence"]}) > 1, probe["id"]
