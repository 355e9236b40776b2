"""Metrics of an answer's text against gold answers, without a judge.

Several gold answers are equally right, and the best value over them counts. Words are compared as in SQuAD (Rajpurkar
et al. 2016): lower case, without punctuation and articles. Each Chinese or Japanese character is a word.
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import Any

from eval.types import STATEMENT, Prediction, Probe, Verdict

ARTICLES = frozenset({"a", "an", "the"})

TextMetric = Callable[[str, Sequence[str]], float]
"""Compares an answer with the gold answers."""

RULE = "rule"
"""Signs the verdicts of this module."""

CITATION_MARK = re.compile(r"\s?\[\d+\]")
"""The mark of a citation, which no reference answer has."""

_CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
IS_CJK = re.compile(f"[{_CJK}]")
_TOKEN = re.compile(rf"[{_CJK}]|[^\s{_CJK}]+")
_WORD = re.compile(rf"[{_CJK}]|(?:(?![{_CJK}])[^\W_])+")
_DELETED = str.maketrans("", "", string.punctuation + "‘’")


def tokens(text: str) -> list[str]:
    """Split a text into the words that are compared: lower case, without punctuation and articles.

    This is SQuAD's normalisation, which joins hyphenated words ("part-time" is "parttime") and leaves numbers in words
    as they are. Beyond it, typographic punctuation counts as punctuation, compatible characters are equal (NFKC), a
    Chinese or Japanese character is a token, and articles stay where nothing else is left (the blood type "A").
    """
    marks = {c for c in text if not c.isascii() and unicodedata.category(c).startswith("P")}
    plain = "".join(" " if c in marks else c for c in text.translate(_DELETED))
    plain = unicodedata.normalize("NFKC", plain).lower().translate(_DELETED)
    found = _TOKEN.findall(plain)
    return [token for token in found if token not in ARTICLES] or found


def normalise(text: str) -> str:
    """Join the `tokens` of a text with spaces."""
    return " ".join(tokens(text))


def exact_match(answer: str, golds: Sequence[str]) -> float:
    """1 if the answer is one of the gold answers, both normalised, else 0 (SQuAD, Rajpurkar et al. 2016)."""
    return _best(lambda ours, gold: float(ours == gold), answer, golds)


def token_f1(answer: str, golds: Sequence[str]) -> float:
    """The harmonic mean of token precision and token recall (SQuAD, Rajpurkar et al. 2016).

    Tokens count as often as they occur in both. If either has no tokens, it is 1 if neither has, else 0. LoCoMo's own
    differs (`eval.benchmarks.locomo.metrics`).
    """
    return _best(f1, answer, golds)


def token_recall(answer: str, golds: Sequence[str]) -> float:
    """The share of the gold answer's tokens that are in the answer, each as often as the gold answer has it."""
    return _best(_recall, answer, golds)


def containment(answer: str, golds: Sequence[str]) -> float:
    """1 if the answer contains a gold answer as a sequence of whole tokens, both normalised, else 0."""
    return _best(contains, answer, golds)


def rouge_l(answer: str, golds: Sequence[str]) -> float:
    """ROUGE-L F (Lin 2004): longest common subsequence of words, by rouge-score without stemming.

    The package's tokeniser drops everything but a-z and 0-9; ours gives the same words for such texts, and also those
    of other alphabets. Articles count.
    """
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"], tokenizer=SimpleNamespace(tokenize=_words))
    return max(float(scorer.score(gold, answer)["rougeL"].fmeasure) for gold in golds)


def bleu(answer: str, golds: Sequence[str]) -> float:
    """Sentence BLEU (Papineni et al. 2002) as a fraction of 1, by sacrebleu, up to 4-grams.

    With `effective_order` (shorter texts use shorter n-grams), exponential smoothing and case; tokenised as "13a", or
    as "zh" where the gold answer is Chinese. The best single gold answer counts; n-grams are not pooled over them.
    """
    scorers = (bleu_scorer("zh" if IS_CJK.search(gold) else "13a") for gold in golds)
    percent = max(scorer.sentence_score(answer, [gold]).score for scorer, gold in zip(scorers, golds, strict=True))
    return float(min(percent / 100, 1.0))  # equal texts score 100.00000000000004


