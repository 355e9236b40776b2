"""Score how well each candidate answers a question.

A pure function over arrays, without bank or index. The match of words and meaning comes first; every entry of
`FACTORS` then adds to it. To add a factor, write its function, enter it in `FACTORS` and give it a weight of the same
name in `SearchSettings`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from memory.dates.expressions import TimeExpression
from memory.search.engine.postings import term_code
from memory.search.engine.segments import Columns
from memory.types import STORES, TimeSpan

Scores = NDArray[np.float64]

DIALOGUE = STORES.index("dialogue")

DAY = 86_400.0
FADE_AFTER, FADE_BEFORE = 7 * DAY, 1 * DAY
"""People tell what happened within days: seconds after and before a time until closeness to it drops to 1/e (or the
width of the time after it, and a tenth of that before it, if these are longer)."""

UNSURE_WEIGHT = 0.3
"""Weight of a vague time ("recently") against a date."""

SAME = 1e-9
"""Scores that differ by no more than this count as equal."""

NEIGHBOUR_SHARES = (1.0, 0.5)
"""The share of its score that a turn gives to those next to it, and to those two places away."""


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How candidates are found and scored.

    The `k` best of each store are kept, so that a full store never crowds out another (PerLTQA, Du et al. 2024).
    `dense_weight` is the share of meaning against words: 0 is words alone, 1 meaning alone.
    `voice` rewords a question about a named speaker in the first person before its meaning is looked up.
    `depth` is how many memories of each store are ranked at all; those past `k` are shown but not read, so that a
    longer ranking changes no answer.
    The weights from `speaker` to `neighbours` belong to the factors of the same name (`FACTORS`).
    """

    k: int = 10
    dense_weight: float = 0.8
    voice: bool = True
    speaker: float = 0.4
    time: float = 0.3
    neighbours: float = 0.3
    ranker: str = "postings"
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Subject:
    """Whom and which times a question is about.

    `names` are speakers; without any, `about_self` says that the question is about the person who asks it.
    """

    names: tuple[str, ...] = ()
    about_self: bool = False
    times: tuple[TimeExpression, ...] = ()

    @property
    def sure_spans(self) -> tuple[TimeSpan, ...]:
        """The spans of the times that are not vague."""
        return tuple(time.span for time in self.times if time.sure)


@dataclass(frozen=True, slots=True)
class Candidates:
    """The m memories to score, ordered by id, all of them known at the time of asking.

    `lexical` (BM25) and `dense` (cosine; 0 where `embedded` is false) have shape (views, m); `share_in_vocabulary`
    (views,); everything else (m,).

    columns              their ids, stores, times and speakers; a fact ends when it stopped holding
    places               ascending; two turns of a session are neighbours if their places differ by one
    valid_until          seconds since 1970 at which a fact stopped holding, inf if it did not
    share_in_vocabulary  share of the view that the encoder understands
    """

    columns: Columns
    places: NDArray[np.int64]
    valid_until: NDArray[np.float64]
    embedded: NDArray[np.bool_]
    share_in_vocabulary: Scores
    lexical: Scores
    dense: Scores


def overlapping(starts: Scores, ends: Scores, spans: Sequence[TimeSpan]) -> NDArray[np.bool_]:
    """Which of the times, each from its start to its end, overlap one of the spans; shape (m,)."""
    inside = np.zeros(len(starts), dtype=np.bool_)
    for span in spans:
        inside |= (starts < span.end.timestamp()) & (ends >= span.start.timestamp())
    return inside


@dataclass(frozen=True, slots=True)
class Factor:
    """Something that raises (or lowers) a candidate's score beyond the match of words and meaning.

    `gain(candidates, subject, base, weight)` gives what it adds, shape (m,), 0 everywhere at weight 0. `base` is the
    score so far; in the scope "context", where score passes from turn to turn, it is the score without such factors.
    Factors of the scopes "turns" and "context" are scaled away against other stores. `label` names it on screen;
    `effect` is a sentence for the trace with the places {weight}, {times} (1 + weight) and {whose}.
    """

    gain: Callable[[Candidates, Subject, Scores, float], Scores]
    label: str
    effect: str
    scope: Literal["memories", "turns", "context"] = "memories"

    def explain(self, weight: float, whose: str) -> str:
        """What the factor does at this weight, for the trace; `whose` names the speakers that are asked about."""
        return self.effect.format(weight=weight, times=1 + weight, whose=whose)


def score(
    candidates: Candidates, weights: Sequence[float], subject: Subject, settings: SearchSettings
) -> dict[str, Scores]:
    """Score the candidates for a question of several views, each with its weight; each score has shape (m,).

    meaning         the share that meaning had in the first view, the same for all
    lexical, dense  of the first view
    fused           the weighted mean over the views, in 0..1
    time, ...       what each factor adds to it, by the factor's name
    total           the sum, for turns scaled by `_scale_turns`
    """
    shares = np.full(len(weights), float(settings.dense_weight))
    if settings.dense_weight < 1:  # without words there is nothing else to go by
        shares *= candidates.share_in_vocabulary
    mixed = [
        mix(lexical, dense, candidates.embedded, share)
        for lexical, dense, share in zip(candidates.lexical, candidates.dense, shares, strict=True)
    ]
    fused = np.average(mixed, axis=0, weights=weights)
    gains: dict[str, Scores] = {}
    total = without_context = without_turns = fused
    for name, factor in FACTORS.items():
        base = without_context if factor.scope == "context" else total
        gains[name] = factor.gain(candidates, subject, base, getattr(settings, name))
        total = total + gains[name]
        without_context = without_context if factor.scope == "context" else total
        without_turns = total if factor.scope == "memories" else without_turns
    total = _scale_turns(candidates, without_turns, total)
    meaning, lexical, dense = np.full(len(total), shares[0]), candidates.lexical[0], candidates.dense[0]
    return {"meaning": meaning, "lexical": lexical, "dense": dense, "fused": fused, **gains, "total": total}


