"""A history is told and asked through the same memory as a chat, and nothing of what is right goes with it."""

import re
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from eval.benchmarks.longmemeval.metrics import official_scores
from eval.metrics.answers import verdict
from eval.metrics.evidence import Scoring
from eval.metrics.scores import score
from eval.play import memory_under_test
from eval.play.ids import RANKED, trim_ranking
from eval.play.memory_under_test import MemoryUnderTest
from eval.play.models import Models
from eval.play.session_rewriter import SessionRewriter
from eval.runs.evaluator import resolved
from eval.runs.experiment import Experiment, with_settings
from eval.types import STATEMENT, Gold, Prediction, Probe, RankedHit, Sample
from graph.models.faults import UnknownModel
from graph.models.registry import chat_model_or_none
from graph.readers import extractive
from memory.errors import MemoirError
from memory.importers.generic.memoir import read
from memory.types import LearnedMemory, MemoryDraft, Quote, SessionDraft, TimeSpan
from support.chat_server import ChatServer
from support.invented_history import ASKED, FIRST, PROBES, SESSIONS, life, session

LIFE = Path(__file__).parents[1] / "assets" / "benchmark" / "ines.jsonl"


@pytest.fixture
def played(tmp_path, embedder, classifier):
    def play(history=None, *settings, model="none"):
        history = history or life()
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        experiment = resolved(with_settings(Experiment(), [*settings, f"model={model}"]))
        memory = MemoryUnderTest(folder, history, experiment, Models(embedder, classifier, chat_model_or_none(model)))
        memory.remember(history.sessions, history.memories)
        return memory

    return play


def asked(memory, probe=PROBES[0]):
    return memory.ask(probe)


def first_said(prediction):
    return next(found for found in prediction.found if found.session)


def test_an_answer_comes_with_its_evidence_under_the_benchmarks_own_ids(played):
    prediction = asked(played())
    assert "Biscuit" in prediction.answer
    assert "answer_77aa_1" in prediction.cited
    assert first_said(prediction).units == ("answer_77aa_1",)
    assert first_said(prediction).session == "answer_77aa"
    assert set(prediction.milliseconds) >= {"classify", "retrieve", "rerank", "time_filter", "read"}
    assert prediction.stored == ("answer_77aa", "answer_77aa_1")
    assert 0 < prediction.confidence <= 1


def test_a_chat_model_replies_as_it_likes_where_a_benchmark_hands_in_memories(played):
    probe = replace(chatting("Biscuit ran off again.", "race"), ability=STATEMENT)
    with ChatServer("Oh no! You won the race [1].") as server:  # the only memory
        prediction = asked(played(life(memories=RACES), "given=setting-2", model=server.model()), probe)
    assert prediction.reader == server.model()
    assert prediction.answer == "Oh no! You won the race [1]."
    assert prediction.cited == ("race",)
    assert prediction.fallbacks == {"read": False}
    assert prediction.confidence is None


def test_a_chat_models_answer_has_no_confidence_and_one_that_cannot_be_read_counts_as_wrong(played):
    read = '{"notes": [], "answer": "Biscuit.", "citations": [], "reason": null}'
    with ChatServer(read, "not a word of JSON") as server:
        memory = played(None, "method=con", model=server.model())
        answered, unread = asked(memory), asked(memory)
    assert (answered.reader, answered.confidence, answered.unreadable) == (server.model(), None, False)
    assert (unread.reader, unread.unreadable) == ("extractive", True)
    assert verdict(PROBES[0], unread).state == "wrong"
    assert verdict(PROBES[0], replace(unread, unreadable=False)).state == "right"


def test_what_was_never_said_is_declined(played):
    assert asked(played(), PROBES[2]).abstained


def test_no_id_of_the_benchmark_is_in_the_banks_file(played):
    memory = played()
    content = b"".join(path.read_bytes() for path in memory.home.iterdir())
    assert b"Biscuit" in content
    assert b"answer_77" not in content
    assert b"life-77" not in content


def test_what_is_right_is_not_in_what_the_reader_gets(played, monkeypatch):
    given = []
    monkeypatch.setattr(extractive, "answer", lambda *all_of_it: given.append(all_of_it) or real(*all_of_it))
    memory = played()
    for probe in PROBES:
        changed = replace(probe, gold=replace(probe.gold, answers=("a word nobody said: zyzzyva",)))
        memory.ask(changed)
    assert len(given) == len(PROBES)
    assert "zyzzyva" not in repr(given)
    assert "answer_77" not in repr(given)
    assert "_abs" not in repr(given)


