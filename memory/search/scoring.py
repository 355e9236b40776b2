"""How well each candidate answers a question.

A pure function over arrays; it knows no bank and no index. Each factor is a setting of `SearchSettings`, a score of its
own in every hit, and off at 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memory.dates.expressions import TimeExpression
from memory.search import fusion
from memory.search.engine.postings import code
from memory.search.fusion import Scores
from memory.types import STORES, TimeSpan

TURNS = STORES.index("dialogue")

BEST_OF_SESSION = 3
"""Turns of a session whose scores say how much of it is about the question."""

DAY = 86_400.0
FADE_AFTER = 7 * DAY
"""What happened is told within days: how soon the closeness to a time fades after it, unless the time is wider."""

FORETOLD_WITHIN = 1 * DAY
"""The same before it, or a tenth of its width."""

UNSURE = 0.3
"""What a guess at a time ("recently") counts beside a date."""


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How candidates are found and weighed.

    `k` best of each store are kept, so that one full store never crowds out another (PerLTQA, Du et al. 2024).
    `dense_weight` is the share of meaning against words, where no memory holds a word of the question; 0 is words
    alone, 1 meaning alone. `coverage` is how much of that share goes to the words where one memory holds them all: rare
    words that come together are no accident, and the more memories there are, the more of them mean much the same.
    `length` is what a memory of e times the mean length counts more: "Thanks, you too!" is near to many a question.
    `voice` puts a question that names who it is about in their own words before its meaning is looked up.
    `speaker` is what the words of those it is about count more than those of others; `time` the same for what is of the
    time it names.
    `neighbours` is the share of its score that a turn lends to the turns said just after and just before it, and half
    as much to the ones beyond: an answer often has no word in common with the question, but follows one that has.
    `session` is what a turn gets for how well the best turns of its session fit.
    `depth` is how many of each store are ranked at all; those past `k` are shown in their order but not read, so that
    a longer look at the ranking changes no answer.
    """

    k: int = 10
    dense_weight: float = 0.8
    coverage: float = 0.75
    length: float = 0.05
    voice: bool = True
    speaker: float = 0.4
    time: float = 0.6
    neighbours: float = 0.3
    session: float = 0.3
    ranker: str = "postings"
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question says of the memories that it wants, beyond its words.

    `names` are the speakers that it is about; without any, `of_self` says that it is about the one who asks. `times`
    are those it names.
    """

    names: tuple[str, ...] = ()
    of_self: bool = False
    times: tuple[TimeExpression, ...] = ()

    @property
    def spans(self) -> tuple[TimeSpan, ...]:
        """The times that it names for sure."""
        return tuple(time.span for time in self.times if time.sure)


@dataclass(frozen=True, slots=True)
class Candidates:
    """The m memories that are weighed, ordered by id, all of them said by the time of asking.

    `lexical` (BM25) and `dense` (cosine; 0 where `embedded` is false) have shape (views, m), everything else (m,).
    `stores` are places in `memory.types.STORES`. Two turns are next to each other if they are of one session and
    their `places`, which ascend, differ by one; `sessions` is 0 for what no session said. `closed`, `begun` and `ended`
    are seconds since 1970, see `memory.search.engine.segments.Columns`; `speakers` are codes of the words
    (`memory.search.engine.postings.code`), 0
    for none; `own` is what the user said. `lengths` are in terms, over the mean of all that the persona
    has; `complete`, of shape (views,), is the BM25 of a memory of mean length that holds every word of the view once,
    and `legible`, (views,), how much of the view the encoder understands.
    """

    ids: NDArray[np.int64]
    stores: NDArray[np.int8]
    sessions: NDArray[np.int64]
    places: NDArray[np.int64]
    closed: NDArray[np.float64]
    begun: NDArray[np.float64]
    ended: NDArray[np.float64]
    speakers: NDArray[np.uint64]
    own: NDArray[np.bool_]
    embedded: NDArray[np.bool_]
    lengths: Scores
    complete: Scores
    legible: Scores
    lexical: Scores
    dense: Scores

    def within(self, spans: Sequence[TimeSpan]) -> NDArray[np.bool_]:
        """Which candidates are of one of the spans."""
        inside = np.zeros(len(self.ids), dtype=np.bool_)
        for span in spans:
            inside |= (self.begun < span.end.timestamp()) & (self.ended >= span.start.timestamp())
        return inside


@dataclass(frozen=True, slots=True)
class Weighed:
    """Every candidate's scores on the way, each of shape (m,).

    `lexical` and `dense` are of the first view, `fused` the weighted mean of the views' mixed scores, in 0..1;
    `length`, `speaker` and `time` are what those factors add to it, `lent` and `session` what comes from the turns
    around; `total` is their sum, for turns scaled as `_scaled` tells. `meaning` is the share that meaning had in the
    first view.
    """

    meaning: float
    lexical: Scores
    dense: Scores
    fused: Scores
    length: Scores
    speaker: Scores
    time: Scores
    lent: Scores
    session: Scores
    total: Scores

    def of(self, row: int) -> dict[str, float]:
        """The scores of one candidate, by name."""
        kinds = ("lexical", "dense", "fused", "length", "speaker", "time", "lent", "session")
        scores = {kind: round(float(getattr(self, kind)[row]), 4) for kind in kinds}
        return {"meaning": round(self.meaning, 4), **scores}


def weigh(found: Candidates, weights: Sequence[float], asked: Asked, settings: SearchSettings) -> Weighed:
    """Score the candidates for a question of several views, each with its weight."""
    shares = settings.dense_weight * (1 - settings.coverage * _covered(found) ** 2)
    if settings.dense_weight < 1:  # without words there is nothing else to go by
        shares *= found.legible
    # What has no vector yet is judged by its words alone: said a moment ago, it must not rank behind.
    mixed = [
        np.where(found.embedded, fusion.convex(words, meaning, share), fusion.normalise(words))
        for words, meaning, share in zip(found.lexical, found.dense, shares, strict=True)
    ]
    fused = np.average(mixed, axis=0, weights=weights)
    length = fused * settings.length * np.clip(np.log(np.maximum(found.lengths, 1e-9)), -1, 1)
    timely = (fused + length) * settings.time * _closeness(found, asked.times)
    alone = fused + length + timely
    spoken = alone * settings.speaker * _is_by(found, asked)
    matched = alone + spoken
    lent = settings.neighbours * _lent(found, matched)
    session = settings.session * _of_session(found, matched)
    total = _scaled(found, alone, matched + lent + session)
    return Weighed(
        float(shares[0]), found.lexical[0], found.dense[0], fused, length, spoken, timely, lent, session, total
    )


def _covered(found: Candidates) -> Scores:
    """How much of what each view's words tell one memory holds at best, in 0..1; shape (views,)."""
    best = found.lexical.max(axis=1, initial=0.0)
    return np.asarray(np.minimum(best / np.maximum(found.complete, 1e-9), 1.0))


