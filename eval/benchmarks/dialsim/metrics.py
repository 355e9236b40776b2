"""DialSim's own rule for a choice.

It is `judge_eq` of `post_processing/process_answer.py` in github.com/jiho283/Simulator (Kim et al. 2024), for questions
with lettered choices; without letters, it takes the choice word for word and leaves all else to a chat model.
"""

from collections.abc import Sequence

from eval.metrics.evidence import Scores
from eval.play.simulation.choices import LETTERS
from eval.types import Sample

LETTERED = [f"({letter})" for letter in LETTERS[:5]]


def official_scores(sample: Sample) -> Scores:
    """1 for an answer with the letter of the right choice, as "(C)", and of no other, in either case; else 0.

    "C", "(c)" alone, the choice in words and an abstention in words are wrong.
    """
    right, answer = _lettered(sample), sample.prediction.answer
    if not right:
        return {}
    others = [form for letter in LETTERED if letter != right for form in (letter, letter.lower())]
    return {"choice_accuracy_official": float(right in answer and not any(other in answer for other in others))}


def answer_log(samples: Sequence[Sample]) -> dict[str, list[str]]:
    """Answers beside the right ones, as the program's `log_answers` writes them: a letter, or words without letters."""
    golds = [_lettered(sample) or (*sample.probe.gold.answers, "")[0] for sample in samples]
    return {"answer_list": [sample.prediction.answer for sample in samples], "gold_answer_list": golds}


def _lettered(sample: Sample) -> str:
    """The letter of the right choice, as "(C)"; empty if the choices were shown without letters."""
    gold, choices = sample.probe.gold, sample.probe.choices
    if gold.choice is None or gold.choice >= len(LETTERED) or f"\n(A) {choices[0]}" not in sample.probe.question:
        return ""
    return LETTERED[gold.choice]
