"""Answers against gold answers, by hand and against the libraries' own defaults."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu import sentence_bleu

from eval.benchmarks.madial.metrics import REPLY_METRICS
from eval.metrics.answers import (
    anchor_map,
    bleu,
    choice_accuracy,
    containment,
    distinct_n,
    exact_match,
    normalise,
    rouge_l,
    token_f1,
    token_recall,
    tokens,
    verdict,
)
from eval.types import Gold, Prediction, Probe, Verdict

ASCII = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=60)
MIXED = st.text(st.sampled_from(list("aAtheé 红色猫，。‘’-—$7")), max_size=30)


def asked(gold, *, ability="", choices=()):
    return Probe("p", "Where?", datetime(2024, 5, 1, tzinfo=UTC), gold, ability, choices=choices)


def said(answer="", *, abstained=False, choice=None):
    return Prediction("p", "h", {}, (), answer, abstained, choice=choice)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The  Red-Lantern, a café!", "redlantern café"),
        ("I’m here", "im here"),
        ("I'm here", "im here"),
        ("twelve and 1,200", "twelve and 1200"),
        ("我住在上海。", "我 住 在 上 海"),
        ("iPhone，ＡＢ", "iphone ab"),
        ("A", "a"),
        ("...", ""),
    ],
)
def test_texts_are_compared_without_case_punctuation_and_articles(text, normal):
    assert normalise(text) == normal


@given(MIXED)
def test_what_is_normal_stays_as_it_is(text):
    assert normalise(normalise(text)) == normalise(text)


@pytest.mark.parametrize(
    ("answer", "gold", "exact", "f1", "recall", "held"),
    [
        ("The boat.", "a boat", 1, 1, 1, 1),
        ("She bought a red boat in May", "red boat", 0, 2 * 2 / (6 + 2), 1, 1),
        ("boat, red", "red boat", 0, 1, 1, 0),
        ("boat", "boat boat", 0, 2 / 3, 0.5, 0),
        ("steamboat", "boat", 0, 0, 0, 0),
        ("", "boat", 0, 0, 0, 0),
        ("boat", "?", 0, 0, 0, 0),
        ("!", "?", 1, 1, 1, 1),
        ("她住在上海市", "上海", 0, 2 * 2 / (6 + 2), 1, 1),
    ],
)
def test_overlap_is_what_the_hand_counts(answer, gold, exact, f1, recall, held):
    assert exact_match(answer, [gold]) == exact
    assert token_f1(answer, [gold]) == pytest.approx(f1)
    assert token_recall(answer, [gold]) == pytest.approx(recall)
    assert containment(answer, [gold]) == held


@pytest.mark.parametrize("metric", [exact_match, token_f1, token_recall, containment, rouge_l, bleu])
def test_the_best_of_several_gold_answers_counts(metric):
    golds = ["something else", "in the red boat house", "nothing"]
    assert metric("in the red boat house", golds) == pytest.approx(1.0)


@given(ASCII, ASCII)
def test_overlap_orders_exact_containment_and_recall(answer, gold):
    assert exact_match(answer, [gold]) <= containment(answer, [gold]) <= token_recall(answer, [gold]) <= 1
    assert token_f1(answer, [gold]) == pytest.approx(token_f1(gold, [answer]))


def test_rouge_l_is_the_f_measure_of_the_longest_common_subsequence():
    assert rouge_l("the cat sat on it", ["the cat on the mat sat"]) == pytest.approx(2 * 3 / (5 + 6))


@given(ASCII, ASCII)
def test_rouge_l_is_rouge_scores_own_on_plain_texts(answer, gold):
    own = RougeScorer(["rougeL"]).score(gold, answer)["rougeL"].fmeasure
    assert rouge_l(answer, [gold]) == pytest.approx(own)


def test_rouge_l_and_bleu_read_chinese_by_character():
    assert rouge_l("我住上海", ["我住在上海"]) == pytest.approx(2 * 4 / (4 + 5))
    assert bleu("我住在上海。", ["我住在上海。"]) == pytest.approx(1.0)


def test_bleu_is_sacrebleus_as_a_fraction_of_one():
    answer, gold = "She keeps two grey cats.", "She keeps three grey cats."
    assert bleu(answer, [gold]) == pytest.approx(sentence_bleu(answer, [gold]).score / 100)
    assert bleu("Lisbon", ["Lisbon"]) == pytest.approx(1.0)  # as many n-grams as there can be


def test_distinct_n_counts_different_ngrams_over_all_words():
    responses = ["I like boats", "I like cats a lot"]
    value, without_each = distinct_n(responses, 1)
    assert value == pytest.approx(6 / 8)
    assert without_each == pytest.approx([5 / 5, 3 / 3])
    assert distinct_n(responses, 2)[0] == pytest.approx(5 / 8)
    assert distinct_n([], 1) == (0.0, [])


@given(st.lists(MIXED, min_size=1, max_size=6), st.integers(1, 3))
def test_leaving_a_response_out_is_distinct_n_of_the_rest(responses, n):
    rest = [distinct_n(responses[:i] + responses[i + 1 :], n)[0] for i in range(len(responses))]
    assert distinct_n(responses, n)[1] == pytest.approx(rest)


def test_anchor_map_is_the_share_of_the_phrases_in_the_answer():
    assert anchor_map("In 2018 she went skydiving in Dubai.", ["Skydiving", "2018", "Li Yang"]) == pytest.approx(2 / 3)
    assert anchor_map("他在二〇一八年去了迪拜", ["迪拜"]) == 1.0


@pytest.mark.parametrize(
    ("probe", "prediction", "state"),
    [
        (asked(Gold(answerable=False)), said("I don't know", abstained=True), "right"),
        (asked(Gold(("Lisbon",), answerable=False)), said("In Lisbon"), "wrong"),
        (asked(Gold(("Lisbon",))), said("Lisbon?", abstained=True), "wrong"),
        (asked(Gold(("Porto", "Lisbon"))), said("It was in Lisbon, in May."), "right"),
        (asked(Gold(("old Lisbon",))), said("Lisbon"), "wrong"),
        (asked(Gold()), said("Lisbon"), "unscored"),
        (asked(Gold(("Prefers trains",)), ability="single-session-preference"), said("prefers trains"), "unscored"),
        (asked(Gold(("Her dog died",)), ability="proactive"), said("her dog died"), "unscored"),
        (asked(Gold(("Ana",), choice=1), choices=("Bo", "Ana")), said("whatever", choice=1), "right"),
        (asked(Gold(("Ana",), choice=1), choices=("Bo", "Ana")), said("Ana", choice=0), "wrong"),
        (asked(Gold(("Ana",), choice=1), choices=("Bo", "Ana")), said("too late"), "wrong"),
        (asked(Gold(choice=1, answerable=False), choices=("Bo", "I don't know")), said("(B)", choice=1), "right"),
        (asked(Gold(choice=1, answerable=False), choices=("Bo", "I don't know")), said("too late"), "wrong"),
        (asked(Gold(answerable=False)), said("Lisbon"), "wrong"),
    ],
)
def test_the_verdict_follows_the_rule(probe, prediction, state):
    assert verdict(probe, prediction) == Verdict(state, "rule")


def test_abstaining_is_to_choose_that_one_does_not_know():
    unknown = asked(Gold(choice=1, answerable=False), choices=("Bo", "I don't know"))
    known = asked(Gold(choice=0), choices=("Bo", "I don't know"))
    assert choice_accuracy(unknown, said(abstained=True)) == 1.0
    assert choice_accuracy(known, said(abstained=True, choice=1)) == 0.0
    assert choice_accuracy(known, said("Bo", choice=0)) == 1.0


@given(MIXED, st.lists(MIXED, max_size=3), st.booleans(), st.sampled_from(["", "preference", "temporal"]))
def test_a_verdict_is_given_on_anything(answer, golds, abstained, ability):
    found = verdict(asked(Gold(tuple(golds)), ability=ability), said(answer, abstained=abstained))
    assert found.state in ("right", "wrong", "unscored")


def test_tokens_count_as_often_as_they_stand():
    assert tokens("Row, row, row the boat") == ["row", "row", "row", "boat"]


def test_madials_bleu_leaves_out_the_marks_of_citations():
    reply = "Everyone had [1] a great time!"
    plain, marked = (
        REPLY_METRICS["bleu_3"](text, ["Everyone had a great time!"]) for text in (reply[:12] + reply[16:], reply)
    )
    assert (plain, marked) == pytest.approx((1, 1))


def test_madials_bleu_splits_chinese_into_characters():
    assert REPLY_METRICS["bleu_4"]("你在圣诞晚会上跳舞", ["你在圣诞晚会上跳舞！"]) > 0.8
    assert REPLY_METRICS["bleu_1"]("我不知道", ["你在圣诞晚会上跳舞！"]) == 0


@pytest.mark.parametrize(
    ("reply", "first", "second"),
    [
        ("a b a b", 2 / 4, 2 / 3),
        ("so so", 1 / 2, 1.0),
        ("alone [1]", 1.0, 0.0),
        ("", 0.0, 0.0),
        ("跳舞跳舞", 2 / 4, 2 / 3),
    ],
)
def test_madials_dist_n_is_within_one_reply(reply, first, second):
    references = ["跳舞" if reply[:1] == "跳" else "dance"]
    found = [REPLY_METRICS[f"intra_dist_{n}"](reply, references) for n in (1, 2)]
    assert found == pytest.approx([first, second])
