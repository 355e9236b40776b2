"""What is exported and imported into another bank is the same: sessions, turns, memories and their times."""

from dataclasses import replace

import pytest

from memory import ingest
from memory.bank.bank import Bank
from memory.exporting import export
from memory.types import PersonaDraft


def alike(memories):
    """Memories without the numbers that a bank gives out."""
    nothing = {"id": 0, "persona_id": 0, "session_id": None, "turn_ids": (), "superseded_by": None}
    return [replace(m, recorded_at=m.said_at, **nothing) for m in memories]


@pytest.fixture
def other(tmp_path):
    return Bank(tmp_path / "other" / "bank.db")


@pytest.fixture
def told(marlow, at):
    """A persona with an imported past and a chat in which dates, facts, questions and their change were told."""
    marlow.say("I planted a quince tree yesterday.")
    marlow.say("My name is Noor. I live in Porto.")
    marlow.say("When did I adopt Biscuit?")
    marlow.again(now=at(8, 1)).say("I moved to Lisbon.")
    return marlow


def moved(chat, other, tmp_path):
    bank, file = chat.services.bank, tmp_path / "marlow.jsonl"
    export.write_export(bank, [bank.persona("Marlow")], file)
    ingest.ingest(other, file)
    return bank, chat.persona, other.persona("Marlow"), file


def test_memories_come_back_equal(told, other, tmp_path):
    bank, ours, theirs, _ = moved(told, other, tmp_path)
    there = sorted(alike(other.memories(theirs.id)), key=str)
    assert there == sorted(alike(bank.memories(ours.id)), key=str)
    held = {m.text: m for m in other.memories(theirs.id)}
    assert held["Lives in Porto"].superseded_by == held["Lives in Lisbon"].id
    assert held["I planted a quince tree yesterday."].event_text == "yesterday"


def test_sessions_and_turns_come_back_equal(told, other, tmp_path):
    bank, ours, theirs, _ = moved(told, other, tmp_path)
    ours_said, theirs_said = (
        [
            [(t.speaker, t.role, t.text, t.said_at, t.said_text, t.external_id) for t in held.turns(who.id, s.id)]
            for s in held.sessions(who.id)
        ]
        for held, who in ((bank, ours), (other, theirs))
    )
    assert theirs_said == ours_said


def test_a_second_import_adds_nothing(told, other, tmp_path):
    _, _, theirs, file = moved(told, other, tmp_path)
    before = other.counts(theirs.id)
    ingest.ingest(other, file)
    assert other.counts(theirs.id) == before


def test_a_file_is_written_whole_or_not_at_all(told, tmp_path, monkeypatch):
    bank, file = told.services.bank, tmp_path / "marlow.jsonl"
    file.write_text("what was there before")

    def breaks(*_):
        yield "one line"
        raise OSError("the disk is full")

    monkeypatch.setattr(export, "export_lines", breaks)
    with pytest.raises(OSError, match="full"):
        export.write_export(bank, [told.persona], file)
    assert file.read_text() == "what was there before"
    assert [p.name for p in tmp_path.iterdir() if "half" in p.name] == []


def test_the_card_of_a_persona_comes_back(marlow, other, tmp_path):
    texts = {"scenario": "A garden.", "first_message": "Hello, {{user}}.", "examples": "{{char}}: Mind the smoke."}
    card = marlow.services.bank.create_persona(PersonaDraft("Iris", **texts))
    export.write_export(marlow.services.bank, [card], tmp_path / "iris.jsonl")
    ingest.ingest(other, tmp_path / "iris.jsonl")
    assert replace(other.persona("Iris"), id=card.id) == card


@pytest.mark.parametrize("proactive", [True, False])
def test_whether_a_persona_brings_memories_up_comes_back(marlow, other, tmp_path, proactive):
    marlow.services.bank.change_persona(marlow.persona.id, proactive=proactive)
    *_, theirs, file = moved(marlow, other, tmp_path)
    assert theirs.proactive is proactive
    assert ("proactive" in file.read_text(encoding="utf-8").splitlines()[0]) is not proactive
