"""What is called official is what the authors' own functions print for the same outputs.

The outputs are made up; the values were printed by the functions that are named, as their repositories have them.
"""

from datetime import UTC, datetime

import pytest

from eval.benchmarks import BENCHMARKS, locomo_scores
from eval.benchmarks.locomo.adapter import CATEGORIES, NOT_MENTIONED
from eval.reporting.render import rules
from eval.types import Gold, Prediction, Probe, Sample


def answered(answer, gold, ability="", *, found=(), **said):
    probe = Probe("p", said.pop("question", "?"), datetime(2024, 6, 3, tzinfo=UTC), gold, ability, **said)
    return Sample(probe, Prediction("p", "h", {}, tuple(found), answer))


# --- LoCoMo: eval_question_answering of task_eval/evaluation.py


@pytest.mark.parametrize(
    ("category", "gold", "answer", "value"),
    [
        ("4", "on the lake", "On the lake. [1]", 0.8),
        ("4", "rowing a boat", "I don't know.", 0.0),
        ("4", "1,200 euros", "About 1200 Euro (the two)", 0.666667),
        ("2", "7 May 2023", "On 7 May 2023 [2], [3].", 0.666667),
        ("1", "pottery, camping, and swimming", "She paints [1], camps and swims [4]", 0.333333),
        ("1", "the sea", "Not mentioned, sea-side", 0.0),
        ("3", "Likely yes; she loves boats", "Yes, likely and the boats", 0.8),
        ("3", "No", "I don't know: no", 0.4),
        ("5", "", "I don't know.", 0),
        ("5", "", "No information available.", 1),
        ("5", "", "It is not mentioned. [1]", 1),
        ("5", "", "On the lake [1]", 0),
    ],
)
def test_locomos_f1_is_of_the_answer_as_it_was_given(category, gold, answer, value):
    scores = locomo_scores(answered(answer, Gold((gold,) if gold else ()), CATEGORIES[category]))
    assert scores["f1_official"] == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(
    ("answer", "first_is_right", "value"),
    [
        ("(a)", True, 1),
        ("b", True, 0),
        ("A ", True, 1),
        ("(c)", True, 0),
        ("yes", False, 1),
        ("(A) Not mentioned in the conversation", False, 1),
        ("The lake", True, 0),
        ("x", False, 1),
    ],
)
def test_a_letter_is_a_choice_to_locomos_script_and_what_is_no_letter_the_second(answer, first_is_right, value):
    choices = (NOT_MENTIONED, "On the lake") if first_is_right else ("On the lake", NOT_MENTIONED)
    assert locomo_scores(answered(answer, Gold(), "adversarial", choices=choices))["f1_official"] == value


# --- rules


@pytest.mark.parametrize(
    "metric",
    ["f1_official", "turn_recall@10", "turn_recall_all_official@5", "geometric_mean@5", "anchor_map", "tau_norm"],
)
def test_the_rule_of_a_figure_stands_beside_it(metric):
    (text,) = rules([metric, metric.replace("@5", "@10"), "mrr@5"])
    assert text.startswith(f"- {metric.partition('@')[0]}: ")
    assert len(text.splitlines()) == 1


def test_figures_of_common_definition_need_no_rule():
    assert rules(["mrr@5", "token_f1"]) == []


def test_each_benchmark_that_is_asked_otherwise_by_its_authors_says_so():
    assert {name for name, each in BENCHMARKS.items() if each.load_as_authors} == {"locomo", "madial-bench"}
