"""Other memory systems are told and asked what Memoir is, and stand beside it in one table."""

import json
import re
import threading
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from importlib.metadata import EntryPoint, EntryPoints
from typing import ClassVar

import pytest

from eval.__main__ import main
from eval.play.memory_under_test import MemoryUnderTest
from eval.play.models import Models
from eval.play.searchers import matched
from eval.play.systems import contract, registry
from eval.play.systems.contract import Found, MeteredChat, Session, Turn
from eval.play.systems.registry import BUILT_IN
from eval.reporting.compare import side_by_side
from eval.runs.experiment import Experiment, with_settings
from eval.runs.run import Runs, Spec, versions
from eval.types import Costs, Prediction, Sample
from memory.errors import MemoirError
from support.invented_history import PROBES, life
from support.loopback_server import LoopbackServer


class Notebook:
    """Finds every line that has a word of the question, the last first; it keeps no ids, nor times."""

    opened: ClassVar = []

    def __init__(self, folder, embedder, chat):
        self.folder, self.sessions = folder, []
        Notebook.opened.append(self)

    def remember(self, session):
        self.sessions.append(session)
        (self.folder / "notes.txt").write_text("x" * 1000)

    def search(self, question, as_of, k):
        asked = set(question.casefold().strip("?").split())
        lines = [turn.text for session in self.sessions for turn in session.turns]
        return [Found(f"They said: {text}", 1.0) for text in reversed(lines) if asked & set(text.casefold().split())]


@pytest.fixture
def notebook(monkeypatch):
    """Makes `notebook` known, as an installed package would."""
    Notebook.opened = []
    point = EntryPoint("notebook", f"{__name__}:Notebook", registry.GROUP)
    monkeypatch.setattr(EntryPoint, "load", lambda self: Notebook)

    def entry_points(group, **chosen):
        return EntryPoints([point]).select(group=group, **chosen)

    monkeypatch.setattr(registry, "entry_points", entry_points)


@pytest.fixture
def played(tmp_path, embedder, classifier):
    def play(system, history=None, *settings):
        history = history or life()
        experiment = with_settings(Experiment(), [f"system={system}", *settings])
        models = Models(embedder, classifier, None)
        memory = MemoryUnderTest(tmp_path / str(len(list(tmp_path.iterdir()))), history, experiment, models, Costs())
        memory.remember(history.sessions, history.memories)
        return memory

    return play


@pytest.mark.parametrize("system", ["bm25", "dense", "langgraph-store", "raptor", "hipporag", "ld-agent"])
def test_a_system_finds_the_line_and_the_same_reader_answers_from_it(played, system):
    prediction = played(system).ask(PROBES[0])
    assert "answer_77aa_1" in prediction.found[0].units
    assert "Biscuit" in prediction.answer
    assert "answer_77aa_1" in prediction.cited


def test_the_full_history_comes_the_latest_first_and_without_a_search(played):
    moments = [found.session for found in played("full-history").ask(PROBES[0]).found]
    assert moments == [found.session for found in played("full-history").ask(PROBES[-1]).found][: len(moments)]


def test_a_system_gets_every_turn_in_order_under_digests_and_no_fact_of_the_answer(played, notebook):
    history = life()
    memory = played("notebook", history)
    (notes,) = Notebook.opened
    texts = [turn.text for session in notes.sessions for turn in session.turns]
    told = [turn.text for session in history.sessions for turn in session.turns]
    assert sorted(texts) == sorted([*told, *(memory.text for memory in history.memories)])
    starts = [session.started_at for session in notes.sessions if session.started_at]
    assert starts == sorted(starts)
    said = json.dumps([(s.id, [t.id for t in s.turns]) for s in notes.sessions])
    assert "answer_" not in said
    assert memory.costs.bytes == 1000


def test_a_question_in_other_letters_is_read_from_what_a_system_finds(played):
    said = replace(PROBES[0], question="谁在跳舞？")
    assert played("dense").ask(said).found