def distinct_n(responses: Sequence[str], n: int) -> tuple[float, list[float]]:
    """Dist-n: the number of different n-grams in a set of responses, over its number of words (Li et al. 2016).

    It is 0 for a set without words. The divisor is the number of words for every n. Larger sets are less diverse, so
    sets of different size cannot be compared. (MADial-Bench's script takes the mean over single responses instead.)
    The second value, for a jackknife, is Dist-n of the set without its first response, without its second, and so on.
    """
    said = [_words(text) for text in responses]
    grams = [list(zip(*(words[start:] for start in range(n)), strict=False)) for words in said]
    counts = Counter(gram for found in grams for gram in found)
    total = sum(map(len, said))

    def without(words: list[str], found: list[tuple[str, ...]]) -> float:
        own = sum(counts[gram] == times for gram, times in Counter(found).items())
        return (len(counts) - own) / (total - len(words)) if total > len(words) else 0.0

    return len(counts) / total if total else 0.0, [without(*pair) for pair in zip(said, grams, strict=True)]


def anchor_map(answer: str, anchors: Sequence[str]) -> float:
    """The share of the memory anchors that the answer contains (PerLTQA, Du et al. 2024, equation 5).

    The paper calls its mean over all questions MAP, although no ranking or precision is involved. An answer contains an
    anchor as in `containment`.
    """
    return sum(containment(answer, [anchor]) for anchor in anchors) / len(anchors)


def choice_accuracy(probe: Probe, prediction: Prediction) -> float:
    """1 if the right choice was made, else 0; an abstention is the choice "I don't know"."""
    is_right = _chose_right(probe, prediction) or (prediction.abstained and not probe.gold.answerable)
    return float(is_right and not prediction.unreadable)


def verdict(probe: Probe, prediction: Prediction) -> Verdict:
    """Judge an answer by rule.

    An unanswerable probe is right if it was abstained from, or if the choice that says so was made. Otherwise an
    abstention is wrong, a choice must be the right one, and a text must contain every token of one of the gold answers,
    as often as that has it, so that long answers can be right too. Without gold answers, or where they are a rubric
    (preferences, proactive recall), the answer is unscored. A statement is right if no reader answered it. A chat
    model's reply that could not be read is wrong.
    """
    gold, has_choice = probe.gold, bool(probe.choices) and probe.gold.choice is not None
    if probe.ability == STATEMENT:
        is_right = not prediction.reader
    elif gold.answerable and not has_choice and (not gold.answers or probe.family == "rubric"):
        return Verdict("unscored", RULE)
    elif prediction.unreadable:
        is_right = False
    elif not gold.answerable:
        is_right = prediction.abstained or _chose_right(probe, prediction)
    elif has_choice:
        is_right = not prediction.abstained and _chose_right(probe, prediction)
    else:
        is_right = not prediction.abstained and token_recall(prediction.answer, gold.answers) == 1.0
    return Verdict("right" if is_right else "wrong", RULE)


def _chose_right(probe: Probe, prediction: Prediction) -> bool:
    return prediction.choice is not None and prediction.choice == probe.gold.choice


def _best(metric: Callable[[list[str], list[str]], float], answer: str, golds: Sequence[str]) -> float:
    ours = tokens(answer)
    return max(metric(ours, tokens(gold)) for gold in golds)


def f1(ours: Sequence[str], gold: Sequence[str]) -> float:
    """The F1 of words, as often as they occur in both."""
    if not ours or not gold:
        return float(ours == gold)
    return 2 * _shared(ours, gold) / (len(ours) + len(gold))


def _recall(ours: list[str], gold: list[str]) -> float:
    return _shared(ours, gold) / len(gold) if gold else float(not ours)


def contains(ours: Sequence[str], gold: Sequence[str]) -> float:
    """1 if all words of the second occur in the first in a row."""
    if not gold:
        return float(not ours)
    return float(f" {' '.join(gold)} " in f" {' '.join(ours)} ")


def _shared(ours: Sequence[str], gold: Sequence[str]) -> int:
    return (Counter(ours) & Counter(gold)).total()


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


@cache
def bleu_scorer(tokeniser: str) -> Any:  # noqa: ANN401  # importing its type loads sacrebleu
    """The scorer of `bleu`, with one of sacrebleu's tokenisers."""
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize=tokeniser, effective_order=True)
