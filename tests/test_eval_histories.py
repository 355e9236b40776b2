"""Histories of any length for LongMemEval's questions, from pools of sessions."""

import json
from collections import Counter
from datetime import timedelta

import pytest

from eval.__main__ import main
from eval.benchmarks.longmemeval.adapter import load, read_moment
from eval.benchmarks.longmemeval.histories import SHARES, Plan, compile_histories, read_pools
from eval.settings import EvalSettings
from memory.errors import MemoirError

ASKED = "2024/05/30 (Thu) 23:40"


def session(text, **fields):
    return [{"role": "user", "content": text, **fields}, {"role": "assistant", "content": f"Noted: {text}"}]


def question(name="q1", answers=("answer_b_1", "answer_b_2"), **fields):
    days = ("2024/05/01 (Wed) 09:30", "2024/05/20 (Mon) 10:00")
    return {
        "question_id": name,
        "question_type": "multi-session",
        "question": "Which boats did I buy?",
        "question_date": ASKED,
        "answer": "The red one and the blue one",
        "answer_session_ids": list(answers),
        "haystack_dates": ["2024/05/03 (Fri) 11:00", *days[: len(answers)]],
        "haystack_session_ids": ["own", *answers],
        "haystack_sessions": [
            session("An old filler."),
            *(session(f"{a} I bought.", has_answer=True) for a in answers),
        ],
        **fields,
    }


def write(path, questions):
    path.write_text(json.dumps(questions), encoding="utf-8")
    return path


@pytest.fixture
def questions(tmp_path):
    return write(tmp_path / "oracle.json", [question(), question("q2", ("answer_c_1",))])


@pytest.fixture
def pool(tmp_path):
    """A LongMemEval file whose sessions are of three sources, and some of which belong to the evidence."""
    names = [f"{source}_{n}_0" for source in ("sharegpt", "ultrachat", "p") for n in range(60)]
    names += ["answer_b_1", "answer_b_abs_3", "b_4", "answer_d_1"]
    texts = [session(f"Talk {name}.", has_answer=name.startswith("answer")) for name in names]
    texts[-4] = session("answer_b_1 I bought.")
    haystack = {"haystack_dates": [ASKED] * len(names), "haystack_session_ids": names, "haystack_sessions": texts}
    return write(tmp_path / "pool.json", [question("other", (), **haystack)])


def compiled(questions, pool, fillers=40, shares=SHARES, **wishes):
    return list(compile_histories(questions, read_pools([("", pool)]), Plan(fillers, shares, **wishes)))


def source(name):
    return next((known for known in ("answer", "sharegpt", "ultrachat") if name.startswith(known)), "user")


def test_a_history_has_the_evidence_and_as_many_fillers_as_wanted(questions, pool):
    first, second = compiled(questions, pool)
    assert [len(q["haystack_sessions"]) for q in (first, second)] == [42, 41]
    assert "own" not in first["haystack_session_ids"]
    assert {key: first[key] for key in ("question", "answer", "answer_session_ids", "question_date")} == {
        key: question()[key] for key in ("question", "answer", "answer_session_ids", "question_date")
    }


def test_the_adapter_reads_it_with_its_evidence(questions, pool, tmp_path):
    file = write(tmp_path / "longmemeval_new.json", compiled(questions, pool))
    first, second = load(file)
    (probe,) = first.probes
    assert probe.gold.sessions == ("answer_b_1", "answer_b_2")
    assert probe.gold.turns == ("answer_b_1_1", "answer_b_2_1")
    assert (len(first.sessions), len(second.sessions)) == (42, 41)
    assert not (*first.skips, *second.skips)


def test_sources_have_their_shares(questions, pool):
    pools = read_pools([("", pool)])
    names = [
        name
        for seed in range(40)
        for q in compile_histories(questions, pools, Plan(20, SHARES, seed=seed))
        for name in q["haystack_session_ids"]
    ]
    counts = Counter(source(name) for name in names)
    assert counts["answer"] == 40 * 3
    assert counts["sharegpt"] / 1600 == pytest.approx(0.25, abs=0.04)
    assert counts["ultrachat"] / 1600 == pytest.approx(0.25, abs=0.04)
    assert counts["user"] / 1600 == pytest.approx(0.5, abs=0.04)


def test_evidence_keeps_its_dates_and_fillers_are_dated_around_it(questions, pool):
    for made in compiled(questions, pool):
        dates = dict(zip(made["haystack_session_ids"], made["haystack_dates"], strict=True))
        assert dates[made["answer_session_ids"][0]] == "2024/05/01 (Wed) 09:30"
        moments = [read_moment(date) for date in made["haystack_dates"]]
        assert moments == sorted(moments)
        assert moments[-1] <= read_moment(ASKED)
        assert moments[0] >= read_moment("2024/05/01 (Wed) 09:30") - timedelta(days=30, minutes=1)


def test_the_place_of_the_evidence_is_random(questions, pool):
    places = {compiled(questions, pool, seed=seed)[0]["haystack_session_ids"].index("answer_b_1") for seed in range(12)}
    assert len(places) > 5