def standardise(scores: Scores, among: Scores) -> Scores:
    """Scale scores so that those `among` them have mean 0 and standard deviation 1; all become 0 if these are equal."""
    # Not "deviation > 0": the mean of equal scores is rounded, and that error would be scaled up.
    if not len(among) or np.ptp(among) <= SAME:
        return np.zeros_like(scores)
    return np.asarray((scores - among.mean()) / among.std())


def mix(lexical: Scores, dense: Scores, embedded: NDArray[np.bool_], dense_weight: float) -> Scores:
    """Combine scores: (1 - w) * lexical + w * dense, each standardised; shape (n,), in 0..1, the best 1.

    A convex combination ranks better than reciprocal rank fusion (Bruch, Gai & Ingber 2023, "An Analysis of Fusion
    Functions for Hybrid Retrieval"). Standardising over the candidates of a question makes it the same for any
    embedding model, whether its cosines lie around .1 or around .8 (zero mean and unit variance: Montague & Aslam
    2001, "Relevance Score Normalization for Metasearch").

    The worst stands one standard deviation above 0, so that a factor has something to raise. 0 is what has no word of
    the question and no nearness to its meaning. What has no vector is judged by its words alone.
    """
    words, meaning = standardise(lexical, lexical), np.zeros_like(dense)
    meaning[embedded] = standardise(dense[embedded], dense[embedded])
    mixed = np.where(embedded, (1.0 - dense_weight) * words + dense_weight * meaning, words)
    by_words, by_meaning = (lexical > 0) & ((dense_weight < 1) | ~embedded), (dense > 0) & (dense_weight > 0)
    above = mixed - mixed.min(initial=np.inf) + 1.0
    return np.where(by_words | by_meaning, above / above.max(initial=1.0), 0.0)


def time_gain(candidates: Candidates, subject: Subject, base: Scores, weight: float) -> Scores:
    """Raise what is near to a time that the question names: 1 within it, fading outside, 0 for what has no time."""
    closeness = np.zeros(len(candidates.columns.ids))
    for time in subject.times:
        start, end = time.span.start.timestamp(), time.span.end.timestamp()
        late = np.maximum(candidates.columns.starts - end, 0) / max(FADE_AFTER, end - start)
        early = np.maximum(start - candidates.columns.ends, 0) / max(FADE_BEFORE, 0.1 * (end - start))
        closeness = np.fmax(closeness, np.exp(-late - early) * (1.0 if time.sure else UNSURE_WEIGHT))
    return base * weight * closeness


def speaker_gain(candidates: Candidates, subject: Subject, base: Scores, weight: float) -> Scores:
    """Raise what was said by those the question is about."""
    columns = candidates.columns
    if subject.names:
        codes = np.array([term_code(name) for name in subject.names], dtype=np.uint64)
        is_by = np.isin(columns.speakers, codes)
    else:
        is_by = columns.by_user.astype(np.bool_) & subject.about_self
    return np.asarray(base * weight * is_by)


def neighbours_gain(candidates: Candidates, subject: Subject, base: Scores, weight: float) -> Scores:
    """Raise turns next to good ones: an answer often shares no word with the question, but follows a turn that does.

    A turn gains the better score of the turns just before and after it, and half of the better one two places away.

        base of a session's turns   0   0    1   0    0
        gain / weight               .5  1    0   1    .5
    """
    order = np.flatnonzero(candidates.columns.stores == DIALOGUE)
    sessions, places, of_turns = candidates.columns.sessions[order], candidates.places[order], base[order]
    nearby = np.zeros_like(of_turns)
    for reach, share in enumerate(NEIGHBOUR_SHARES, 1):
        better = np.zeros_like(of_turns)
        for step in range(1, reach + 1):  # of turns `reach` places apart, some between may be missing
            together = (sessions[step:] == sessions[:-step]) & (places[step:] - places[:-step] == reach)
            better[step:] = np.maximum(better[step:], np.where(together, of_turns[:-step], 0.0))
            better[:-step] = np.maximum(better[:-step], np.where(together, of_turns[step:], 0.0))
        nearby += share * better
    gain = np.zeros_like(base)
    gain[order] = nearby
    return weight * gain


def _scale_turns(candidates: Candidates, without_turns: Scores, total: Scores) -> Scores:
    """Scale the totals of turns so that the best turn keeps what it scores without the factors for turns.

    A fact or an event has no neighbours to gain from, and must not fall behind for that.
    """
    turns = candidates.columns.stores == DIALOGUE
    best = total[turns].max(initial=0.0)
    return np.where(turns, total * (without_turns[turns].max() / best), without_turns) if best > 0 else without_turns


FACTORS: dict[str, Factor] = {
    "time": Factor(time_gain, "time asked about", "memories of the time asked about count up to {times:g} times"),
    "speaker": Factor(speaker_gain, "who said it", "turns spoken by {whose} count {times:g} times", "turns"),
    "neighbours": Factor(
        neighbours_gain, "neighbouring turns", "turns lend {weight:.0%} of their score to those next to them", "context"
    ),
}
"""Every factor, in the order in which they are applied, by its name: that of its weight in `SearchSettings`, of what it
adds in `Hit.scores`, and of its line in the trace."""