real = extractive.answer


def test_nothing_is_remembered_of_a_probe(played):
    memory = played()
    asked(memory)  # the first question has the history learned from
    before = (memory.home / "bank.db").read_bytes()
    asked(memory)
    assert (memory.home / "bank.db").read_bytes() == before


def test_a_memory_that_holds_the_gold_id_stops_the_run(played):
    leak = MemoryDraft("world", "See answer_77aa_1 for this.", said_at=FIRST, external_id="m")
    with pytest.raises(MemoirError, match="answer_77aa"):
        played(life(memories=(leak,)))


def test_a_session_that_keeps_its_gold_name_stops_the_run(played, monkeypatch):
    monkeypatch.setattr(
        memory_under_test.BenchmarkIds, "hide", lambda self, kind, name: self.originals.setdefault(name, name)
    )
    with pytest.raises(MemoirError, match="answer_77"):
        played()


def test_a_session_after_the_probe_is_not_found(played):
    late = session("late", 200, [("Tilde", "My greyhound is called Toast now, not Biscuit.")])
    prediction = asked(played(life(sessions=(*SESSIONS, late))))
    assert "late" not in {found.session for found in prediction.found}


def test_a_hit_from_after_the_probe_stops_the_run(played, monkeypatch):
    late = session("late", 200, [("Tilde", "My greyhound is called Toast now, not Biscuit.")])
    memory = played(life(sessions=(*SESSIONS, late)))
    search = memory._searcher.search
    later = ASKED + timedelta(days=400)
    monkeypatch.setattr(memory._searcher, "search", lambda who, views, as_of, *rest: search(who, views, later, *rest))
    with pytest.raises(MemoirError, match="after it was asked"):
        asked(memory)


def test_the_order_of_the_file_does_not_matter(played):
    shuffled = life(sessions=tuple(reversed(SESSIONS)), probes=tuple(reversed(PROBES)))
    for probe in PROBES:
        one, other = asked(played(), probe), asked(played(shuffled), probe)
        assert one.found == other.found
        assert one.answer == other.answer


@pytest.mark.parametrize(
    ("granularity", "units"),
    [
        ("turn", ("answer_77aa_1",)),
        ("round", ("answer_77aa_1", "answer_77aa_2")),
        ("session", ("answer_77aa_1", "answer_77aa_2", "answer_77aa_3")),
        ("summary", ("answer_77aa_1", "answer_77aa_2", "answer_77aa_3")),
        ("round-summary", ("answer_77aa_1", "answer_77aa_2")),
        ("facts", ("answer_77aa_1", "answer_77aa_2")),
    ],
)
def test_a_memory_holds_as_much_as_is_set(played, granularity, units):
    assert first_said(asked(played(None, f"granularity={granularity}"))).units == units


@pytest.mark.parametrize(
    ("granularity", "stored"),
    [
        ("turn", [("answer_77aa_1",), ("answer_77aa_3",), ("answer_77ab_1",), ("plain_1_1",)]),
        (
            "round",
            [
                ("answer_77aa_1", "answer_77aa_2"),
                ("answer_77aa_3",),
                ("answer_77ab_1", "answer_77ab_2"),
                ("plain_1_1", "plain_1_2"),
            ],
        ),
    ],
)
def test_what_the_user_says_can_be_indexed_alone(played, granularity, stored):
    memory = played(life(memories=()), "indexed=user", "learner=none", f"granularity={granularity}")
    assert sorted(found.units for found in asked(memory).found) == stored


@pytest.mark.parametrize("indexed", ["user", "all"])
def test_facts_stand_for_the_rounds_that_tell_them_and_other_rounds_are_not_stored(played, indexed):
    talk = session("s", 0, [("Tilde", "I keep bees. Is it cold out?"), ("Ada", "It is."), ("Tilde", "Fine weather.")])
    memory = played(life(sessions=(talk,), memories=()), "granularity=facts", "learner=none", f"indexed={indexed}")
    (held,) = memory._bank.memories(memory._persona.id)
    assert "I keep bees." in held.text
    assert "cold" not in held.text + held.key
    assert memory._ids.holds_any(held, ("s_2",))


@pytest.mark.parametrize("granularity", ["session", "summary"])
def test_a_whole_session_is_indexed_by_the_users_words_and_read_as_it_was(played, granularity):
    memory = played(None, "indexed=user", "key=value+keyphrases", f"granularity={granularity}")
    (held,) = [m for m in memory._bank.memories(memory._persona.id, store="dialogue") if "greyhound" in m.text]
    assert "Ada: A greyhound!" in held.text
    assert "stairs" not in held.key
    assert "carry him" in held.key