def test_no_filler_is_evidence_of_the_question_or_marked_as_evidence(pool, tmp_path):
    alone = write(tmp_path / "alone.json", [question()])
    (made,) = compiled(alone, pool, fillers=61, shares={"user": 1})
    fillers = set(made["haystack_session_ids"]) - set(made["answer_session_ids"])
    assert fillers == {f"p_{n}_0" for n in range(60)} | {"d_1"}
    others = zip(made["haystack_session_ids"], made["haystack_sessions"], strict=True)
    assert not [turn for name, turns in others if name in fillers for turn in turns if "has_answer" in turn]


def test_one_session_more_than_the_pool_has_is_refused(questions, pool):
    with pytest.raises(MemoirError, match=r"62 sessions of 'user' are needed .* have 61"):
        compiled(questions, pool, fillers=62, shares={"user": 1})


def test_no_session_is_twice_in_a_history_nor_twice_in_the_pools(questions, pool):
    pools = read_pools([("", pool), ("", pool)])
    assert sum(map(len, pools.values())) == 184
    for made in compile_histories(questions, pools, Plan(100, SHARES)):
        assert len(set(made["haystack_session_ids"])) == len(made["haystack_session_ids"])


def test_the_seed_decides_and_not_the_other_questions(questions, pool, tmp_path):
    once = compiled(questions, pool, seed=3)
    assert once == compiled(questions, pool, seed=3)
    assert once != compiled(questions, pool, seed=4)
    alone = write(tmp_path / "alone.json", [question("q2", ("answer_c_1",))])
    assert compiled(alone, pool, seed=3) == once[1:]


def test_a_limit_of_characters_drops_fillers_and_no_evidence(questions, pool):
    for made in compiled(questions, pool, characters=500):
        size = sum(len(turn["content"]) for turns in made["haystack_sessions"] for turn in turns)
        assert 400 < size <= 500
        assert set(made["answer_session_ids"]) <= set(made["haystack_session_ids"])


def test_without_any_date_sessions_are_of_the_end_of_may_2023(pool, tmp_path):
    undated = question(question_date="", haystack_dates=["", "", ""])
    (made,) = compiled(write(tmp_path / "undated.json", [undated]), pool)
    assert len(made["haystack_dates"]) == 42
    assert {date[:9] for date in made["haystack_dates"]} == {"2023/05/2", "2023/05/3"}
    assert max(made["haystack_dates"]) < "2023/05/31"


def test_a_pool_can_be_any_file_that_is_imported(questions, tmp_path):
    days = (f"# 2024-05-{n:02}\nUser: Is day {n} sunny?\nAssistant: It is.\n" for n in range(1, 9))
    chats = tmp_path / "chats.txt"
    chats.write_text("\n".join(days), encoding="utf-8")
    fillers = read_pools([("mine", chats)])
    first, _ = compile_histories(questions, fillers, Plan(8, {"mine": 1}))
    names = [name for name in first["haystack_session_ids"] if source(name) != "answer"]
    turns = first["haystack_sessions"][first["haystack_session_ids"].index(names[0])]
    assert len(set(names)) == 8
    assert [turn["role"] for turn in turns] == ["user", "assistant"]


# --- the command


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMOIR_HOME", str(tmp_path / "home"))

    def run(*arguments):
        status = main(["compile", *map(str, arguments)])
        captured = capsys.readouterr()
        return status, captured.out + captured.err

    assert EvalSettings().home == tmp_path / "home"
    return run


def test_the_command_writes_a_file_that_the_adapter_reads(command, questions, pool, tmp_path):
    file = tmp_path / "longmemeval_long.json"
    status, said = command(questions, file, "--pool", pool, "--fillers", 20)
    assert status == 0, said
    assert "2 questions with 43 sessions" in said
    assert [len(history.sessions) for history in load(file)] == [22, 21]


def test_the_command_overwrites_nothing_and_leaves_nothing_unfinished(command, questions, pool, tmp_path):
    file = tmp_path / "new.json"
    status, said = command(questions, file, "--pool", pool, "--fillers", 900)
    assert (status, file.exists()) == (1, False)
    assert "are needed for one history" in said
    status, said = command(questions, questions, "--pool", pool, "--fillers", 2)
    assert (status, "exists already" in said) == (1, True)


@pytest.mark.parametrize("shares", ["user", "user=-1", "user=0", "user=nan", "user=inf"])
def test_shares_that_are_no_numbers_are_refused(command, questions, pool, tmp_path, shares):
    status, said = command(questions, tmp_path / "new.json", "--pool", pool, "--fillers", 2, "--shares", shares)
    assert status == 1
    assert "--shares" in said


def test_the_released_files_are_pool_and_questions(benchmark_data):
    file = benchmark_data / "longmemeval" / "longmemeval_s_cleaned_dev.json"
    if not file.exists():
        pytest.skip(f"{file} is not here")
    pools = read_pools([("", file)])
    made = next(compile_histories(file, pools, Plan(60, SHARES)))
    assert {"sharegpt", "ultrachat", "user"} <= set(pools)
    assert len(made["haystack_sessions"]) == 60 + len(made["answer_session_ids"])
