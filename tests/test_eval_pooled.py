"""Every history told to one persona: nothing is mixed up, nothing leaks, and what is shared counts for each."""

import json
from dataclasses import replace

import pytest

from eval.__main__ import main
from eval.metrics.evidence import Scoring
from eval.metrics.scores import score
from eval.play.models import load_models
from eval.play.replay import POOLED, Replay, pool, pooled_parts, replay
from eval.runs.experiment import Experiment, with_settings
from eval.types import Gold, Probe
from memory.bank.bank import Bank
from memory.errors import MemoirError
from support.invented_history import ASKED, FIRST, MEMORIES, SESSIONS, life, session

ELSEWHERE = session("answer_77aa", 30, [("Tilde", "The lighthouse of Hanko sells honey from its own bees.")])
SHARED = replace(SESSIONS[0], external_id="plain_9", turns=tuple(replace(t, external_id="") for t in SESSIONS[0].turns))


def probe(name, question, *golds, asked_at=ASKED):
    return Probe(name, question, asked_at, Gold(("x",), *golds))


HONEY = probe("q1", "Where is honey sold?", ("answer_77aa_1",), ("answer_77aa",))
ANA = life(id="ana", memories=(), probes=life().probes[:1])
BO = life(id="bo", sessions=(ELSEWHERE,), memories=(), probes=(HONEY,))


def as_read(*histories):
    return pool(lambda: iter(histories))


@pytest.fixture
def asked(tmp_path, embedder):
    def ask(*histories, settings=()):
        experiment = with_settings(Experiment(), ["pooled=true", "reader=none", *settings])
        models = load_models(experiment, tmp_path / "embeddings.db", embedder)
        together = as_read(*histories)
        task = Replay(together, {0: together.probes})
        *samples, spent = (outcome for _, outcome in replay(task, [experiment], models))
        return {sample.probe.question: sample for sample in samples}, spent.costs

    return ask


def figures(sample):
    return score([sample], Scoring("sessions", (1, 5)), answered=False)[0].scores


def test_ids_that_two_histories_have_in_common_stay_apart(asked):
    samples, _ = asked(ANA, BO)
    dog, honey = samples[ANA.probes[0].question], samples[HONEY.question]
    assert dog.probe.gold.sessions == ("ana/answer_77aa",)
    assert honey.probe.gold.sessions == ("bo/answer_77aa",)
    assert honey.probe.gold.turns == ("bo/answer_77aa/1",)
    for sample in (dog, honey):
        assert figures(sample)["session_recall@1"] == figures(sample)["turn_recall@1"] == 1
        assert set(sample.prediction.stored) == {*sample.probe.gold.turns, *sample.probe.gold.sessions}


def test_probes_of_one_name_are_told_apart(asked):
    samples, costs = asked(ANA, BO)
    assert {s.probe.id for s in samples.values()} == {"q1", "bo/q1"}
    assert {s.prediction.history_id for s in samples.values()} == {POOLED}
    assert costs.probes == 2


def test_all_histories_are_searched_for_each_probe(asked):
    samples, costs = asked(ANA, BO)
    seen = {found.session for found in samples[HONEY.question].prediction.found}
    assert seen == {"bo/answer_77aa", *(f"ana/{s.external_id}" for s in SESSIONS)}
    assert costs.turns == sum(len(s.turns) for s in (*SESSIONS, ELSEWHERE))


def test_what_two_histories_share_is_stored_once_and_is_evidence_for_both(asked):
    about = probe("q9", "Which animal is afraid of the stairs?", ("plain_9_3",), ("plain_9",))
    turns = tuple(replace(t, external_id=f"plain_9_{n}") for n, t in enumerate(SHARED.turns, start=1))
    also = life(id="also", sessions=(replace(SHARED, turns=turns),), memories=(), probes=(about,))
    samples, costs = asked(ANA, also)
    assert costs.turns == sum(len(s.turns) for s in SESSIONS)
    sample = samples[about.question]
    assert sample.probe.gold.turns == ("ana/answer_77aa/3",)
    assert sample.probe.gold.sessions == ("ana/answer_77aa",)
    assert figures(sample)["session_recall@1"] == 1


def test_the_same_words_at_another_time_are_another_session():
    later = replace(SHARED, started_at=FIRST.replace(year=2027))
    pooled = as_read(ANA, life(id="also", sessions=(later,), memories=(), probes=()))
    (first, _), (second, _) = pooled_parts(pooled.read)
    assert len(first.sessions) == len(SESSIONS)
    assert [s.external_id for s in second.sessions] == ["also/plain_9"]