def test_a_session_in_which_the_user_says_nothing_is_not_indexed_by_the_users_words(played):
    silent = replace(SESSIONS[1], turns=SESSIONS[1].turns[1:])
    memory = played(life(sessions=(SESSIONS[0], silent)), "indexed=user", "granularity=session")
    assert {found.session for found in asked(memory).found if found.session} == {"answer_77aa"}


@pytest.mark.parametrize("key", ["value+facts", "value+summary", "value+keyphrases"])
@pytest.mark.parametrize("keys", ["merged", "separate"])
def test_additional_keys_find_the_same_turns(played, key, keys):
    memory = played(None, f"key={key}", f"keys={keys}")
    assert first_said(asked(memory)).units == ("answer_77aa_1",)
    held = memory._bank.memories(memory._persona.id, store="dialogue")
    said = [turn.text for s in SESSIONS for turn in s.turns]
    assert {m.text for m in held} == set(said)
    assert (len(held) > len(said)) == (keys == "separate")


@pytest.mark.parametrize(
    ("key", "indexed"),
    [
        (
            "facts",
            "Biscuit is Tilde's greyhound I adopted a greyhound called Biscuit on Saturday. "
            "He is afraid of them, so I carry him.",
        ),
        ("summary", "I adopted a greyhound called Biscuit on Saturday. He is afraid of them, so I carry him."),
        ("keyphrases", "adopted; adopted greyhound; afraid; afraid carry; biscuit saturday"),
    ],
)
def test_a_key_can_stand_in_for_the_words(played, key, indexed):
    memory = played(life(memories=()), "indexed=user", "granularity=session", f"key={key}")
    (held,) = [m for m in memory._bank.memories(memory._persona.id, store="dialogue") if "greyhound" in m.text]
    assert held.key == indexed
    assert "Does Biscuit like the stairs?" in held.text


def test_words_without_a_fact_are_their_own_key(played):
    memory = played(life(memories=()), "indexed=user", "granularity=round", "key=facts")
    (held,) = [m for m in memory._bank.memories(memory._persona.id, store="dialogue") if "canoe" in m.text]
    assert held.key == "The canoe leaks again, just behind the seat."


def test_memories_fade_by_the_days_since_they_were_said(played):
    one = ("search.k=1", "learner=none", "search.dense_weight=1")
    kept, faded = (asked(played(life(memories=()), *one, f"strength_days={days}")).found for days in (100_000, 1))
    assert {f.units for f in kept} == {f.units for f in faded}
    assert [f.session for f in kept if f.place == "read"] == ["answer_77aa"]
    assert [f.session for f in faded if f.place == "read"] == ["answer_77ab"]


@pytest.mark.parametrize(
    "setting", ["granularity=summary", "granularity=round-summary", "key=value+summary", "key=value+keyphrases"]
)
def test_what_is_stored_of_a_session_does_not_depend_on_later_ones(setting):
    experiment = with_settings(Experiment(), [setting])
    told = [record for record in read(LIFE) if isinstance(record, SessionDraft)][:6]
    rewriter = SessionRewriter(experiment, told[::-1])
    for n, each in enumerate(told, 1):
        assert rewriter.rewrite(each) == SessionRewriter(experiment, told[:n]).rewrite(each)


def test_no_memory_leaves_nothing_to_read(played):
    prediction = asked(played(None, "given=nothing"))
    assert prediction.abstained
    assert not prediction.found


@pytest.mark.parametrize("given", ["nothing", "wrong"])
@pytest.mark.parametrize("question", ["Do I have a greyhound?", "Who is Biscuit?", "What do you know about me?"])
def test_nothing_but_what_is_given_answers(played, given, question):
    prediction = played(None, f"given={given}").ask(replace(PROBES[0], question=question))
    assert "answer_77aa_1" not in prediction.cited
    assert "Biscuit" not in prediction.answer


def test_the_whole_history_can_be_read(played):
    found = asked(played(None, "given=everything", "learner=none")).found
    assert len(found) == sum(len(s.turns) for s in SESSIONS) + 1
    assert {f.place for f in found} == {"read"}


