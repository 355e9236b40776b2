"""The journal tells what was done, when and by whom, in numbers; it keeps no word of what was forgotten."""

import csv
import io
import json
import sqlite3
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import ingest
from memory.__main__ import main
from memory.bank import journal
from memory.bank import learning_queue as consolidation
from memory.bank.bank import Bank
from memory.bank.journal import Entry
from memory.bank.queries.deletion import select_everything
from memory.errors import BankUnavailable, MemoirError
from memory.exporting.export import write_export
from memory.forgetting.forget import forget_memories, forget_selected
from memory.types import LearnedMemory, MemoryDraft, PersonaDraft, Quote, SessionDraft, TurnDraft

MAY = datetime(2023, 5, 8, tzinfo=UTC)


def exchange(*, cites=(), name="chat-1", said="My cat is called Comma."):
    turns = (
        TurnDraft("You", "user", said, MAY, external_id=f"q{len(said)}"),
        TurnDraft("Iris", "assistant", "Ah.", MAY, external_id=f"a{len(said)}", recallable=False, cites=cites),
    )
    return SessionDraft(turns, MAY, external_id=name, source="chat")


@pytest.fixture
def bank(tmp_path):
    bank = Bank(tmp_path / "bank.db")
    bank.create_persona(PersonaDraft("Iris"))
    return bank


def told(bank):
    return [(e.action, e.request, dict(e.counts), e.memories) for e in reversed(journal.read(bank))]


def test_an_answer_is_one_line_with_what_it_recalled(bank):
    bank.remember(1, [exchange()])
    bank.remember(1, [exchange(cites=(1,), said="What is my cat called?")])
    assert told(bank)[1:] == [
        ("talked", "chat chat-1", {"sessions": 1, "turns": 2, "memories": 1}, ""),
        ("talked", "chat chat-1", {"turns": 2, "memories": 1, "recalled": 1}, "1"),
    ]


def test_what_adds_nothing_is_not_told(bank):
    bank.remember(1, [exchange()])
    before = told(bank)
    bank.remember(1, [exchange()])
    assert told(bank) == before


def test_an_import_is_one_line_a_batch_and_names_who_asked(bank, tmp_path):
    for number in range(3):
        bank.remember(1, [exchange(name=f"c{number}")])
    write_export(bank, bank.personas(), tmp_path / "iris.jsonl")
    other = Bank(tmp_path / "other.db")
    with journal.requested_by("Memory tab"):
        ingest.ingest(other, tmp_path / "iris.jsonl")
    assert told(other) == [
        ("created", "Memory tab", {"personas": 1}, ""),
        ("imported", "Memory tab", {"sessions": 3, "turns": 6, "memories": 3}, ""),
    ]


def test_learning_and_forgetting_leave_numbers_and_no_word(bank):
    bank.remember(1, [exchange()])
    consolidation.close_chats(bank)
    (due,) = consolidation.pending_sessions(bank, datetime.now(UTC))
    turns = [h.turn for h in consolidation.session_turns(bank, due)]
    fact = LearnedMemory(
        MemoryDraft("profile", "Has a cat called Comma", said_at=MAY), (Quote(0, "cat is called Comma"),)
    )
    consolidation.store_learned(bank, due, turns, [fact])
    forget_memories(bank, 1, [1])
    bank.add_memories(1, [MemoryDraft("world", "Commas are small.")])
    forget_selected(bank, [1], select_everything)
    assert told(bank)[2:] == [
        ("learned", "app", {"memories": 1}, ""),
        ("forgot", "app", {"sessions": 1, "turns": 2, "memories": 2}, "1-2"),
        ("imported", "app", {"memories": 1}, ""),
        ("forgot", "app", {"memories": 1}, "3"),
    ]
    assert b"Comma" not in bank.path.read_bytes()
    assert journal.read(bank)[0].cells[4] == "No. 1 (deleted)"


def test_what_was_undone_is_not_told(bank):
    before = told(bank)
    with pytest.raises(MemoirError):
        bank.remember(99, [exchange()])
    assert told(bank) == before


@pytest.mark.parametrize("change", ["DELETE FROM journal", "UPDATE journal SET action = 'nothing'"])
def test_a_line_is_never_changed_or_removed(bank, change):
    before = told(bank)
    with pytest.raises((BankUnavailable, sqlite3.Error), match="only added to"), bank.writing() as db:
        db.conn.execute(change)
    assert told(bank) == before


@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8)), min_size=1))
def test_no_cell_of_the_csv_is_a_formula_and_none_is_lost(names):
    lines = [Entry(n, MAY, "talked", by, 1, name, {"turns": 2}, "") for n, (by, name) in enumerate(names)]
    read = list(csv.reader(io.StringIO(journal.to_csv(lines), newline="")))
    assert len(read) == 1 + len(lines)
    assert not [cell for row in read for cell in row if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


@given(st.sets(st.integers(1, 60)))
def test_ranges_hold_all_numbers_and_no_other(numbers):
    held = set()
    for run in journal.format_ranges(numbers).split(", ") if numbers else []:
        first, _, last = run.partition("-")
        held |= set(range(int(first), int(last or first) + 1))
    assert held == numbers


def test_a_persona_called_like_a_formula_is_harmless(bank, monkeypatch, capsys):
    bank.create_persona(PersonaDraft("=cmd|'/c calc'!A0"))
    monkeypatch.setenv("MEMOIR_HOME", str(bank.path.parent))
    assert main(["journal", "--csv"]) == 0
    assert ",'=cmd" in capsys.readouterr().out


def test_the_command_lists_the_newest_first(bank, monkeypatch, capsys):
    monkeypatch.setenv("MEMOIR_HOME", str(bank.path.parent))
    bank.remember(1, [exchange()])
    assert main(["forget", "--persona", "Iris", "1"]) == 0
    capsys.readouterr()
    assert main(["journal", "--json", "--limit", "2"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert (first["action"], first["request"], first["memories"]) == ("forgot", "command line", "1")
    assert second["action"] == "talked"
    assert main(["journal"]) == 0
    assert "forgot  command line  Iris  1 session, 2 turns, 1 memory  1" in capsys.readouterr().out