def test_memories_that_no_turn_said_are_shared_too():
    asked_of = probe("q5", "Where is home?")
    of_home = replace(asked_of, gold=Gold(("x",), items=("home",)))
    ana, bo = life(id="ana", probes=(of_home,)), life(id="bo", memories=MEMORIES, probes=(of_home,))
    (first, _), (second, _) = pooled_parts(as_read(ana, bo).read)
    assert [m.external_id for m in first.memories] == ["ana/home"]
    assert not second.memories
    assert [p.gold.items for p in as_read(ana, bo).probes] == [("ana/home",), ("ana/home",)]


def test_evidence_that_nobody_told_is_not_stored(asked):
    lost = probe("q8", "Who sailed to Gotland?", ("answer_99_1",), ("answer_99",))
    samples, _ = asked(ANA, life(id="bo", sessions=(ELSEWHERE,), memories=(), probes=(lost,)))
    sample = samples[lost.question]
    assert sample.probe.gold.sessions == ("bo/answer_99",)
    assert not sample.prediction.stored
    assert figures(sample)["session_recall@5"] == 0


def test_a_question_knows_nothing_said_after_it_by_any_history(asked):
    early = replace(HONEY, asked_at=FIRST.replace(hour=23))
    samples, _ = asked(ANA, replace(BO, probes=(early,)))
    assert {f.session for f in samples[HONEY.question].prediction.found} == {"ana/answer_77aa"}


def test_no_id_of_a_benchmark_is_in_the_banks_file(asked, monkeypatch):
    held = []
    remember = Bank.remember

    def watched(bank, *told):
        stored = remember(bank, *told)
        held.append(b"".join(path.read_bytes() for path in bank.path.parent.iterdir()))
        return stored

    monkeypatch.setattr(Bank, "remember", watched)
    asked(ANA, BO)
    assert len(held) == 2
    assert b"lighthouse" in held[1]
    assert b"answer_77" not in held[1]
    assert b"ana/" not in held[1]


def test_an_id_of_evidence_in_what_is_told_stops_the_run(asked):
    telling = session("plain_7", 40, [("Tilde", "See answer_77aa for more.")])
    with pytest.raises(MemoirError, match="answer_77aa"):
        asked(ANA, replace(BO, sessions=(ELSEWHERE, telling)))


def test_a_history_that_is_asked_while_it_goes_on_cannot_be_pooled():
    with pytest.raises(MemoirError, match="ana"):
        as_read(replace(ANA, probes=(replace(HONEY, asked_in="answer_77aa"),)))


def test_histories_are_read_as_they_are_told_and_not_kept():
    alive = []

    def read():
        for history in (ANA, BO):
            alive.append(history.id)
            yield history

    parts = pooled_parts(pool(read).read)
    alive.clear()
    next(parts)
    assert alive == ["ana"]


@pytest.mark.parametrize("setting", ["granularity=session", "granularity=round", "key=value+keyphrases"])
def test_what_is_stored_can_be_varied_in_a_pool(asked, setting):
    samples, _ = asked(ANA, BO, settings=[setting])
    assert all(figures(sample)["session_recall@5"] == 1 for sample in samples.values())


def question(name, said, gold):
    return {
        "question_id": name,
        "question_type": "single-session-user",
        "question": f"What did I say of {name}?",
        "question_date": "2024/05/30 (Thu) 23:40",
        "answer": "x",
        "answer_session_ids": [gold],
        "haystack_dates": ["2024/05/01 (Wed) 09:30"] * len(said),
        "haystack_session_ids": list(said),
        "haystack_sessions": [[{"role": "user", "content": text, "has_answer": True}] for text in said.values()],
    }


def test_the_command_pools_a_benchmark_and_goes_on_where_it_stopped(tmp_path, monkeypatch, capsys):
    both = {"filler_1": "The kettle whistles in the morning."}
    file = tmp_path / "longmemeval_s.json"
    told = [
        question("kayaks", {"answer_a": "My kayaks are red.", **both}, "answer_a"),
        question("beehives", {**both, "answer_b": "My beehives are on the roof."}, "answer_b"),
    ]
    file.write_text(json.dumps(told))
    monkeypatch.setenv("MEMOIR_HOME", str(tmp_path / "home"))
    run = ["run", "longmemeval", "--data", str(file), "--reader", "none", "--set", "pooled=true", "--jobs", "2"]
    assert main([*run, "--json"]) == 0
    held = json.loads(capsys.readouterr().out)
    assert held["settings"]["pooled"] is True
    assert held["n"] == 2
    assert held["histories"] == 1
    assert held["metrics"]["session_recall@1"]["value"] == 1
    assert main(["list"]) == 0
    assert "pooled=True" in capsys.readouterr().out