def test_the_latest_can_be_read_first(played):
    found = asked(played(life(memories=()), "given=recent", "learner=none", "time_filter=off")).found
    said = [turn.external_id for s in SESSIONS for turn in s.turns]
    assert [f.units[0] for f in found] == said[::-1]


def test_a_chat_model_sees_the_choices_that_are_not_searched_for(played):
    probe = Probe("c", "What is my greyhound called?", ASKED, Gold(choice=1), choices=("Toast", "Biscuit", "Rex"))
    with ChatServer("Biscuit [1]") as server:
        for answers, shown in (
            ("multiple-choice", "(C) Rex"),
            ("unstructured", "Is it Toast, or Biscuit"),
            ("open", ""),
        ):
            memory = played(None, f"simulation.answers={answers}", "method=direct", model=server.model())
            before = len(server.requests)
            asked(memory, probe)
            sent = str(server.requests[before:])
            assert shown in sent
            assert ("Rex" in sent) == bool(shown)
    assert asked(played(), probe).found == asked(played(), replace(probe, choices=())).found


def test_the_evidence_itself_can_be_read(played):
    assert {u for f in asked(played(None, "given=oracle")).found for u in f.units} == {"answer_77aa_1"}


def test_whole_sessions_of_evidence_are_read_also_where_no_turn_of_theirs_is_marked(played):
    gold = Gold(("Biscuit",), ("answer_77aa_1",), ("answer_77aa", "plain_1"))
    memory = played(None, "given=oracle", "granularity=session")
    found = asked(memory, replace(PROBES[0], gold=gold)).found
    assert {f.session for f in found} == {"answer_77aa", "plain_1"}


def test_what_is_found_can_be_had_without_the_evidence(played):
    found = asked(played(None, "given=wrong")).found
    assert found
    assert "answer_77aa_1" not in {u for f in found for u in f.units}


def chatting(text, *candidates):
    """A probe that asks nothing, with memories that a benchmark hands in."""
    return Probe("p1", text, ASKED, Gold(items=("race",)), "proactive", candidates={"setting-2": candidates})


RACES = tuple(
    MemoryDraft("event", f"Tilde {what}.", event=TimeSpan(FIRST, FIRST + timedelta(days=1)), external_id=name)
    for name, what in (("race", "won the race"), ("cake", "baked a cake"), ("canoe", "sank the canoe"))
)


@pytest.mark.parametrize(
    "text", ["I am so nervous about the race.", "My dog died this morning.", "gotta run!", "Where did I win the race?"]
)
def test_the_candidates_of_a_setting_reach_the_chat_model_and_nothing_else_does(played, text):
    probe = chatting(text, "race", "cake")

    def bring_up(request):
        number = re.search(r'\[(\d)\] "Tilde won the race."', request["messages"][-1]["content"])[1]
        return f"Oh! You won the race [{number}]. Was it hard?"

    with ChatServer(bring_up) as server:
        memory = played(life(memories=RACES, probes=(probe,)), "given=setting-2", model=server.model())
        prediction = asked(memory, probe)
    shown = "\n".join(message["content"] for message in server.requests[0]["messages"])
    assert sorted(re.findall(r"^\[\d\] (.*)$", shown, re.MULTILINE)) == [
        '"Tilde baked a cake."',
        '"Tilde won the race."',
    ]
    assert prediction.reader == server.model()
    assert prediction.cited == ("race",)
    (scored,) = score([Sample(probe, prediction)], Scoring("items"), answered=True)
    assert scored.scores["brought_up_precision"] == 1.0


def test_without_the_candidates_of_a_benchmark_the_chat_model_talks_with_no_memory(played):
    probe = chatting("Where did I win the race?", "race", "cake")
    with ChatServer("Where was it?") as server:
        prediction = asked(played(life(memories=RACES), "given=nothing", model=server.model()), probe)
    assert (prediction.answer, prediction.reader) == ("Where was it?", server.model())
    assert "[1]" not in server.requests[0]["messages"][-1]["content"]


def test_a_setting_without_candidates_is_refused(played):
    with pytest.raises(MemoirError, match="no candidates of setting-3 for q1"):
        asked(played(None, "given=setting-3"))


def test_the_time_of_the_evidence_can_stand_in_for_the_words(played):
    by_words, by_evidence = (asked(played(None, *changes)) for changes in ((), ("times=oracle",)))
    assert "time_filter: the question names no time" in by_words.trace
    assert any(line.startswith("time_filter: 2 March 2026") for line in by_evidence.trace)
    assert any(line.startswith("time: ") for line in by_evidence.trace)
    assert first_said(by_evidence).session == "answer_77aa"
    assert {f.place for f in by_evidence.found if f.store == "dialogue"} == {"read"}


