"""All that was said before a date, or that mentions something, is shown, then forgotten with all that hangs on it."""

import json
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memory import ingest
from memory.__main__ import main
from memory.bank import learning_queue as consolidation
from memory.bank import maintenance as upkeep
from memory.bank.backup import backup, restore
from memory.bank.bank import Bank
from memory.bank.queries import deletion as scope
from memory.errors import MemoirError
from memory.exporting import downloads
from memory.exporting.export import write_export
from memory.forgetting.forget import forget_memories, forget_selected, preview_selected
from memory.progress import Task
from memory.search import indexer
from memory.types import LearnedMemory, MemoryDraft, PersonaDraft, Quote, SessionDraft, TimeSpan, TurnDraft

MAY, JUNE, JULY = (datetime(2023, month, 8, tzinfo=UTC) for month in (5, 6, 7))


def fact(text, at, *quotes, alone=True, **more):
    said = tuple(Quote(place, words, alone) for place, words in enumerate(quotes))
    return LearnedMemory(MemoryDraft("profile", text, said_at=at, speaker="You", **more), said)


def chat(name, at, said, answer, *learned, cites=()):
    turns = (
        TurnDraft("You", "user", said, at),
        TurnDraft("Iris", "assistant", answer, at, recallable=False, cites=cites),
    )
    return SessionDraft(turns, at, "", name, said[:80], "chat", learned)


@pytest.fixture
def bank(tmp_path, embedder):
    bank = Bank(tmp_path / "bank.db")
    bank.create_persona(PersonaDraft("Iris"))
    bank.create_persona(PersonaDraft("Bo"))
    zeppelin = fact("Has a dog called Zeppelin", MAY, "My dog Zeppelin barks at the milkman.")
    bank.remember(1, [chat("a", MAY, "My dog Zeppelin barks at the milkman.", "Poor man!", zeppelin)])
    (dog,) = (m.id for m in bank.memories(1, store="profile"))
    again = fact("Has a dog called Zeppelin", JULY, "Zeppelin, my dog")
    bank.remember(1, [chat("b", JUNE, "What is my dog called?", "Your dog is called Zeppelin.", cites=(dog,))])
    bank.remember(1, [chat("c", JULY, "Zeppelin, my dog, sleeps in the bathtub these days.", "Cosy.", again)])
    bank.remember(1, [chat("d", JULY, "The zeppelins of the fair were paper ones.", "Pretty.")])
    storm = MemoryDraft("event", "A storm took the roof.", event=TimeSpan(MAY, JUNE))
    bank.add_memories(1, [storm, MemoryDraft("world", "Bread rises in warmth.")])
    bank.remember(2, [chat("e", MAY, "ZEPPELIN is a loud band.", "Yes.")])
    indexer.embed_all(bank, embedder)
    return bank


def texts(bank, persona=1):
    return {m.text for m in bank.memories(persona)}


def said(bank, persona=1):
    return {t.text for s in bank.sessions(persona) for t in bank.turns(persona, s.id)}


def stands(bank, word):
    files = [path for path in bank.path.parent.rglob("*") if path.is_file()]
    return [path.name for path in files if word.lower().encode() in path.read_bytes().lower()]


def test_what_mentions_a_name_goes_whole_whatever_its_case_and_nothing_else(bank):
    planned = preview_selected(bank, [1], scope.select_mentions("zeppelin"))
    assert (planned.memories, planned.turns, planned.sessions) == (3, 5, 2)
    assert planned.lines[:2] == ("You: My dog Zeppelin barks at the milkman.", "Iris: Poor man!")
    assert "Has a dog called Zeppelin" in texts(bank)
    gone = forget_selected(bank, [1], scope.select_mentions("zeppelin"))
    assert (gone.memories, gone.turns, gone.sessions, gone.residue) == (3, 5, 2, 0)
    assert texts(bank) == {
        "The zeppelins of the fair were paper ones.",
        "What is my dog called?",
        "A storm took the roof.",
        "Bread rises in warmth.",
    }
    assert texts(bank, 2) == {"ZEPPELIN is a loud band."}
    assert upkeep.verify(bank, "all-MiniLM-L6-v2") == []


