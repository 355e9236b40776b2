"""What takes long says how far it is and can be stopped: what was stopped has changed nothing and left no file."""

import json
import signal
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import ingest
from memory import progress as tasks
from memory.__main__ import main
from memory.bank import backup
from memory.bank import maintenance as upkeep
from memory.bank.bank import Bank
from memory.bank.queries import deletion as scope
from memory.cli.program import INTERRUPTED
from memory.errors import Cancelled
from memory.exporting import export
from memory.forgetting import byte_search, forget
from memory.forgetting.forget import find_in_bank
from memory.importers.generic import memoir_export
from memory.progress import Task
from memory.search import indexer
from memory.types import PersonaDraft, SessionDraft, TurnDraft

MAY = datetime(2023, 5, 8, tzinfo=UTC)
SESSIONS = 60
TURNS = 10


def said(session, place):
    return f"Session {session} says {place} that the lighthouse keeper counts {session * place} gulls."


def talk(session):
    turns = tuple(TurnDraft("Ana", "user", said(session, place)) for place in range(TURNS))
    return SessionDraft(turns, MAY, external_id=f"s{session}")


@pytest.fixture
def bank(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMOIR_HOME", str(tmp_path / "home"))
    bank = Bank(tmp_path / "home" / "bank.db")
    for name in ("Iris", "Bo"):
        bank.remember(bank.create_persona(PersonaDraft(name)).id, [talk(n) for n in range(SESSIONS)])
    return bank


class Stopping(Task):
    """A task that stops itself once so much is done."""

    def __init__(self, share):
        super().__init__(self._reached)
        self.limit = share
        self.told = []

    def _reached(self, share):
        self.told.append(share)
        if share >= self.limit:
            self.cancel()


def take(what, bank, path, task):
    if what == "export":
        return export.write_export(bank, bank.personas(), path, task.report)
    if what == "backup":
        return backup.backup(bank, path, task)
    if what == "persona":
        return forget.forget_selected(bank, [1], scope.select_everything, task)
    return forget.forget_selected(bank, [1, 2], scope.select_mentions("gulls"), task)


@pytest.fixture(autouse=True)
def small_steps(monkeypatch):
    monkeypatch.setattr(forget, "ROWS_PER_STATEMENT", 50)
    monkeypatch.setattr(backup, "PIECE", 4)


WHAT = ("export", "backup", "persona", "meant")


@pytest.mark.parametrize("what", WHAT)
def test_progress_begins_low_never_falls_and_ends_at_all(bank, tmp_path, what):
    watched = Stopping(2)
    take(what, bank, tmp_path / "out", watched)
    assert watched.told == sorted(watched.told)
    assert watched.told[0] < 0.1
    assert watched.told[-1] == pytest.approx(1)
    assert len(watched.told) > 8


@pytest.mark.parametrize("share", [0, 0.2, 0.6])
@pytest.mark.parametrize("what", WHAT)
def test_what_is_stopped_leaves_no_file_and_the_bank_as_it_was(bank, tmp_path, what, share):
    before = list(export.export_lines(bank, bank.personas()))
    with pytest.raises(Cancelled, match="Nothing was changed"):
        take(what, bank, tmp_path / "out", Stopping(share))
    assert list(export.export_lines(bank, bank.personas())) == before
    assert [path.name for path in tmp_path.iterdir()] == ["home"]
    assert not upkeep.verify(bank, "all-MiniLM-L6-v2")


@pytest.mark.parametrize("what", ["backup", "persona", "meant"])
def test_a_stop_breaks_off_a_statement_in_its_midst(bank, tmp_path, what, monkeypatch):
    monkeypatch.setattr(tasks, "SQLITE_STEPS_BETWEEN_CHECKS", 1)
    task = Task()
    monkeypatch.setattr(task, "report", lambda share: task.cancel())  # it is never asked between two statements
    with pytest.raises(Cancelled):
        take(what, bank, tmp_path / "out", task)
    assert bank.counts(1)["turns"] == SESSIONS * TURNS


@pytest.mark.parametrize("what", ["persona", "meant"])
def test_what_is_forgotten_is_cleaned_whoever_wants_to_stop(bank, tmp_path, what):
    task = Stopping(forget.SHARE_DELETED)
    task.limit += 1e-9  # the first share that is told once it is bound
    gone = take(what, bank, tmp_path / "out", task)
    assert task.uncancellable
    assert not task.cancelled
    assert gone.residue == 0


def test_all_personas_are_forgotten_in_or_none(bank):
    with pytest.raises(Cancelled):
        forget.forget_selected(bank, [1, 2], scope.select_mentions("gulls"), Stopping(forget.SHARE_DELETED * 0.9))
    assert [bank.counts(p)["turns"] for p in (1, 2)] == [SESSIONS * TURNS] * 2


def test_an_import_that_is_stopped_keeps_whole_sessions_and_goes_on_later(bank, tmp_path, monkeypatch):
    file = tmp_path / "talk.jsonl"
    session = {"turns": [{"speaker": "Ana", "text": f"One {n}."} for n in range(3)]}
    lines = [{"memoir": 1, "persona": {"name": "Zoe"}}, *({"session": {**session, "id": f"n{n}"}} for n in range(40))]
    file.write_text("\n".join(map(json.dumps, lines)))
    monkeypatch.setattr(ingest, "BATCH_TURNS", 10)
    with pytest.raises(Cancelled, match=r"\d+ turns in whole sessions .* from talk\.jsonl .* Import it again"):
        ingest.ingest(bank, file, progress=Stopping(0.5).report)
    zoe = bank.persona("Zoe").id
    held = [s.turn_count for s in bank.sessions(zoe)]
    assert 0 < len(held) < 40
    assert set(held) == {3}
    ingest.ingest(bank, file)
    assert len(bank.sessions(zoe)) == 40


def test_the_time_left_follows_from_the_share_and_the_time_so_far(monkeypatch):
    monkeypatch.setattr(tasks.time, "monotonic", lambda: 100.0)
    task = Task()
    assert task.seconds_left is None
    monkeypatch.setattr(tasks.time, "monotonic", lambda: 110.0)
    task.report(0.25)
    assert task.seconds_left == pytest.approx(30)


# --- Ctrl-C


def interrupt_in(monkeypatch, module, name):
    """Let a real Ctrl-C come as a function is called for the tenth time."""
    whole, calls = getattr(module, name), []

    def interrupted(*args):
        calls.append(1)
        if len(calls) == 10:
            signal.raise_signal(signal.SIGINT)
        return whole(*args)

    monkeypatch.setattr(module, name, interrupted)


@pytest.mark.parametrize(
    ("words", "module", "name"),
    [
        (["export", "--output", "OUT"], memoir_export, "dump_line"),
        (["forget", "--mentions", "gulls", "--yes"], forget.facts, "undo_effects"),
        (["forget", "--persona", "Bo", "--everything"], forget.deletion, "delete_rows"),
    ],
)
def test_ctrl_c_says_what_is_kept_and_changes_nothing(bank, tmp_path, monkeypatch, capsys, words, module, name):
    interrupt_in(monkeypatch, module, name)
    usual = signal.getsignal(signal.SIGINT)
    assert main([str(tmp_path / "out") if word == "OUT" else word for word in words]) == INTERRUPTED
    assert "Cancelled. Nothing was changed." in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["home"]
    assert [bank.counts(p)["turns"] for p in (1, 2)] == [SESSIONS * TURNS] * 2
    assert signal.getsignal(signal.SIGINT) is usual


def test_ctrl_c_after_the_forgetting_lets_the_cleaning_be_finished(bank, monkeypatch, capsys):
    whole = forget.downloads.delete_all

    def interrupted(path):
        signal.raise_signal(signal.SIGINT)
        whole(path)

    monkeypatch.setattr(forget.downloads, "delete_all", interrupted)
    assert main(["forget", "--mentions", "gulls", "--yes"]) == 0
    told = capsys.readouterr()
    assert "too late to cancel" in told.err
    assert "no traces left" in told.out
    assert not find_in_bank(bank.path, [said(3, 3)])


# --- the bytes


@given(
    texts=st.lists(st.text("ab é", min_size=2, max_size=9), min_size=1, max_size=20),
    content=st.text("ab é", max_size=300),
    chunk=st.integers(min_value=1, max_value=40),
)
def test_one_pass_finds_what_looking_for_each_text_finds(tmp_path_factory, texts, content, chunk):
    path = tmp_path_factory.getbasetemp() / "content"
    path.write_bytes(content.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(byte_search, "CHUNK_BYTES", chunk)
        assert byte_search.find_in_file(path, texts) == {text for text in texts if text in content}


def test_words_that_stand_inside_others_are_no_residue(bank, embedder):
    whole = "The lighthouse keeper counts gulls."
    bank.remember(2, [SessionDraft((TurnDraft("Bo", "user", f"He wrote: {whole} So he did."),), MAY, external_id="x")])
    bank.remember(1, [SessionDraft((TurnDraft("Bo", "user", whole),), MAY, external_id="x")])
    indexer.embed_all(bank, embedder, 1)
    (memory,) = (m for m in bank.memories(1) if m.text == whole)
    assert forget.forget_memories(bank, 1, [memory.id]).residue == 0
    assert find_in_bank(bank.path, [whole])