@pytest.mark.parametrize("system", ["bm25", "dense", "langgraph-store"])
@pytest.mark.parametrize("speaker", ["Ana", "Ben", "Cleo"])
def test_a_question_that_names_a_speaker_finds_their_line(system, speaker, tmp_path, embedder):
    memory = BUILT_IN[system](tmp_path, embedder, MeteredChat(None, Costs()))
    names = ("Ana", "Ben", "Cleo")
    memory.remember(Session("s", None, tuple(Turn(name, name, "I bought a red kayak", None) for name in names)))
    (best, *_) = memory.search(f"When did {speaker} buy a kayak?", PROBES[0].asked_at, 3)
    assert best.turns == (speaker,)


def test_texts_without_ids_are_matched_and_counted(played, notebook):
    memory = played("notebook")
    prediction = memory.ask(PROBES[0])
    assert prediction.found
    assert 0 < memory.costs.matched <= memory.costs.found


def test_what_was_said_after_the_question_is_left_out(played, notebook):
    history = life()
    first = min(session.started_at for session in history.sessions)
    memory = played("notebook", history)
    prediction = memory.ask(replace(PROBES[0], asked_at=first - timedelta(days=1)))
    assert not prediction.found
    assert prediction.abstained


TURNS = {"a": "I adopted a greyhound called Biscuit.", "b": "The canoe leaks badly near the bow.", "c": "Fine."}


@pytest.mark.parametrize(
    ("text", "turn"),
    [
        ("adopted a greyhound", "a"),
        ("Yesterday they said: I adopted a greyhound, called BISCUIT!", "a"),
        ("Their canoe leaks near the bow", "b"),
        ("The weather was lovely in Porto", None),
        ("...", None),
    ],
)
def test_a_text_is_of_the_turn_that_holds_its_words(text, turn):
    assert matched(text, TURNS) == turn


# --- over HTTP


