"""The chats that the reader is trained on hold what their format promises."""

import json
import random
from collections import defaultdict
from pathlib import Path

import pytest

from graph.readers.line_reader import Line
from graph.training import agenda
from graph.training.reader_data import Example, load_chats, of_chat, plain_of, typed_otherwise
from memory.embedding import minilm
from memory.embedding.embedder import Embedder

PAIRS = Path(__file__).parents[1] / "assets" / "models" / "reader_pairs.jsonl"
MARKED = [PAIRS.with_name(name) for name in ("questions_of_several_lines.jsonl", "plain_questions.jsonl")]
"""Questions that name all their lines."""


@pytest.fixture(scope="module")
def chats():
    return [json.loads(line) for line in PAIRS.read_text("utf-8").splitlines()]


def test_every_answer_stands_in_its_line_and_almost_half_of_the_questions_have_none(chats):
    pairs = []
    for chat in chats:
        lines = {line["n"]: line for line in chat["lines"]}
        assert all(line["said"] <= chat["as_of"] for line in lines.values())
        for pair in chat["pairs"]:
            assert pair["answer"] is None or pair["answer"] in lines[pair["line"]]["text"]
            pairs.append(pair)
    assert len(pairs) == 31_608
    assert sum(pair["answer"] is None for pair in pairs) == 15_232


def test_no_question_is_asked_twice_in_a_chat(chats):
    for chat in chats:
        asked = [(pair["q"], pair["line"]) for pair in chat["pairs"]]
        assert len(set(asked)) == len(asked), chat["id"]


def test_no_benchmark_of_ours_shares_a_question_or_a_line_with_them(chats):
    texts = {line["text"].casefold() for chat in chats for line in chat["lines"]}
    texts |= {pair["q"].casefold() for chat in chats for pair in chat["pairs"]}
    for file in sorted((PAIRS.parents[1]).glob("*/**/*.probes.jsonl")):
        questions = {json.loads(line)["question"].casefold() for line in file.read_text("utf-8").splitlines()}
        assert not questions & texts, file.name


@pytest.fixture(scope="module", params=MARKED, ids=lambda path: path.stem)
def questions(request):
    return [json.loads(line) for line in request.param.read_text("utf-8").splitlines()]


def test_questions_mark_words_of_their_lines_and_nothing_where_nothing_answers(chats, questions):
    lines = {chat["id"]: {line["n"]: line["text"] for line in chat["lines"]} for chat in chats}
    for asked in questions:
        texts = lines[asked["chat"]]
        for line in asked["lines"]:
            assert line["role"] in ("evidence", "outdated", "bridge", "near")
            assert all(span and span in texts[line["n"]] for span in line["spans"]), asked
            assert line["spans"] or line["role"] not in ("evidence", "bridge"), asked
        told = any(line["role"] == "evidence" for line in asked["lines"])
        assert told == bool(asked["answer"]) == (asked["kind"] != "nothing"), asked


def test_no_question_is_asked_twice_and_follow_ups_have_an_exchange_before(questions):
    assert len({(asked["chat"], asked["q"], asked.get("before", {}).get("q")) for asked in questions}) == len(questions)
    assert all(asked["before"]["q"] for asked in questions if asked["kind"] == "follow-up")


CHAT = {
    "as_of": "2026-05-01",
    "lines": [
        {"n": 1, "said": "2026-03-01", "speaker": "You", "text": "rent is 700, the cat is called Miso"},
        {"n": 2, "said": "2026-04-01", "speaker": "You", "text": "rent goes to 750, the dog is called Udon"},
        {"n": 3, "said": "2026-04-02", "speaker": "You", "text": "it rained all day"},
    ],
}


def lines_trained_on(kind, *lines):
    asked = {
        "q": "how much is my rent",
        "kind": kind,
        "lines": [dict(zip(("n", "role", "spans"), line, strict=True)) for line in lines],
    }
    (group,) = plain_of(CHAT, [asked], Embedder(minilm.NAME))
    return {example.line.text[:7]: example for example in group}


