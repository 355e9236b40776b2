"""Forgotten means gone: from the rows, the index, the vectors and the bytes of the files."""

import json
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory.bank import maintenance as upkeep
from memory.bank.bank import Bank
from memory.bank.queries import deletion
from memory.bank.queries.deletion import Selection, select_everything, select_memories, select_session
from memory.errors import BankUnavailable, MemoirError
from memory.forgetting import forget
from memory.forgetting.forget import find_in_bank, forget_memories, forget_selected, preview_selected
from memory.search import indexer
from memory.types import LearnedMemory, MemoryDraft, PersonaDraft, Quote, SessionDraft, TurnDraft
from support.export_files import write_zip

ROOT = Path(__file__).parents[1]
MAY = datetime(2023, 5, 8, tzinfo=UTC)
SECRET = "The safe behind the piano opens with 4711."
OTHER = "We painted the kitchen yellow."


@pytest.fixture
def made(tmp_path, embedder):
    bank = Bank(tmp_path / "bank.db")
    ana = bank.create_persona(PersonaDraft("Ana"))
    fact = LearnedMemory(MemoryDraft("profile", "Owns a safe behind the piano", said_at=MAY), (Quote(0, SECRET),))
    turns = (TurnDraft("Ana", "user", SECRET), TurnDraft("Ana", "user", OTHER))
    bank.remember(ana.id, [SessionDraft(turns, MAY, external_id="a", learned=(fact,))])
    bank.remember(ana.id, [SessionDraft((TurnDraft("Ana", "user", "Elsewhere."),), MAY, external_id="b")])
    indexer.embed_pending(bank, embedder)
    return bank, ana


def find(bank, ana, text):
    return next(m for m in bank.memories(ana.id) if m.text == text)


def test_a_memory_goes_with_its_turn_and_what_was_learned_from_it(made):
    bank, ana = made
    secret = find(bank, ana, SECRET)
    assert find_in_bank(bank.path, [SECRET])
    planned = preview_selected(bank, [ana.id], select_memories([secret.id]))
    gone = forget_memories(bank, ana.id, [secret.id])
    assert (gone.memories, gone.turns, gone.sessions, gone.residue) == (2, 1, 0, 0)
    assert (planned.memories, planned.turns) == (2, 1)
    assert not find_in_bank(bank.path, [SECRET])
    assert {m.text for m in bank.memories(ana.id)} == {OTHER, "Elsewhere."}
    with bank.reading() as db:
        assert db.table("vectors").count == 2


def test_nothing_is_left_in_the_log_of_a_bank_that_is_kept_open(made):
    bank, ana = made
    with bank.kept_open():
        assert find(bank, ana, OTHER)
        gone = forget_memories(bank, ana.id, [find(bank, ana, SECRET).id])
        assert (gone.memories, gone.residue) == (2, 0)
        assert not find_in_bank(bank.path, [SECRET])
        assert all(SECRET.encode() not in file.read_bytes() for file in bank.path.parent.glob("bank.db*"))


def test_another_process_leaves_the_log_to_a_connection_that_is_open_while_something_is_forgotten(made):
    bank, ana = made
    opened = (
        "import sys; from pathlib import Path; from memory.bank.bank import Bank; Bank(Path(sys.argv[1])).personas()"
    )
    with bank.kept_open():
        assert forget_memories(bank, ana.id, [find(bank, ana, SECRET).id]).memories == 2
        subprocess.run([sys.executable, "-c", opened, bank.path], cwd=ROOT, check=True)
        assert bank.path.with_name("bank.db-wal").exists()


