"""What is called official is what the authors' own functions print for the same outputs.

The outputs are made up; the values were printed by the functions that are named, as their repositories have them.
"""

from datetime import UTC, datetime

import pytest

from eval.benchmarks import BENCHMARKS, dialsim_scores, locomo_scores, longmemeval_scores
from eval.benchmarks.locomo.adapter import CATEGORIES, NOT_MENTIONED
from eval.benchmarks.madial.metrics import REPLY_METRICS, ndcg_madial
from eval.judging.rubric import order_score, tau_norm
from eval.metrics.evidence import average_precision
from eval.play.simulation.choices import show
from eval.play.simulation.names import rename
from eval.reporting.render import WIDTH, rules
from eval.types import Gold, History, Prediction, Probe, RankedHit, Sample
from memory.types import PersonaDraft, SessionDraft, TurnDraft


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


# --- LongMemEval: evaluate_retrieval and evaluate_retrieval_turn2session of src/retrieval/eval_utils.py

MARKED = Gold(user_turns=("b_3", "b_5", "d_1"), user_sessions=("b", "d"))
TURNS = ("a_1", "a_3", "b_1", "b_3", "c_1", "d_1", "b_5", "d_3", "c_3")
OF_TURNS = {1: (0, 0, 0), 3: (0, 0, 0), 5: (1, 0, 0.190047), 10: (1, 1, 0.472479)}
OF_SESSIONS = {1: (0, 0, 0), 3: (1, 0, 0.190047), 5: (1, 1, 0.337087), 10: (1, 1, 0.472479)}
OF_WHOLE = {1: (0, 0, 0), 3: (1, 0, 0.5), 5: (1, 1, 0.75)}


def hit(*units, indexed=()):
    return RankedHit(units, units[0][0], "dialogue", 1.0, indexed=indexed)


@pytest.mark.parametrize(
    "found",
    [
        [hit(turn) for turn in TURNS],
        [
            hit("a_1", "a_3"),
            hit("b_1", "b_3"),
            hit("c_1"),
            hit("d_1"),
            hit("b_3", "b_5"),
            hit("d_3"),
            hit("c_3", "c_1"),
        ],
        [hit(turn, f"{turn[0]}_{int(turn[2]) + 1}", indexed=(turn,)) for turn in TURNS],
    ],
    ids=["turns", "hits of several turns", "rounds, found by what the user said"],
)
def test_longmemevals_figures_count_turns_and_not_hits(found):
    scores = longmemeval_scores(answered("", MARKED, found=found), (1, 3, 5, 10))
    for of, wanted in (("turn_{}_official@{}", OF_TURNS), ("session_{}_official@{}", OF_SESSIONS)):
        for k, values in wanted.items():
            names = [
                of.format(name, k).replace("session_ndcg", "ndcg") for name in ("recall_any", "recall_all", "ndcg")
            ]
            assert [scores[name] for name in names] == pytest.approx(values, abs=1e-6), (of, k)


def test_sessions_that_are_stored_whole_are_ranked_as_sessions():
    found = [hit("a_1", "a_3"), hit("b_1", "b_3", "b_5"), hit("c_1", "c_3"), hit("d_1", "d_3")]
    scores = longmemeval_scores(answered("", MARKED, found=found), (1, 3, 5))
    for k, values in OF_WHOLE.items():
        names = (f"session_recall_any_official@{k}", f"session_recall_all_official@{k}", f"ndcg_official@{k}")
        assert [scores[name] for name in names] == pytest.approx(values), k
    assert [scores[f"turn_recall_any_official@{k}"] for k in (1, 3, 5)] == [0, 0, 1]


# --- MADial-Bench: english_bleu of evaluate.py; average_precision_at_k and ndcg_at_k of embedding_score_new.py

CHRISTMAS = "Remember when you danced at the Christmas party? Everyone had a great time!"


@pytest.mark.parametrize(
    ("reply", "values"),
    [
        ("I remember that you danced at the Christmas party!", (0.356211, 0.337932, 0.317664, 0.286174)),
        ("Everyone had fun!", (0.023783, 0.020596, 0.011612, 0.008572)),
        ("Nothing of it at all", (0.040379, 0.014276, 0.011438, 0.010848)),
        ("Fun!", (0, 0, 0, 0)),
        ("", (0, 0, 0, 0)),
        (CHRISTMAS, (1, 1, 1, 1)),
    ],
)
def test_madials_bleu_is_its_scripts_with_a_third_that_is_point_33(reply, values):
    found = [REPLY_METRICS[f"bleu_{n}"](reply, [CHRISTMAS]) for n in (1, 2, 3, 4)]
    assert found == pytest.approx(values, abs=1e-6)