def test_a_line_of_evidence_answers_from_its_first_marked_word_to_its_last_and_the_lines_beside_do_not():
    trained = lines_trained_on("list", (1, "evidence", ["rent", "Miso"]), (2, "near", []))
    assert trained["rent is"].answer == (0, len("rent is 700, the cat is called Miso"))
    assert trained["rent go"].answer is None
    assert trained["it rain"].answer is None


def test_a_replaced_value_only_competes_and_what_contradicts_a_premise_does_not_answer():
    trained = lines_trained_on("current", (1, "outdated", ["700"]), (2, "evidence", ["750"]))
    assert trained["rent is"].outdated
    assert not trained["rent go"].outdated
    assert lines_trained_on("premise", (2, "evidence", ["750"]))["rent go"].answer is None


def test_of_each_plan_some_later_lines_leave_it_and_some_do_not():
    rows = [json.loads(line) for line in PAIRS.with_name("plans.jsonl").read_text("utf-8").splitlines()]
    holds = defaultdict(set)
    for row in rows:
        assert row.keys() == {"plan", "later", "holds"}
        holds[row["plan"]].add(row["holds"])
    assert (len(rows), len(holds)) == (2_284, 571)
    assert [plan for plan, found in holds.items() if found != {True, False}] == []


def test_of_each_day_ahead_the_words_are_marked_that_say_what_is_on_if_anything_is(chats):
    lines = {(chat["id"], line["n"]): line for chat in chats for line in chat["lines"]}
    rows = [json.loads(line) for line in PAIRS.with_name("agenda.jsonl").read_text("utf-8").splitlines()]
    for row in rows:
        line = lines[row["chat"], row["line"]]
        assert row["time"] in line["text"], row
        assert row["day"] >= line["said"], row
        assert row["plan"] is None or row["plan"] in line["text"], row
    assert (len(rows), sum(row["plan"] is None for row in rows)) == (1_840, 373)


def test_of_two_plans_of_a_line_each_is_learned_with_its_own_day():
    text = "the vet on Friday, and on Monday 6 April the vet again"
    rows = [
        {"line": 1, "time": time, "day": day, "plan": plan}
        for time, day, plan in (("Friday", "2026-04-03", "the vet"), ("Monday 6 April", "2026-04-06", "the vet"))
    ]
    chat = {"id": "x", "lines": [{"n": 1, "said": "2026-04-01", "speaker": "You", "text": text}]}
    (first,), (second,) = agenda.examples_of(chat, rows)
    assert (first.question, second.question) == ("what is on Friday", "what is on Monday 6 April")
    assert (first.answer, second.answer) == ((0, 7), (text.rindex("the vet"), text.rindex("the vet") + 7))


def test_a_question_is_learned_as_others_type_it_and_the_answer_stays_in_its_place():
    line = Line("then i moved to Ghent with Aya", "You", None, "so, i said yes")
    asked = [Example("Where do I live?", None, line, (16, 21)), Example("Where do I live?", None, line, None)]
    drawn = [typed_otherwise(asked, random.Random(seed)) for seed in range(40)]
    assert {group[0].question for group in drawn} == {"Where do I live?", "where do i live"}
    assert {example.line.text for group in drawn for example in group} == {line.text, "Then I moved to Ghent with Aya"}
    assert {group[0].line.text[slice(*group[0].answer)] for group in drawn} == {"Ghent"}
    hasty = [Example("where do i live", None, line, None)]
    assert {typed_otherwise(hasty, random.Random(seed))[0].question for seed in range(40)} == {
        "Where do I live?",
        "where do i live",
    }


def test_the_line_just_after_an_answer_is_learned_not_to_answer(embedder):
    after = [
        other.answer
        for group in of_chat(load_chats()[0][0], embedder)
        for each in group
        for other in group
        if each.answer and other.line.before.endswith(each.line.text)
    ]
    assert len(after) > 5
    assert not any(after)
