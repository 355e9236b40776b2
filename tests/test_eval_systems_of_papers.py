"""RAPTOR, HippoRAG, LD-Agent and others find and answer as in their papers, with a scripted chat model or by rules."""

import json
import sys
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec

import pytest

from eval.__main__ import main
from eval.play.memory_under_test import MemoryUnderTest
from eval.play.models import Models
from eval.play.systems import registry
from eval.play.systems.contract import MeteredChat, Session, Turn
from eval.runs.experiment import Experiment, with_settings
from eval.types import Costs
from graph.models.registry import chat_model_or_none
from memory.errors import MemoirError
from support.chat_server import ChatServer
from support.invented_history import PROBES, life

START = datetime(2026, 3, 2, tzinfo=UTC)

BOATS = (
    "The canoe leaks near the bow again.",
    "I paddled my kayak across the lake.",
    "We sanded the old rowing boat.",
    "The sailboat needs a new mast.",
)
BREAD = (
    "I fed my sourdough starter this morning.",
    "The rye loaf came out too dense.",
    "We baked cinnamon rolls together.",
    "The oven burned my baguettes.",
)
TALK = [line.replace(".", f", number {n}.") for n in range(3) for line in (*BOATS, *BREAD)]


def sessions(lines, speaker="Ana"):
    """A session a day, each of one turn."""
    days = [START + timedelta(days=n) for n in range(len(lines))]
    return [Session(f"s{n}", day, (Turn(f"t{n}", speaker, lines[n], day),)) for n, day in enumerate(days)]


@pytest.fixture
def opened(tmp_path, embedder):
    def open_system(name, lines, model="none", speaker="Ana"):
        costs = Costs()
        memory = registry.open_system(name, tmp_path, embedder, MeteredChat(chat_model_or_none(model), costs))
        for session in sessions(lines, speaker):
            memory.remember(session)
        return memory, costs

    return open_system


def asked_of(request):
    return request["messages"][-1]["content"]


def found(memory, question, day=1000, k=100):
    return [one.turns[0] for one in memory.search(question, START + timedelta(days=day), k)]


def lines_of(turns, lines):
    return [lines[int(turn[1:])] for turn in turns]


# --- RAPTOR


def summarised(request):
    return "Zorblatt is discussed at length." if "canoe" in asked_of(request) else "Something else."


def test_turns_are_found_by_the_summary_of_their_cluster(opened):
    with ChatServer(summarised) as server:
        memory, costs = opened("raptor", TALK, server.model())
        first = lines_of(found(memory, "Tell me about Zorblatt", k=4), TALK)
    assert all(line.startswith(tuple(each.partition(".")[0] for each in BOATS)) for line in first)
    assert costs.calls == len(server.requests) > 1
    assert (costs.tokens_in, costs.tokens_out) == (11 * costs.calls, 3 * costs.calls)


def test_few_turns_are_no_tree_and_are_found_by_themselves(opened):
    memory, _ = opened("raptor", BOATS)
    assert lines_of(found(memory, "Did you cross the lake by kayak?"), BOATS)[0] == BOATS[1]


@pytest.mark.parametrize("system", ["raptor", "hipporag", "ld-agent"])
def test_what_is_found_depends_on_nothing_that_was_said_later(opened, system):
    early, _ = opened(system, TALK[:16])
    late, _ = opened(system, TALK)
    for question in ("Which boat leaks?", "What did you bake?"):
        assert found(late, question, day=15) == found(early, question)
        assert len(found(late, question)) == len(TALK)


# --- HippoRAG

FAMILY = (
    "My brother Tomas sold his van.",
    "Tomas has settled in Bergen.",
    "A cousin has settled in Oslo.",
    "The weather was fine all week.",
)


def test_a_turn_is_found_over_a_name_that_the_question_does_not_have(opened):
    memory, _ = opened("hipporag", FAMILY)
    ranked = lines_of(found(memory, "Where does the owner of the van live?"), FAMILY)
    assert ranked[0] == FAMILY[0]
    assert ranked.index(FAMILY[1]) < ranked.index(FAMILY[2])


def test_a_chat_models_triples_are_the_graph(opened):
    def read(request):
        text = asked_of(request)
        if text.startswith("Extract"):
            return "Mara"
        return (
            "- Mara | sister | Tomas" if "van" in text else "Tomas | lives in | Bergen" if "Bergen" in text else "Hm."
        )

    with ChatServer(read) as server:
        memory, costs = opened("hipporag", FAMILY, server.model())
        assert lines_of(found(memory, "Where does her brother live?", k=2), FAMILY) == [FAMILY[0], FAMILY[1]]
    assert costs.calls == len(FAMILY) + 1


def test_a_question_without_words_is_no_error(opened):
    assert len(found(opened("hipporag", FAMILY)[0], "?!")) == len(FAMILY)


# --- MemWalker