def test_the_day_of_the_evidence_is_that_of_who_spoke(played):
    half_past_midnight = datetime.fromisoformat("2026-03-03T00:30:00+02:00")  # in UTC still 2 March
    first = session("answer_77aa", 0, [("Tilde", "I adopted a greyhound called Biscuit.")])
    first = replace(first, started_at=half_past_midnight, started_text=half_past_midnight.isoformat())
    prediction = asked(played(life(sessions=(first,), memories=()), "times=oracle"))
    assert any(line.startswith("time_filter: 3 March 2026") for line in prediction.trace)


RANGE = '{"first": "2026-03-01", "last": "2026-03-03"}'


def test_what_is_of_another_time_than_asked_about_can_be_dropped(played):
    """It is not among the best that are read, and what is of the time takes its place."""
    probe = replace(PROBES[0], question="What did I say in the first half of March 2026?")
    settings = ("outside=dropped", "search.k=4", "learner=none")
    kept, dropped = (played(life(memories=()), *s).ask(probe).found for s in (settings[1:], settings))
    assert {f.session for f in kept if f.place != "filtered"} > {"answer_77aa"}
    assert {f.session for f in dropped if f.place == "read"} == {"answer_77aa", "plain_1"}
    assert {f.session for f in dropped if f.place == "filtered"} == {"answer_77ab"}


def test_a_question_without_a_time_drops_nothing(played):
    kept, dropped = (asked(played(None, *s)).found for s in ((), ("outside=dropped",)))
    assert kept == dropped


def test_a_chat_model_can_read_the_time_asked_about(played):
    with ChatServer(RANGE) as server:
        memory = played(life(memories=()), "times=model", "outside=dropped", "reader=none", model=server.model())
        prediction = asked(memory)
    assert {f.session for f in prediction.found if f.place == "read"} == {"answer_77aa"}
    assert (prediction.tokens_in, prediction.tokens_out, prediction.fallbacks) == (11, 3, {"times": False})
    (request,) = server.requests
    assert "Monday, 2026-06-01" in request["messages"][0]["content"]
    assert "greyhound called?" in request["messages"][0]["content"]


@pytest.mark.parametrize(
    "reply",
    [
        '{"first": null, "last": null}',
        '{"first": "2026-03-03", "last": "2026-03-01"}',
        '{"first": "in March", "last": "2026-03-03"}',
        '{"first": "9999-12-31", "last": "9999-12-31"}',
        "March.",
    ],
)
def test_a_model_that_names_no_range_of_days_leaves_the_time_open(played, reply):
    with ChatServer(reply) as server:
        prediction = asked(played(None, "times=model", "outside=dropped", "reader=none", model=server.model()))
    assert prediction.fallbacks == {"times": "null" not in reply}
    assert "time_filter: the question names no time" in prediction.trace


def test_times_cannot_be_read_without_a_chat_model(played):
    with pytest.raises(UnknownModel, match="model=NAME"):
        asked(played(None, "times=model"))


@pytest.mark.parametrize(("kind", "stores"), [("semantic", {"profile"}), ("episodic", {"dialogue"})])
def test_one_kind_of_memory_can_be_left_out(played, kind, stores):
    assert {f.store for f in asked(played(None, f"remembered={kind}")).found} == stores


def test_without_a_reader_there_is_a_ranking_and_no_answer(played):
    prediction = asked(played(None, "reader=none"))
    assert first_said(prediction).units == ("answer_77aa_1",)
    assert prediction.answer == ""
    assert not prediction.abstained


def test_a_choice_is_told_from_the_answer(played):
    probe = Probe("c", "What is my greyhound called?", ASKED, Gold(choice=1), choices=("Toast", "Biscuit", "Rex"))
    assert asked(played(), probe).choice == 1


@pytest.mark.parametrize("granularity", ["turn", "round", "session"])
def test_a_session_that_grows_takes_the_place_of_its_part(played, granularity):
    memory = played(life(memories=()), f"granularity={granularity}")
    whole = asked(memory).found
    memory.remember([replace(SESSIONS[0], turns=SESSIONS[0].turns[:1]), *SESSIONS[1:]])
    memory.remember(SESSIONS)
    assert {f.units for f in asked(memory).found} == {f.units for f in whole}
    assert len(asked(memory).found) == len(whole)