def _is_by(found: Candidates, asked: Asked) -> NDArray[np.bool_]:
    """What was said by those the question is about."""
    if asked.names:
        return np.isin(found.speakers, np.array([code(name) for name in asked.names], dtype=np.uint64))
    return found.own if asked.of_self else np.zeros_like(found.own)


def _closeness(found: Candidates, times: Sequence[TimeExpression]) -> Scores:
    """How near each is to one of the times, 1 within it; what has no time is near none."""
    near = np.zeros(len(found.ids))
    for time in times:
        start, end = time.span.start.timestamp(), time.span.end.timestamp()
        late = np.maximum(found.begun - end, 0) / max(FADE_AFTER, end - start)
        early = np.maximum(start - found.ended, 0) / max(FORETOLD_WITHIN, 0.1 * (end - start))
        near = np.fmax(near, np.exp(-late - early) * (1.0 if time.sure else UNSURE))
    return near


def _lent(found: Candidates, scores: Scores) -> Scores:
    """For each turn the better score of the turn before and the turn after it, and half that of the ones beyond."""
    order = np.flatnonzero(found.stores == TURNS)
    sessions, places, of_turns = found.sessions[order], found.places[order], scores[order]
    beside = np.zeros_like(of_turns)
    for reach, share in ((1, 1.0), (2, 0.5)):
        better = np.zeros_like(of_turns)
        for step in range(1, reach + 1):  # of turns `reach` places apart, some between may be missing
            together = (sessions[step:] == sessions[:-step]) & (places[step:] - places[:-step] == reach)
            better[step:] = np.maximum(better[step:], np.where(together, of_turns[:-step], 0.0))
            better[:-step] = np.maximum(better[:-step], np.where(together, of_turns[step:], 0.0))
        beside += share * better
    lent = np.zeros_like(scores)
    lent[order] = beside
    return lent


def _of_session(found: Candidates, scores: Scores) -> Scores:
    """For each turn what the best turns of its session come to, the best session being 1; 0 for other memories."""
    fit = np.zeros_like(scores)
    turns = np.flatnonzero(found.stores == TURNS)
    if not len(turns):
        return fit
    order = turns[np.argsort(found.sessions[turns], kind="stable")]  # a look at them, for they are in order already
    left, first = scores[order], np.flatnonzero(np.diff(found.sessions[order], prepend=-1))
    sizes, sums = np.diff(first, append=len(order)), np.zeros(len(first))
    for _ in range(BEST_OF_SESSION):
        best = np.maximum.reduceat(left, first)
        sums += best
        places = np.flatnonzero(left == np.repeat(best, sizes))
        left[places[np.searchsorted(places, first)]] = 0.0
    fit[order] = np.repeat(fusion.normalise(sums), sizes)
    return fit


def _scaled(found: Candidates, alone: Scores, total: Scores) -> Scores:
    """The totals, those of turns scaled so that the best turn keeps what it scored alone.

    What speaks for a turn orders turns; a fact or an event has neither speaker nor session to lend it anything, and
    must not fall behind for that.
    """
    turns = found.stores == TURNS
    best = total[turns].max(initial=0.0)
    return np.where(turns, total * (alone[turns].max() / best), alone) if best > 0 else alone