def test_of_what_was_mentioned_no_word_stands_in_any_byte(bank):
    for persona in (1, 2):
        forget_selected(bank, [persona], scope.select_mentions("Zeppelin"))
    forget_selected(bank, [1], scope.select_mentions("zeppelins"))
    assert stands(bank, "zeppelin") == []
    assert stands(bank, "milkman") == []
    assert said(bank) == {"What is my dog called?"}
    assert [s.title for s in bank.sessions(1)] == ["What is my dog called?"]


@pytest.mark.parametrize(
    ("words", "text", "found"),
    [
        ("Ann", "Anna called.", False),
        ("ann", "I saw ANN.", True),
        ("ann", "Ann's cat", True),
        ("new york", "In New\n  York it rains.", True),
        ("new york", "In Newyork it rains.", False),
        ("straße", "In der STRASSE", False),
        ("Élodie", "with élodie,", True),
        ("猫", "我喜欢猫和狗", True),
        ("c++", "She writes C++.", True),
        (".*", "anything", None),
        ("  ", "anything", None),
    ],
)
def test_words_are_whole_and_of_any_case(tmp_path, words, text, found):
    bank = Bank(tmp_path / "bank.db")
    bank.create_persona(PersonaDraft("Iris"))
    bank.remember(1, [chat("a", MAY, text, "Yes.")])
    if found is None:
        with pytest.raises(MemoirError, match="Enter the word"):
            scope.select_mentions(words)
    else:
        assert bool(preview_selected(bank, [1], scope.select_mentions(words)).turns) == found


def test_a_title_that_mentions_it_goes_and_its_conversation_stays(bank):
    turns = (TurnDraft("You", "user", "Rain again.", JULY),)
    bank.remember(1, [SessionDraft(turns, JULY, external_id="t", title="A talk with Petra")])
    assert forget_selected(bank, [1], scope.select_mentions("petra")).turns == 0
    assert "Rain again." in said(bank)
    assert stands(bank, "petra") == []


def test_everything_before_a_date_goes_but_what_was_told_again(bank):
    gone = forget_selected(bank, [1], scope.select_before(JULY))
    assert (gone.sessions, gone.residue) == (2, 0)
    assert [s.started_at for s in bank.sessions(1)] == [JULY, JULY]
    assert texts(bank) == {
        "Zeppelin, my dog, sleeps in the bathtub these days.",
        "The zeppelins of the fair were paper ones.",
        "Has a dog called Zeppelin",
        "Bread rises in warmth.",
    }
    assert stands(bank, "milkman") == []
    assert stands(bank, "took the roof") == []


def test_an_answer_that_relied_on_what_is_forgotten_goes_with_it(bank):
    first = next(m for m in bank.memories(1) if m.text == "Has a dog called Zeppelin")
    assert "Your dog is called Zeppelin." in said(bank)
    forget_memories(bank, 1, [first.id])
    assert "Your dog is called Zeppelin." not in said(bank)
    assert "What is my dog called?" in said(bank)


def test_what_was_put_together_goes_with_any_of_its_parts(bank):
    both = fact("Lives alone with a parrot", JULY, "I live alone", "a parrot", alone=False)
    turns = (TurnDraft("You", "user", "I live alone.", MAY), TurnDraft("You", "user", "Well, with a parrot.", JULY))
    bank.remember(1, [SessionDraft(turns, MAY, external_id="p", learned=(both,))])
    forget_selected(bank, [1], scope.select_before(JUNE))
    assert "Lives alone with a parrot" not in texts(bank)
    assert "Well, with a parrot." in texts(bank)


def test_of_a_summary_that_mentions_it_the_turns_stay_that_do_not(bank):
    consolidation.close_chats(bank)
    (session,) = (s for s in bank.sessions(1) if s.external_id == "d")
    summary = MemoryDraft("event", "They spoke of a fair and of Petra.", said_at=JULY, attribute=consolidation.SUMMARY)
    due = next(d for d in consolidation.pending_sessions(bank, datetime.now(UTC)) if d.id == session.id)
    turns = [h.turn for h in consolidation.session_turns(bank, due)]
    consolidation.store_learned(bank, due, turns, [LearnedMemory(summary, (Quote(0, turns[0].text, False),))])
    gone = forget_selected(bank, [1], scope.select_mentions("Petra"))
    assert (gone.memories, gone.turns) == (1, 0)
    assert session.id in {d.id for d in consolidation.pending_sessions(bank, datetime.now(UTC))}