@pytest.mark.parametrize(("k", "precision", "ndcg"), [(1, 0, 0), (3, 0.166667, 0.63093), (5, 0.333333, 0.650921)])
def test_madials_ranking_is_scored_as_its_script_does(k, precision, ndcg):
    ranking, relevant = ("1", "2", "3", "5", "8"), {"2", "5", "7"}
    assert average_precision(ranking, relevant, k) == pytest.approx(precision, abs=1e-6)
    assert ndcg_madial(ranking, relevant, k) == pytest.approx(ndcg, abs=1e-6)


# --- DialSim: judge_eq of post_processing/process_answer.py, where the third of five choices is right

CHOICES = ("Ann", "Bo", "Ross", "Cy", "I don't know.")


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("C", 0),
        ("(c)", 0),
        ("Ross", 0),
        ("I don't know.", 0),
        ("[C]", 0),
        ("(B)", 0),
        ("", 0),
        ("(C), not (A)", 0),
        ("(C) or (e)", 0),
        ("(C)", 1),
        ("(C) Ross", 1),
        ("The answer is (C).", 1),
        ("(C) and (c)", 1),
    ],
)
def test_dialsims_script_takes_one_letter_in_brackets_alone(answer, value):
    asked = show("Mo: Who rows?", CHOICES, "multiple-choice")
    sample = answered(answer, Gold(("Ross",), choice=2), question=asked, choices=CHOICES)
    assert dialsim_scores(sample) == {"choice_accuracy_official": value}


def test_choices_without_letters_have_no_score_of_dialsims_script():
    asked = show("Mo: Who rows?", CHOICES, "unstructured")
    assert dialsim_scores(answered("Ross", Gold(("Ross",), choice=2), question=asked, choices=CHOICES)) == {}


@pytest.mark.parametrize(
    ("title", "names", "said", "renamed"),
    [
        ("friends", "anonymised", "Rachel: ROSS, has Joey Monica's key?", "Linda: ROBERT, has John Patricia's key?"),
        ("friends", "swapped", "Rachel: ROSS, has Joey Monica's key?", "Chandler: PHOEBE, has Monica Joey's key?"),
        ("bigbang", "anonymised", "Raj: Rajesh, Sheldon, is my name.", "Michael: Rajesh, John, is my name."),
        ("theoffice", "swapped", "Pam: Michael, Jim and Dwight left.", "Dwight: Pam, Michael and Ryan left."),
    ],
)
def test_dialsims_shows_have_the_names_of_its_program(title, names, said, renamed):
    speaker, text = said.split(": ")
    probe = answered("", Gold(("Joey",)), askers={speaker: "Who is away?"}).probe
    session = SessionDraft((TurnDraft(speaker, "other", text),))
    history = rename(History(title, PersonaDraft("Agent"), (session,), (), (probe,)), names, seed=3)
    (turn,) = history.sessions[0].turns
    assert f"{turn.speaker}: {turn.text}" == renamed


# --- BEAM: event_ordering_score of evaluation.py, with three events


@pytest.mark.parametrize(
    ("answer", "told", "theirs", "ours"),
    [
        ("x\ny\nz", [1, 2, 3], 1, 1),
        ("x\ny\nz", [3, 2, 1], 0, 0),
        ("x\n\ny\n\nz", [1, 2, 3], 0.833333, 1),
        ("Intro:\n\nx\ny", [0, 2, 1], 0.236477, None),
        ("x\ny", [0, 0], 0.122036, 0),
        ("", [], 0.146447, 0),
        ("x\nx\ny\nz", [1, 1, 2, 3], 0.666667, 0.571429),
        ("\n\nz\nno\nno\n", [3, 0, 0], 0.374012, None),
        ("  \nx\n  \ny", [2, 3], 0.333333, None),
    ],
)
def test_beams_tau_counts_blank_lines_and_our_score_does_not(answer, told, theirs, ours):
    assert tau_norm(3, answer, told) == pytest.approx(theirs, abs=1e-6)
    assert ours is None or order_score(3, told) == pytest.approx(ours, abs=1e-6)


# --- rules


@pytest.mark.parametrize(
    "metric",
    ["f1_official", "turn_recall@10", "turn_recall_all_official@5", "geometric_mean@5", "anchor_map", "tau_norm"],
)
def test_the_rule_of_a_figure_stands_beside_it(metric):
    (text,) = rules([metric, metric.replace("@5", "@10"), "mrr@5"])
    assert text.startswith(f"- {metric.partition('@')[0]}: ")
    assert all(len(line) <= WIDTH for line in text.splitlines())


def test_figures_of_common_definition_need_no_rule():
    assert rules(["mrr@5", "token_f1"]) == []


def test_each_benchmark_that_is_asked_otherwise_by_its_authors_says_so():
    assert {name for name, each in BENCHMARKS.items() if each.load_as_authors} == {"locomo", "madial-bench"}