@pytest.mark.parametrize("name", ["talk.txt", "talk.json", "talk.zip"])
def test_an_upload_that_waits_and_contains_it_is_named_and_deleted_with_it(made, tmp_path, name):
    bank, ana = made
    waiting, other = (tmp_path / "uploads" / "all" / folder / name for folder in ("one", "two"))
    for path, text in ((waiting, f"„{SECRET}“"), (other, OTHER)):
        path.parent.mkdir(parents=True)
        as_json = json.dumps([{"title": "t", "mapping": {}, "text": text}])
        path.write_text(f"Ana: {text}\nBo: oh\n" if name == "talk.txt" else as_json)
        if name == "talk.zip":
            write_zip(path, {"talk.txt": f"Ana: {text}\nBo: oh\n"})
    secret = find(bank, ana, SECRET)
    planned = preview_selected(bank, [ana.id], select_memories([secret.id]))
    assert planned.uploads == (waiting,)
    assert name in planned.about_uploads
    assert waiting.exists()
    assert forget_memories(bank, ana.id, [secret.id]).uploads == (waiting,)
    assert (waiting.exists(), other.exists()) == (False, True)


def test_an_upload_goes_whichever_of_many_forgotten_texts_it_contains(made, tmp_path, monkeypatch):
    bank, ana = made
    monkeypatch.setattr(forget, "MAX_TEXTS_SEARCHED", 1)
    waiting = tmp_path / "uploads" / "all" / "one" / "talk.txt"
    waiting.parent.mkdir(parents=True)
    texts = [text for m in bank.memories(ana.id) if len(text := m.text) >= forget.MIN_PROOF_CHARACTERS]
    assert len(texts) > 1
    waiting.write_text(f"Ana: {max(texts)}\nBo: oh\n")
    assert preview_selected(bank, [ana.id], select_everything).uploads == (waiting,)
    assert forget_selected(bank, [ana.id], select_everything).uploads == (waiting,)
    assert not waiting.exists()


def test_what_was_only_asked_about_it_is_named_and_goes_with_the_answer(made):
    bank, ana = made
    secret, question = find(bank, ana, SECRET), "Which piano is my safe behind?"
    for n, text in enumerate((question, "I moved to Rome, and where is my safe?")):
        asked = TurnDraft("You", "user", text, asks=text == question)
        reply = TurnDraft("Ana", "assistant", "In the hall.", recallable=False, cites=(secret.id,))
        bank.remember(ana.id, [SessionDraft((asked, reply), MAY, external_id=f"chat{n}", source="chat")])
    planned = preview_selected(bank, [ana.id], select_memories([secret.id]))
    assert f"You: {question}" in planned.lines
    gone = forget_memories(bank, ana.id, [secret.id])
    assert (gone.memories, gone.turns, gone.sessions, gone.residue) == (3, 4, 1, 0)
    assert {m.text for m in bank.memories(ana.id)} == {OTHER, "Elsewhere.", "I moved to Rome, and where is my safe?"}
    assert not find_in_bank(bank.path, [question])


def test_a_preview_removes_nothing(made):
    bank, ana = made
    before = bank.counts(ana.id)
    preview_selected(bank, [ana.id], select_memories([m.id for m in bank.memories(ana.id)]))
    assert bank.counts(ana.id) == before


def test_the_index_holds_no_word_of_it(made):
    bank, ana = made
    forget_memories(bank, ana.id, [find(bank, ana, SECRET).id])
    assert b"piano" not in bank.path.read_bytes()
    assert upkeep.verify(bank, "all-MiniLM-L6-v2") == []


def test_a_session_and_a_persona_go_whole(made):
    bank, ana = made
    gone = forget_selected(bank, [ana.id], select_session(find(bank, ana, SECRET).session_id))
    assert (gone.memories, gone.turns, gone.sessions, gone.residue) == (3, 2, 1, 0)
    gone = forget_selected(bank, [ana.id], select_everything)
    assert (gone.memories, gone.turns, gone.sessions, gone.residue) == (1, 1, 1, 0)
    assert bank.personas() == []
    with bank.reading() as db:
        assert db.table("vectors").count == 0