LONG = [f"{line} {'It took me the whole day, from morning until late. ' * 40}" for line in (*BOATS, *BREAD)]


def walker(goal):
    """A model that goes to a summary that mentions the goal, else to the first, and answers at a text that has it."""

    def reply(request):
        text = asked_of(request)
        if text.startswith("Summarize"):
            return " ".join(word for word in ("boats", "bread", "kayak") if word in text.replace("sailboat", "boats"))
        if "different parts" in text:
            options = [line for line in text.splitlines() if line.startswith("Summary")]
            return f"I see. Action: {next((n for n, o in enumerate(options) if goal in o), 0)}"
        return f"So: Action: -2. Answer: {goal}" if goal in text.partition("Main text:")[2] else "Action: -1"

    return reply


def test_the_walk_ends_at_the_segment_that_answers_and_goes_back_from_others(opened):
    with ChatServer(walker("baguettes")) as server:
        memory, costs = opened("memwalker", LONG, server.model())
        turns = found(memory, "What burned?")
        assert "t7" in turns[:2]  # of the segment that answers, which has two turns at most
        assert len(turns) == len(LONG)  # it went into every segment before
        calls = costs.calls
        answer = memory.answer("What burned?", START + timedelta(days=1000))
    assert answer == "baguettes"
    assert costs.calls == calls  # the same walk is not asked for again


def test_a_walk_that_knows_where_to_go_reads_one_segment(opened):
    with ChatServer(walker("kayak")) as server:
        memory, _ = opened("memwalker", LONG, server.model())
        turns = found(memory, "How did you cross the lake?")
    assert "t1" in turns
    assert len(turns) < len(LONG)


def test_a_model_that_names_no_action_finds_nothing_and_answers_nothing(opened):
    with ChatServer("Well, well.") as server:
        memory, _ = opened("memwalker", LONG, server.model())
        assert found(memory, "What burned?") == []
        assert memory.answer("What burned?", START + timedelta(days=1000)) == ""


def test_memwalker_without_a_model_is_refused_before_anything_runs(opened, capsys, tmp_path, monkeypatch):
    with pytest.raises(MemoirError, match="chat model"):
        opened("memwalker", BOATS)
    monkeypatch.setenv("MEMOIR_HOME", str(tmp_path / "home"))
    assert main(["run", "memoir", "--system", "bm25", "--system", "memwalker"]) == 1
    assert "--set model=NAME" in capsys.readouterr().err
    assert not (tmp_path / "home" / "runs").exists()


# --- LD-Agent


def test_a_session_is_found_by_the_summary_of_a_chat_model(opened):
    with ChatServer(summarised) as server:
        memory, costs = opened("ld-agent", BOATS, server.model())
        assert lines_of(found(memory, "Tell me about Zorblatt", k=1), BOATS) == [BOATS[0]]
    assert costs.calls == len(BOATS)


def test_topics_that_a_question_shares_bring_a_session_up(opened):
    lines = ("Every gadget broke.", "A zorblatt is a gadget.", "The rye loaf was dense.")
    memory, _ = opened("ld-agent", lines)
    assert found(memory, "Which gadget? The zorblatt?")[0] == "t1"


def test_of_equal_sessions_the_later_is_found_first_and_what_has_no_time_does_not_fade(opened):
    memory, _ = opened("ld-agent", [BOATS[0], *BREAD, BOATS[0]])
    assert found(memory, "Which canoe leaks?")[:2] == ["t5", "t0"]
    memory.remember(Session("undated", None, (Turn("u", "Ana", BOATS[0], None),)))
    assert found(memory, "Which canoe leaks?")[:3] == ["t5", "u", "t0"]


# --- facts that are updated

MOVES = ("I live in Porto.", "The weather was fine.", "My dog is called Rex.", "We moved. I live in Bergen now.")


def test_a_fact_that_rules_read_anew_takes_the_place_of_the_old_one(opened):
    memory, _ = opened("updated-facts", MOVES)
    assert lines_of(found(memory, "Where do you live?"), MOVES)[0] == MOVES[3]
    assert "t0" not in found(memory, "Where do you live?")
    assert found(memory, "Where do you live?", day=2)[0] == "t0"  # as of a day before the move
    assert "t1" not in found(memory, "How was the weather?")  # it says nothing of anybody


def test_a_fact_that_ended_is_not_found_any_more(opened):
    memory, _ = opened("updated-facts", ("I work at Acme.", "I quit my job at Acme."))
    assert found(memory, "Where do you work?") == ["t1"]


