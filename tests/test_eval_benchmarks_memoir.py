"""Memoir's own benchmark: lives and the probes beside them."""

import hashlib
import json
import random
import shutil
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from eval.benchmarks.memoir.adapter import UNANSWERABLE, load
from memory.errors import UnreadableFile
from memory.types import Skip

LIVES = Path(__file__).parent / "data" / "lives"
OWN = Path(__file__).parents[1] / "assets" / "benchmark"
CONVERSATIONS = OWN.with_name("conversations")


@pytest.fixture
def history():
    (found,) = load(LIVES)
    return found


@pytest.fixture
def lives(tmp_path):
    return Path(shutil.copytree(LIVES, tmp_path / "lives"))


def probe(history, number):
    return next(p for p in history.probes if p.id == f"pia-p0{number}")


def write_probes(folder, *lines):
    (folder / "pia.probes.jsonl").write_text("\n".join(json.dumps(line) for line in lines) + "\n", encoding="utf-8")


GOOD = {
    "id": "p",
    "ability": "temporal",
    "question": "When?",
    "asked_at": "2026-10-04",
    "answers": ["in May"],
    "evidence": ["pia-s01-t01"],
}


def test_a_life_is_a_history_of_sessions_and_memories(history):
    assert (history.id, history.persona.name, history.persona.external_id) == ("pia", "Mo", "pia")
    assert [session.external_id for session in history.sessions] == ["pia-s01", "pia-s02"]
    assert [memory.external_id for memory in history.memories] == ["pia-m01", "pia-m02"]
    assert history.skips == ()


def test_a_changed_fact_has_its_newest_evidence_first(history):
    gold = probe(history, 2).gold
    assert (gold.answers, gold.turns) == (("Marigold",), ("pia-s02-t01", "pia-s01-t03"))
    assert gold.sessions == ("pia-s02", "pia-s01")


def test_evidence_that_no_turn_said_has_no_session(history):
    gold = probe(history, 4).gold
    assert (gold.turns, gold.sessions) == (("pia-m02", "pia-s02-t03"), ("pia-s02",))


def test_a_probe_without_a_clock_time_is_asked_at_the_end_of_the_day(history):
    assert probe(history, 3).asked_at == datetime(2025, 12, 1, 23, 59, 59, 999_999, tzinfo=UTC)
    assert probe(history, 1).asked_at == datetime(2026, 10, 4, 18, tzinfo=UTC)


def test_what_was_said_just_before_is_kept_in_roles(history):
    assert [(t.speaker, t.role, t.text) for t in probe(history, 4).dialogue] == [
        ("Pia", "user", "Evening."),
        ("Mo", "assistant", "Evening, Pia. You sound wound up."),
    ]


def test_only_what_was_never_so_is_unanswerable(history):
    unanswerable = [p for p in history.probes if not p.gold.answerable]
    assert [p.ability for p in unanswerable] == ["false-premise", "never-mentioned"]
    assert all(p.gold.answers == () and p.populations == ("all",) for p in unanswerable)
    assert probe(history, 1).populations == ("all", "answerable")


def test_why_a_premise_is_false_is_not_read(history):
    assert "red dinghy." not in repr(history.probes)


@pytest.mark.parametrize("name", ["pia.jsonl", "pia.probes.jsonl"])
def test_either_file_names_the_life(history, name):
    assert list(load(LIVES / name)) == [history]


def test_evidence_that_cannot_be_recalled_is_left_out_and_noted(lives):
    late = GOOD | {"asked_at": "2025-10-05", "evidence": ["pia-s01-t01", "pia-s02-t01", "nowhere", "pia-m02"]}
    write_probes(lives, late)
    (history,) = load(lives)
    assert history.probes[0].gold.turns == ("pia-s01-t01",)
    place = "pia.probes.jsonl, line 1, evidence"
    assert history.skips == (
        Skip(place, "'pia-s02-t01' is later than the question; left out"),
        Skip(place, "'nowhere' is not a turn or memory of this life; left out"),
        Skip(place, "'pia-m02' is later than the question; left out"),
    )


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"question": ""}, "question"),
        ({"asked_at": "when the ice melts"}, "asked_at"),
        ({"answers": []}, "answers"),
        ({"ability": "false-premise"}, "answers"),
        ({"id": None}, "id"),
    ],
)
def test_a_probe_that_cannot_be_asked_costs_only_itself(lives, change, field):
    write_probes(lives, GOOD | change, GOOD | {"id": "good"})
    (history,) = load(lives)
    assert [p.id for p in history.probes] == ["good"]
    assert [skip.place for skip in history.skips] == [f"pia.probes.jsonl, line 1, {field}"]


def test_an_id_used_twice_is_told_apart(lives):
    write_probes(lives, GOOD, GOOD)
    (history,) = load(lives)
    assert [p.id for p in history.probes] == ["p", "p-2"]


def test_a_line_that_is_no_object_is_noted(lives):
    with (lives / "pia.probes.jsonl").open("a", encoding="utf-8") as file:
        file.write("[1]\n")
    (history,) = load(lives)
    assert history.skips == (Skip("pia.probes.jsonl, line 7", "expected an object, found a list"),)


def test_a_life_without_its_other_file_is_refused(lives):
    (lives / "pia.jsonl").unlink()
    with pytest.raises(UnreadableFile, match=r"pia\.jsonl is missing"):
        list(load(lives))


def test_a_folder_without_probes_is_refused(tmp_path):
    with pytest.raises(UnreadableFile, match=r"expected NAME\.jsonl"):
        list(load(tmp_path))


def test_probes_do_not_depend_on_their_order(lives, history):
    lines = (lives / "pia.probes.jsonl").read_text(encoding="utf-8").splitlines()
    random.Random(3).shuffle(lines)
    (lives / "pia.probes.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (shuffled,) = load(lives)
    assert {p.id: p for p in shuffled.probes} == {p.id: p for p in history.probes}


def test_our_own_lives_hold_nothing_that_cannot_be_used():
    found = list(load(OWN))
    probes = [p for history in found for p in history.probes]
    assert [skip for history in found for skip in history.skips] == []
    assert (len(found) >= 3, len(probes) >= 150, len({p.id for p in probes})) == (True, True, len(probes))
    assert all(len(history.sessions) >= 40 for history in found)
    for p in probes:
        assert bool(p.gold.turns) == p.gold.answerable == (p.ability not in UNANSWERABLE)
    assert min(Counter(p.ability for p in probes).values()) >= 15


@pytest.mark.parametrize(("half", "first", "further"), [("development", 4, 9), ("reported", 4, 0)])
def test_each_half_of_the_conversations_has_its_users_with_probes_of_every_kind(half, first, further):
    histories = list(load(CONVERSATIONS / half))
    assert [history.skips for history in histories] == [()] * (first + further)
    kinds = [Counter(probe.ability for probe in history.probes) for history in histories]
    of = Counter((sum(each.values()), each["unanswerable"], each["statement"]) for each in kinds)
    assert of == Counter({(52, 7, 3): first, (40, 4, 0): further})
    for history in histories:
        assert all(probe.after for probe in history.probes if probe.ability == "follow-up")


def test_of_the_first_eight_users_those_last_by_digest_report():
    halves = {history.id: half for half in ("development", "reported") for history in load(CONVERSATIONS / half)}
    first = [name for name in halves if len(next(load(CONVERSATIONS / halves[name] / name)).probes) == 52]
    by_digest = sorted(first, key=lambda name: hashlib.sha256(name.encode()).hexdigest())
    assert {name for name in first if halves[name] == "reported"} == set(by_digest[4:])