def test_telling_more_adds_only_what_is_new(played):
    memory = played(life(memories=()))
    before = memory.costs.turns
    memory.remember(SESSIONS)
    assert memory.costs.turns == before


@pytest.mark.parametrize("level", ["sessions", "items"])
@given(
    st.lists(st.tuples(st.integers(0, 300), st.integers(-1, 90), st.sampled_from(["read", "beyond", "filtered"]))),
    st.sets(st.integers(0, 300), min_size=1, max_size=5),
)
def test_what_is_left_out_of_a_ranking_changes_no_figure(level, hits, evidence):
    ranking = tuple(
        RankedHit((f"t{unit}",), f"s{place}" if place >= 0 else "", "dialogue", 1.0, kept) for unit, place, kept in hits
    )
    turns = tuple(f"t{n}" for n in evidence)
    sessions = tuple(f"s{n}" for n in evidence)
    gold = Gold(("x",), turns, sessions if level == "sessions" else (), sessions)
    gold = replace(gold, user_turns=turns, user_sessions=sessions)
    probe = Probe("q", "Where?", ASKED, gold)
    short = tuple(trim_ranking(ranking))
    whole, part = (Sample(probe, Prediction("q", "h", {}, found)) for found in (ranking, short))
    scoring = Scoring(level, (1, 10, RANKED), official_ranking=official_scores)
    one, other = score([whole, part], scoring, answered=False)
    assert one.scores == other.scores
    assert {f for f in ranking if f.place == "read"} == {f for f in short if f.place == "read"}


def test_a_long_ranking_is_kept_short():
    ranking = [RankedHit((f"t{n}",), f"s{n % 200}", "dialogue", 1.0, "beyond") for n in range(5000)]
    assert len(list(trim_ranking(ranking))) == RANKED


def test_what_was_learned_from_turns_is_stored_under_other_ids_too(played):
    told = LearnedMemory(
        MemoryDraft("profile", "home: Turku", external_id="answer_77aa_fact"), (Quote(0, SESSIONS[0].turns[0].text),)
    )
    memory = played(life(sessions=(replace(SESSIONS[0], learned=(told,)), *SESSIONS[1:])))
    content = b"".join(path.read_bytes() for path in memory.home.iterdir())
    assert b"Turku" in content
    assert b"answer_77" not in content


# --- asked as by a benchmark's authors


def test_what_is_searched_for_may_be_another_text_than_the_question(played):
    memory = played(None, "reader=none", "search.dense_weight=1", "views=off")
    other = replace(PROBES[0], query='<Tilde>: "The canoe leaks behind the seat."\n')
    assert [first_said(asked(memory, probe)).units for probe in (PROBES[0], other, PROBES[0])] == [
        ("answer_77aa_1",),
        ("plain_1_1",),
        ("answer_77aa_1",),
    ]


def test_a_model_that_reads_is_shown_the_question_as_the_authors_ask_it(played):
    shown = "What is my greyhound called? Select the correct answer: (a) Not mentioned (b) Rex."
    with ChatServer("(a)") as server:
        prediction = asked(played(None, model=server.model()), replace(PROBES[0], shown=shown))
    assert any(shown in message["content"] for request in server.requests for message in request["messages"])
    assert first_said(prediction).units == ("answer_77aa_1",)


def test_bm25_over_what_stands_between_spaces_is_that_of_longmemevals_script(played):
    said = [turn.text for each in SESSIONS for turn in each.turns if turn.role == "user"]
    question = "What is Biscuit afraid of in Lisbon?"
    scores = BM25Okapi([text.split(" ") for text in said]).get_scores(question.split(" "))
    memory = played(None, "reader=none", "words=spaces", "indexed=user")
    found = [hit for hit in asked(memory, replace(PROBES[0], question=question)).found if hit.session]
    turns = {turn.text: turn.external_id for each in SESSIONS for turn in each.turns}
    best = max(said, key=lambda text: scores[said.index(text)])
    assert found[0].units == (turns[best],)
    assert {hit.units[0] for hit in found} == {turns[text] for text in said}


def test_a_round_that_the_user_is_indexed_by_names_the_turns_it_is_found_by(played):
    memory = played(None, "reader=none", "granularity=round", "indexed=user")
    hits = {hit.units: hit.indexed for hit in asked(memory).found if hit.session}
    assert hits["answer_77aa_1", "answer_77aa_2"] == ("answer_77aa_1",)
    assert {hit.indexed for hit in asked(played(None, "reader=none", "granularity=round")).found} == {()}