def test_a_chat_model_writes_facts_and_says_which_they_replace(opened):
    def update(request):
        known, _, talk = asked_of(request).partition("Conversation:")
        if "Bergen" in talk:
            (number,) = [line.partition(".")[0] for line in known.splitlines() if "Porto" in line]
            return f"Sure!\n- 0 | Ana lives in Bergen | {number}\n7 | of no turn"
        return "0 | Ana lives in Porto" if "Porto" in talk else "0 | Ana has a dog, Rex |" if "Rex" in talk else "none"

    with ChatServer(update) as server:
        memory, costs = opened("updated-facts", MOVES, server.model())
        texts = [one.text for one in memory.search("Where does Ana live?", START + timedelta(days=9), 5)]
        assert texts == ["Ana lives in Bergen", "Ana has a dog, Rex"]
        assert found(memory, "Where does Ana live?") == ["t3", "t2"]
        assert found(memory, "Where does Ana live?", day=1) == ["t0"]
    assert costs.calls == len(MOVES)


# --- mem0


needs_mem0 = pytest.mark.skipif(find_spec("mem0") is None, reason="mem0ai is not installed")


@needs_mem0
def test_mem0_keeps_turns_as_they_are_without_a_model(opened, tmp_path):
    memory, costs = opened("mem0", TALK)
    assert lines_of(found(memory, "What new mast do we need?"), TALK)[0].startswith("The sailboat needs a new mast")
    assert sorted(found(memory, "Which boat leaks?", day=4)) == ["t0", "t1", "t2", "t3", "t4"]
    assert costs.calls == 0
    assert memory._memory.config.history_db_path.startswith(str(tmp_path))
    assert not sys.modules["mem0.memory.telemetry"].MEM0_TELEMETRY


@needs_mem0
def test_mem0_keeps_the_facts_that_a_chat_model_reads(opened):
    facts = json.dumps({"memory": [{"id": "0", "text": "Ana's sailboat needs a mast"}]})
    with ChatServer(lambda request: facts if "sailboat" in asked_of(request)[-2000:] else '{"memory": []}') as server:
        memory, costs = opened("mem0", [*BREAD, BOATS[3]], server.model())
        (only,) = memory.search("What does the sailboat need?", START + timedelta(days=1000), 5)
    assert (only.text, only.turns) == ("Ana's sailboat needs a mast", ())
    assert costs.calls == len(BREAD) + 1


def test_a_system_whose_package_is_missing_is_refused_with_the_way_to_install_it(monkeypatch, opened):
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    with pytest.raises(MemoirError, match="pip install mem0ai"):
        opened("mem0", BOATS)
    assert registry.versions("mem0") == {}


# --- who answers


@pytest.fixture
def played(tmp_path, embedder, classifier):
    def play(*settings, model="none"):
        experiment = with_settings(Experiment(), list(settings))
        models = Models(embedder, classifier, chat_model_or_none(model))
        memory = MemoryUnderTest(tmp_path / "memory", life(), experiment, models, Costs())
        memory.remember(life().sessions, life().memories)
        return memory

    return play


def answering(text):
    def reply(request):
        asked = asked_of(request)
        return f"Action: -2. Answer: {text}" if "Main text:" in asked else "The greyhound Biscuit."

    return reply


def test_a_system_answers_itself_only_where_the_experiment_says_so(played):
    with ChatServer(answering("It is Biscuit")) as server:
        memory = played("system=memwalker", "answered_by=system", "reader=extractive", model=server.model())
        own = memory.ask(PROBES[0])
        memory.ask_as(with_settings(memory.experiment, ["answered_by=reader"]), Costs())
        read = memory.ask(PROBES[0])
    assert (own.answer, own.reader, own.cited, own.confidence) == ("It is Biscuit", "memwalker", (), None)
    assert [hit.units for hit in own.found] == [hit.units for hit in read.found]
    assert read.reader == "extractive"
    assert "Biscuit" in read.answer


def test_a_system_that_says_it_does_not_know_abstains(played):
    with ChatServer(answering("I don't know.")) as server:
        memory = played("system=memwalker", "answered_by=system", "reader=extractive", model=server.model())
        assert memory.ask(PROBES[2]).abstained


def test_a_system_without_answers_of_its_own_is_read_by_the_reader(played):
    prediction = played("system=bm25", "answered_by=system").ask(PROBES[0])
    assert prediction.reader == "extractive"
    assert "Biscuit" in prediction.answer


@pytest.mark.slow
def test_the_table_says_which_systems_had_no_model_and_what_models_cost(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("MEMOIR_HOME", str(tmp_path / "home"))
    asked = ("run", "memoir", "--limit", "2", "--reader", "none", "--system", "bm25", "--system", "raptor")
    assert main([*asked, "--system", "hipporag"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "raptor had no chat model" in out
    assert "hipporag had no chat model" in out
    assert "calls of a model" not in out
    with ChatServer("Action: -1") as server:
        assert main([*asked, "--set", f"model={server.model()}", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
    assert told["raptor"]["timing"]["system_calls"] == len(server.requests) > 0
    assert told["raptor"]["timing"]["system_tokens_in"] == 11 * len(server.requests)
    assert "system_calls" not in told["bm25"]["timing"]
