"""MADial-Bench's own metrics: its nDCG, and those of a reply's text."""

import math
from collections.abc import Mapping, Sequence, Set
from functools import partial

from eval.metrics.answers import CITATION_MARK, IS_CJK, TextMetric, bleu_scorer

WEIGHTS: Mapping[int, tuple[float, ...]] = {1: (1.0,), 2: (0.5, 0.5), 3: (0.33, 0.33, 0.33), 4: (0.25,) * 4}
"""What the authors' script weighs the orders of n-grams with; those of BLEU-3 do not add up to 1."""


def ndcg_madial(ranking: Sequence[str], relevant: Set[str], k: int) -> float:
    """nDCG@k as MADial-Bench computes it: the ideal ranking is the hits among the first k, moved to the front.

    What was missed costs nothing: one hit at rank 1 out of seven relevant ones scores 1. Without hits it is 0.
    Discount log2(i + 1) from i = 1 (He et al. 2025, embedding_score_new.py of their repository).
    """
    discounts = [1 / math.log2(rank + 1) for rank in range(1, k + 1)]
    gains = [discount for discount, found in zip(discounts, ranking, strict=False) if found in relevant]
    return sum(gains) / sum(discounts[: len(gains)]) if gains else 0.0


def bleu(reply: str, references: Sequence[str], *, n: int) -> float:
    """Sentence BLEU of 1- to n-grams (Papineni et al. 2002) as the authors' evaluate.py computes it, by NLTK.

    With case, words split at spaces, and 0.1 for an order without a match (method 1 of Chen and Cherry 2014); of BLEU-3
    each order weighs .33. One deviation: Chinese is split as sacrebleu's "zh" does, not by jieba. Of several references
    the best counts. The marks of citations are left out.
    """
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    plain, smoothing = CITATION_MARK.sub("", reply), SmoothingFunction().method1
    texts = ((_words(each, each), _words(plain, each)) for each in references)
    return max(float(sentence_bleu([right], ours, WEIGHTS[n], smoothing)) for right, ours in texts)


def intra_dist(reply: str, references: Sequence[str], *, n: int) -> float:
    """Dist-n within one reply: its different n-grams over all of its n-grams; 0 if it has none.

    The authors' evaluate.py reports the mean over the replies as Dist-n. It splits words by jieba, also English, where
    spaces count as words; here they are split as for `bleu`.
    """
    words = _words(CITATION_MARK.sub("", reply), references[0])
    grams = list(zip(*(words[start:] for start in range(n)), strict=False))
    return len(set(grams)) / len(grams) if grams else 0.0


REPLY_METRICS: Mapping[str, TextMetric] = {
    **{f"bleu_{n}": partial(bleu, n=n) for n in (1, 2, 3, 4)},
    **{f"intra_dist_{n}": partial(intra_dist, n=n) for n in (1, 2)},
}
"""What the authors report of replies (section 4.3, tables 8 and 11) beside ROUGE-L and the similarity of embeddings."""


def _words(text: str, reference: str) -> list[str]:
    return bleu_scorer("zh").tokenizer(text).split() if IS_CJK.search(reference) else text.split()