@pytest.mark.parametrize("kind", ["export", "backup"])
def test_what_is_being_made_for_download_while_something_is_forgotten_is_thrown_away(bank, tmp_path, kind):
    forgetting, gone = Task(), []
    beside = threading.Thread(
        target=lambda: gone.append(forget_selected(bank, [1], scope.select_mentions("milkman"), forgetting))
    )

    def forget_once(share):
        if share and not beside.ident:
            beside.start()
            while not forgetting.uncancellable or list(tmp_path.rglob("*.half")):
                time.sleep(0.01)

    def make(path):
        if kind == "export":
            write_export(bank, bank.personas(), path, forget_once)
        else:
            backup(bank, path, Task(forget_once))

    with pytest.raises(MemoirError, match="something was forgotten"):
        downloads.create(bank.path, "Iris", "jsonl", make)
    beside.join()
    assert gone[0].residue == 0
    assert stands(bank, "milkman") == []
    assert list((tmp_path / "uploads" / "all" / downloads.FOLDER).iterdir()) == []


def test_a_users_downloads_go_however_the_folder_of_the_bank_is_named(tmp_path, monkeypatch):
    folder = tmp_path / "users" / ("a" * 32)
    folder.mkdir(parents=True)
    download = downloads.create(folder / "bank.db", "Iris", "jsonl", lambda path: path.write_text("the milkman"))
    monkeypatch.chdir(folder)
    downloads.delete_all(Path("bank.db"))
    assert not download.exists()


def test_downloads_go_and_a_bank_kept_by_a_restore_is_named(bank, tmp_path):
    others = downloads.create(tmp_path / "other.db", "Iris", "jsonl", lambda path: path.write_text("the milkman"))
    download = downloads.create(bank.path, "Iris", "jsonl", lambda path: write_export(bank, bank.personas(), path))
    backup(bank, tmp_path / "kept.bak")
    restore(bank, tmp_path / "kept.bak")
    gone = forget_selected(bank, [1], scope.select_mentions("milkman"))
    assert (download.exists(), others.exists()) == (False, True)
    assert [path.name for path in gone.copies] == ["bank.db.before-restore"]
    assert gone.residue == 0


@pytest.mark.parametrize(
    ("bank_path", "folder"),
    [
        ("bank.db", "uploads/all"),
        ("users/0123456789abcdef0123456789abcdef/bank.db", "uploads/0123456789abcdef0123456789abcdef"),
        ("users/me/bank.db", "users/me/uploads/all"),
    ],
)
def test_downloads_lie_in_the_folder_that_the_app_serves_to_their_user(tmp_path, bank_path, folder):
    path = downloads.create(tmp_path / bank_path, "Iris", "jsonl", lambda path: path.write_text("the milkman"))
    assert path.parent.parent == tmp_path / folder / downloads.FOLDER
    downloads.delete_all(tmp_path / bank_path)
    assert not path.exists()


def test_the_commands_show_first_and_remove_when_told(bank, monkeypatch, capsys):
    monkeypatch.setenv("MEMOIR_HOME", str(bank.path.parent))
    before = texts(bank)
    assert main(["forget", "--mentions", "Zeppelin"]) == 0
    shown = capsys.readouterr()
    assert "would forget 4 memories, 7 turns" in shown.out
    assert "You: My dog Zeppelin barks" in shown.out
    assert "--yes" in shown.err
    assert texts(bank) == before
    assert main(["forget", "--persona", "Bo", "--mentions", "Zeppelin", "--yes", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["residue"] == 0
    assert (texts(bank), texts(bank, 2)) == (before, set())
    assert main(["forget", "--before", "8 June 2023", "--yes"]) == 0
    assert "My dog Zeppelin barks at the milkman." not in texts(bank)
    assert main(["forget", "--before", "2023", "--mentions", "x"]) == 1
    assert main(["forget"]) == 1


def test_what_was_forgotten_can_be_told_again(bank, tmp_path):
    write_export(bank, [bank.persona("Iris")], tmp_path / "iris.jsonl")
    before = texts(bank)
    forget_selected(bank, [1], scope.select_mentions("Zeppelin"))
    ingest.ingest(bank, tmp_path / "iris.jsonl")
    assert texts(bank) == before