def test_a_deleted_persona_leaves_neither_its_card_nor_its_titles_in_the_files(tmp_path):
    bank = Bank(tmp_path / "bank.db")
    card = {
        "name": "Quirin Haldenwang",
        "description": "A retired lighthouse keeper.",
        "scenario": "A harbour without ships.",
        "first_message": "Who is out there at this hour?",
        "examples": "{{char}}: Mind the stairs.",
    }
    title = "The night of the fog"
    keeper = bank.create_persona(PersonaDraft(**card))
    turns = (TurnDraft("Quirin Haldenwang", "assistant", "The fog came in at nine."),)
    bank.remember(keeper.id, [SessionDraft(turns, external_id="fog", title=title)])
    assert all(find_in_bank(bank.path, [text]) for text in (*card.values(), title))
    assert forget_selected(bank, [keeper.id], select_everything).residue == 0
    assert not find_in_bank(bank.path, [*card.values(), title])


def test_a_name_that_another_persona_says_is_no_residue(tmp_path):
    bank = Bank(tmp_path / "bank.db")
    for name in ("Quirin Haldenwang", "Bo"):
        persona = bank.create_persona(PersonaDraft(name))
        turns = (TurnDraft("Quirin Haldenwang", "assistant", f"I talk with {name}."),)
        bank.remember(persona.id, [SessionDraft(turns, external_id=name, title="The night of the fog")])
    assert forget_selected(bank, [1], select_everything).residue == 0


def test_a_persona_of_another_users_bank_is_neither_renamed_nor_deleted(tmp_path):
    ann, ben = Bank(tmp_path / "ann.db"), Bank(tmp_path / "ben.db")
    for bank, names in ((ann, ("Ida", "Quirin")), (ben, ("Bo",))):
        for name in names:
            bank.create_persona(PersonaDraft(name))
    quirin = ann.persona("Quirin").id
    with pytest.raises(MemoirError):
        forget_selected(ben, [quirin], select_everything)
    with pytest.raises(MemoirError):
        ben.change_persona(quirin, name="Mine")
    assert [p.name for p in ann.personas()] == ["Ida", "Quirin"]


def test_another_persona_cannot_be_made_to_forget(made):
    bank, ana = made
    bo = bank.create_persona(PersonaDraft("Bo"))
    assert forget_memories(bank, bo.id, [find(bank, ana, SECRET).id]).memories == 0
    assert find(bank, ana, SECRET)


def test_words_that_another_memory_holds_are_no_residue(made):
    bank, ana = made
    bank.remember(ana.id, [SessionDraft((TurnDraft("Bo", "user", SECRET),), MAY, external_id="c")])
    gone = forget_memories(
        bank, ana.id, [next(m for m in bank.memories(ana.id) if m.text == SECRET and m.speaker == "Ana").id]
    )
    assert gone.residue == 0
    assert find(bank, ana, SECRET).speaker == "Bo"


def test_verify_names_what_disagrees_and_rebuild_mends_it(made, embedder):
    bank, _ = made
    with bank.writing() as db:
        db.conn.execute("UPDATE memories SET key = 'changed behind the index' WHERE text = ?", (OTHER,))
        db.conn.execute("UPDATE memories SET terms = 'other words' WHERE text = 'Elsewhere.'")
    faults = " ".join(upkeep.verify(bank, embedder.model))
    assert "words in the index are not those of its key" in faults
    assert "key was changed" in faults
    upkeep.rebuild(bank)
    while indexer.embed_pending(bank, embedder):
        pass
    assert upkeep.verify(bank, embedder.model) == []


def test_a_log_that_cannot_be_emptied_is_told_as_that_and_not_as_undone(made, monkeypatch):
    bank, ana = made

    def fail(_):
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(deletion, "empty_log", fail)
    with pytest.raises(BankUnavailable, match=r"2 memories, 1 turn were deleted, but.*disk I/O error") as fault:
        forget_memories(bank, ana.id, [find(bank, ana, SECRET).id])
    assert "undone" not in str(fault.value)
    assert SECRET not in {m.text for m in bank.memories(ana.id)}


