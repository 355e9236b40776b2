"""LoCoMo's own F1 of an answer.

It is that of `task_eval/evaluation.py` in github.com/snap-research/locomo (Maharana et al., ACL 2024, arXiv
2402.17753), by the names that the adapter gives to the categories 1 to 5.
"""

import re
import string
from collections.abc import Sequence
from typing import Any

from eval.benchmarks.locomo.adapter import ADVERSARIAL, CATEGORIES
from eval.metrics import answers
from eval.metrics.evidence import Scores
from eval.types import Probe, Sample

MULTI_HOP, OPEN_DOMAIN = CATEGORIES["1"], CATEGORIES["3"]

REFUSALS = ("no information available", "not mentioned")
"""What the script looks for in an answer to a question of category 5."""

_LEFT_OUT = re.compile(r"\b(?:a|an|the|and)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def official_scores(sample: Sample) -> Scores:
    """The script's score of an answer as it was given, `f1_official`, and of what it means, `f1_mapped`.

    Categories 2, 3 and 4: `f1`; of category 3 the right answer ends at its first semicolon. Category 1: the right
    answer and the answer are split at commas, and each part of the right one counts as its best match (`split_f1`).
    Category 5: 1 for an answer that refuses in the words of `REFUSALS`, else 0; a letter stands for its choice. The
    total counts all five. For `f1_mapped`, an abstention in any words is such a refusal, and worth 0 in the other
    categories, and the marks of citations are left out.
    """
    prediction = sample.prediction
    meant = REFUSALS[0] if prediction.abstained else answers.CITATION_MARK.sub("", prediction.answer)
    mapped = 0.0 if prediction.abstained and sample.probe.ability != ADVERSARIAL else _score(sample.probe, meant)
    return {"f1_official": _score(sample.probe, prediction.answer), "f1_mapped": mapped}


def _score(probe: Probe, answer: str) -> float:
    if probe.ability == ADVERSARIAL:
        return float(any(words in _chosen(answer, probe.choices) for words in REFUSALS))
    (gold,) = probe.gold.answers
    if probe.ability == OPEN_DOMAIN:
        gold = gold.split(";")[0]
    return split_f1(answer, gold) if probe.ability == MULTI_HOP else f1(answer, gold)


def _chosen(answer: str, choices: Sequence[str]) -> str:
    """The answer in lower case; of one or three characters, "a" or "(a)" is the first of two choices, else the second.

    This is `get_cat_5_answer` of `task_eval/evaluate_gpts.py`, for questions that are asked with choices.
    """
    plain = answer.strip().lower()
    if not choices or len(plain) not in (1, 3):
        return plain
    return choices[plain not in ("a", "(a)")].lower()


def qa_line(sample: Sample) -> dict[str, Any]:
    """A question with its answer as the script reads it, under the key "prediction"; what was read is its context.

    A letter is exchanged for its choice, as the authors' program does before. What must not be said is not kept of
    openly asked questions, and the script does not look at it.
    """
    probe, prediction = sample.probe, sample.prediction
    answer = "" if prediction.unreadable else prediction.answer.strip()
    read = [unit for hit in prediction.found if hit.place == "read" for unit in hit.units]
    return {
        "question": probe.question,
        "answer": probe.gold.answers[0] if probe.gold.answers else "",
        "category": next(int(number) for number, name in CATEGORIES.items() if name == probe.ability),
        "evidence": list(probe.gold.turns),
        "prediction": _chosen(answer, probe.choices) if probe.choices else answer,
        **({"prediction_context": read} if read else {}),
    }


def f1(answer: str, gold: str) -> float:
    """The harmonic mean of precision and recall of stemmed words, each counted as often as both have it.

    Words are compared in lower case, without ASCII punctuation and the words a, an, the and and, and stemmed by NLTK's
    Porter stemmer. It is 0 if either has no words.
    """
    ours, theirs = stems(answer), stems(gold)
    return answers.f1(ours, theirs) if ours and theirs else 0.0


def split_f1(answer: str, gold: str) -> float:
    """The mean, over the parts of the right answer, of the best `f1` of any part of the answer; parts end at commas."""
    parts, golds = answer.split(","), gold.split(",")
    return sum(max(f1(part, each) for part in parts) for each in golds) / len(golds)


def stems(text: str) -> list[str]:
    """The stems of a text's words, as they are compared."""
    from nltk.stem.porter import PorterStemmer

    stemmer, plain = PorterStemmer(), _LEFT_OUT.sub(" ", text.lower().translate(_PUNCTUATION))
    return [stemmer.stem(word) for word in plain.split()]