@contextmanager
def served(answer):
    """A memory system on loopback; `answer` maps a verb and its body to what is replied."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, text = answer(self.path.rpartition("/")[2], body)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *arguments):
            pass

    server = LoopbackServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/memory"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def remembering():
    """An `answer` that finds all turns with a word of the question, and what it was sent."""
    turns, sent = [], []

    def answer(verb, body):
        sent.append((verb, body))
        if verb == "remember":
            turns.extend(body["turns"])
        asked = set(body.get("question", "").strip("?").split())
        hits = [turn for turn in turns if asked & set(turn["text"].split())]
        found = [{"text": t["text"], "score": len(asked & set(t["text"].split())), "turns": [t["id"]]} for t in hits]
        return 200, json.dumps({"found": sorted(found, key=lambda one: -one["score"])} if verb == "search" else {})

    return answer, sent


def test_a_system_behind_http_is_told_and_asked(played):
    answer, sent = remembering()
    with served(answer) as address:
        prediction = played(address).ask(PROBES[0])
    assert [verb for verb, _ in sent][:2] == ["open", "remember"]
    assert sent[-1][0] == "search"
    assert set(sent[-1][1]) == {"question", "as_of", "k"}
    assert prediction.found


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ((500, "{}"), "did not answer with JSON"),
        ((200, "oops"), "did not answer with JSON"),
        ((200, "[]"), "expected"),
        ((200, '{"found": [{"words": "x"}]}'), "expected"),
    ],
)
def test_an_answer_that_cannot_be_read_is_said_with_what_was_expected(played, reply, words):
    with served(lambda verb, body: reply if verb == "search" else (200, "{}")) as address:
        memory = played(address)
        with pytest.raises(MemoirError, match=words):
            memory.ask(PROBES[0])


def test_a_system_behind_http_may_answer_itself_and_say_what_that_took(played):
    cost = {"calls": 2, "tokens_in": 30, "tokens_out": 4}

    def answer(verb, body):
        return 200, json.dumps({"found": []} if verb == "search" else {"answer": "Biscuit, I think"} | cost)

    with served(answer) as address:
        memory = played(address, None, "answered_by=system")
        memory.ask_as(memory.experiment, Costs())
        prediction = memory.ask(PROBES[0])
    assert (prediction.answer, prediction.reader, prediction.abstained) == ("Biscuit, I think", address, False)
    assert (memory.costs.calls, memory.costs.tokens_in, memory.costs.tokens_out) == (2, 30, 4)


@pytest.mark.parametrize("reply", [(404, "no such address"), (200, '{"answer": null}')])
def test_what_a_system_behind_http_does_not_answer_is_answered_by_the_reader(played, reply):
    answer, _ = remembering()
    question = replace(PROBES[0], question="Who adopted Biscuit?")
    with served(lambda verb, body: reply if verb == "answer" else answer(verb, body)) as address:
        prediction = played(address, None, "answered_by=system").ask(question)
    assert prediction.reader == "extractive"
    assert prediction.answer


def test_a_system_that_is_not_there_is_named(played):
    with served(lambda verb, body: (200, "{}")) as address:
        pass
    with pytest.raises(MemoirError, match=address):
        played(address)


# --- on the command line


@pytest.fixture
def command(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("MEMOIR_HOME", str(tmp_path / "home"))

    def run(*arguments):
        capsys.readouterr()
        status = main(list(map(str, arguments)))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.mark.slow
def test_systems_stand_in_one_table_and_their_runs_can_be_compared_again(command):
    asked = ("run", "memoir", "--limit", 6)
    status, out, _ = command(*asked, "--system", "memoir", "--system", "bm25", "--system", "dense")
    assert status == 0
    header = next(line for line in out.splitlines() if line.startswith("|"))
    assert [cell.strip() for cell in header.strip("|").split("|")] == ["", "memoir", "bm25", "dense"]
    for row in (
        "answer_accuracy",
        "session_recall_all@5",
        "seconds to remember",
        "search, ms",
        "MB on disk",
    ):
        assert f"| {row} " in out
    runs = [line.split()[0] for line in command("list")[1].splitlines() if line.startswith("memoir-")]
    status, again, _ = command("compare", *runs)
    assert status == 0
    header = next(line for line in again.splitlines() if line.startswith("|"))
    assert {cell.strip() for cell in header.strip("|").split("|")} == {"", "memoir", "bm25", "dense"}


def test_one_system_alone_gets_the_usual_report(command):
    status, out, _ = command("run", "memoir", "--limit", 2, "--system", "bm25", "--reader", "none")
    assert status == 0
    assert "## " in out


def test_several_systems_and_a_sweep_are_refused_with_the_way_to_do_it(command):
    status, out, err = command("run", "memoir", "--system", "bm25", "--system", "dense", "--sweep", "budget=5,10")
    assert (status, out) == (1, "")
    assert "--sweep system=memoir,bm25" in err


def test_a_system_behind_http_keeps_one_history_at_a_time_whatever_the_jobs(command):
    answer, sent = remembering()
    with served(answer) as address:
        status, out, _ = command("run", "memoir", "--sample", 6, "--jobs", 2, "--system", "bm25", "--system", address)
    assert status == 0
    assert "| MB on disk" not in out  # neither has files here, and what a server keeps is not known
    verbs = "".join(verb[0] for verb, _ in sent)
    assert re.fullmatch("o(or+s[rs]*)+", verbs)  # asked once whether it is there, then history by history
    assert verbs.count("o") > 2


def test_a_system_that_is_not_there_is_told_before_another_is_asked(command):
    with served(lambda verb, body: (200, "{}")) as address:
        pass
    status, _, err = command("run", "memoir", "--limit", 2, "--system", "bm25", "--system", address)
    assert status == 1
    assert address in err
    assert "memoir-" not in command("list")[1]


def test_an_unknown_system_is_answered_with_the_names_before_anything_runs(command):
    status, out, err = command("run", "memoir", "--system", "memory")
    assert (status, out) == (1, "")
    assert all(name in err for name in registry.names())


def test_opening_an_unknown_system_is_refused(tmp_path, embedder):
    with pytest.raises(MemoirError, match=contract.MEMOIR):
        registry.open_system("nothing", tmp_path, embedder, MeteredChat(None, Costs()))


def test_the_table_has_the_versions_of_packages_that_systems_need_beside_memoirs_own(tmp_path):
    def run_of(system, brought):
        spec = Spec("memoir", "", "c0ffee", "all", {"system": system, "reader": "none"}, "code", versions() | brought)
        run = Runs(tmp_path).resume_or_create(spec)
        run.append(Sample(PROBES[0], Prediction(PROBES[0].id, "life", {}, ())))
        return run

    _, rows, _ = side_by_side({"bm25": run_of("bm25", {}), "mem0": run_of("mem0", {"mem0ai": "2.0.1"})})
    assert ("package", "", "mem0ai 2.0.1") in rows