def test_forgetting_the_newer_fact_lets_the_older_hold_again(made):
    bank, ana = made

    def lives(where, month):
        said_at = datetime(2024, month, 1, tzinfo=UTC)
        return MemoryDraft("profile", f"Lives in {where}", said_at=said_at, attribute="home")

    bank.add_memories(ana.id, [lives("Porto", 1), lives("Lisbon", 2), lives("Rome", 3)])
    forget_memories(bank, ana.id, [find(bank, ana, "Lives in Lisbon").id])
    assert find(bank, ana, "Lives in Porto").valid_to == datetime(2024, 3, 1, tzinfo=UTC)
    forget_memories(bank, ana.id, [find(bank, ana, "Lives in Rome").id])
    porto = find(bank, ana, "Lives in Porto")
    assert (porto.valid_to, porto.superseded_by) == (None, None)


# --- what was said of it in a chat


def test_an_answer_that_cites_what_was_forgotten_meanwhile_is_not_stored(made):
    bank, ana = made
    secret = find(bank, ana, SECRET)
    asked = TurnDraft("You", "user", "Where is it?", MAY, recallable=False)
    late = TurnDraft("Ana", "assistant", f"You said: “{SECRET}” [1]", MAY, recallable=False, cites=(secret.id,))
    forget_memories(bank, ana.id, [secret.id])
    stored = bank.remember(ana.id, [SessionDraft((asked, late), MAY, external_id="c", source="chat")])
    assert stored.turns == 1
    assert not find_in_bank(bank.path, [SECRET])
    assert upkeep.verify(bank, "all-MiniLM-L6-v2") == []


def test_replies_that_repeat_it_go_too_and_a_title_that_is_its_words(made):
    bank, ana = made
    fact = next(m for m in bank.memories(ana.id, store="profile"))
    asked = TurnDraft("You", "user", "Where is it?", MAY, recallable=False)
    cited = TurnDraft("Ana", "assistant", "Behind the piano [1]", MAY, recallable=False, cites=(fact.id,))
    other = TurnDraft("Ana", "assistant", "The weather is fine.", MAY, recallable=False)
    bank.remember(ana.id, [SessionDraft((asked, cited, asked, other), MAY, external_id="c", source="chat")])
    told = TurnDraft("You", "user", SECRET, MAY)
    noted = TurnDraft("Ana", "assistant", f"Noted: “{SECRET}”", MAY, recallable=False)
    quoted = TurnDraft("Ana", "assistant", f"You said “{SECRET}”.", MAY, recallable=False)
    chat = SessionDraft((told, noted, asked, quoted), MAY, external_id="d", title=SECRET[:30], source="chat")
    bank.remember(ana.id, [chat])
    meant = [m.id for m in bank.memories(ana.id) if SECRET in m.text]
    before = preview_selected(bank, [ana.id], select_memories(meant))
    gone = forget_memories(bank, ana.id, meant)
    assert (gone.memories, gone.turns, gone.sessions, gone.residue) == (
        before.memories,
        before.turns,
        before.sessions,
        0,
    )
    left = [t.text for s in bank.sessions(ana.id) if s.source == "chat" for t in bank.turns(ana.id, s.id)]
    assert left == ["Where is it?", "Where is it?", "The weather is fine.", "Where is it?"]
    assert [s.title for s in bank.sessions(ana.id) if s.external_id == "d"] == [""]
    assert not find_in_bank(bank.path, [SECRET])
    assert not find_in_bank(bank.path, ["piano"])


def test_another_reply_in_the_same_words_stays(made):
    bank, ana = made
    said = {"corn": "I like corn with butter.", "peas": "I really like peas with mint."}
    for name, text in said.items():
        told = TurnDraft("You", "user", text, MAY)
        noted = TurnDraft("Ana", "assistant", "I see. I'll keep it in mind.", MAY, recallable=False)
        bank.remember(ana.id, [SessionDraft((told, noted), MAY, external_id=name, source="chat")])
    first, second = (s for s in bank.sessions(ana.id) if s.external_id in said)
    turns = [turn.id for turn in bank.turns(ana.id, second.id)]
    gone = forget_selected(bank, [ana.id], lambda db, persona_id: Selection(turns=turns))
    assert (gone.turns, gone.sessions) == (2, 1)
    assert [t.text for t in bank.turns(ana.id, first.id)] == [said["corn"], "I see. I'll keep it in mind."]
