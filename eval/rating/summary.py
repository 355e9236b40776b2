"""What filled sheets say: means, agreement of the raters, which run's replies feel closest, and what goes together."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from eval.judging.judge import Agreement, kappa
from eval.metrics.intervals import mean_figures
from eval.rating.sheet import HIGHEST, SCORES, Filled, Reply, by_question
from eval.reporting.render import fill_in
from eval.types import Figure

CLOSEST, REMEMBERS = "closest", "remembers"


@dataclass(frozen=True, slots=True)
class Match:
    """How often, of two runs' replies to a question, a rater found the one's or the other's the closest, or neither's.

    `p` is the sign test's, two-sided, which leaves ties out. Raters of one question count as if they were independent.
    """

    first: str
    second: str
    wins: int
    losses: int
    ties: int
    p: float


@dataclass(frozen=True, slots=True)
class Summary:
    """What the sheets of all raters say.

    `means` holds each run's figures: the criteria (0 to 3) and the share of replies that use a memory, of a reply the
    mean over its raters. `memory_and_support` is Spearman's rank correlation of these two criteria over all replies
    (MADial-Bench, section 5.2), None where one of them never differs.
    """

    raters: tuple[str, ...]
    means: Mapping[str, Mapping[str, Figure]]
    agreement: Mapping[str, Agreement]
    matches: tuple[Match, ...]
    memory_and_support: float | None
    faults: tuple[str, ...]


def summarise(sheets: Sequence[Filled], replies: Sequence[Reply]) -> Summary:
    """Bring the sheets of all raters together."""
    rated = [reply for reply in replies if any(reply.id in sheet.ratings for sheet in sheets)]
    columns = {}
    for name in (*SCORES, REMEMBERS):
        marks = [_marks(sheet, name) for sheet in sheets]
        columns[name] = [_mean([float(own[each.id]) for own in marks if each.id in own]) for each in rated]
    runs = dict.fromkeys(reply.run for reply in replies)
    means = {}
    for run in runs:
        own = [n for n, reply in enumerate(rated) if reply.run == run]
        of_run = {name: [column[n] for n in own] for name, column in columns.items()}
        lived, remembering = [rated[n].history for n in own], {REMEMBERS: of_run.pop(REMEMBERS)}
        means[run] = mean_figures(of_run, lived, shares=False) | mean_figures(remembering, lived)
    agreement = {name: _agreement_of_scores(sheets, rated, name) for name in SCORES} if len(sheets) > 1 else {}
    known: dict[object, Reply] = {reply.id: reply for reply in replies}
    # Of each rater, the run whose reply feels closest for each question; "" for a tie.
    choices: list[Marks] = [
        {known[of].question: known[of].run if mark == "x" else "" for of, mark in _marks(sheet, CLOSEST).items()}
        for sheet in sheets
    ]
    if len(sheets) > 1:
        agreement[REMEMBERS] = _agreement_of_marks([_marks(sheet, REMEMBERS) for sheet in sheets])
        agreement[CLOSEST] = _agreement_of_marks(choices)
    return Summary(
        tuple(sheet.rater for sheet in sheets),
        means,
        {name: each for name, each in agreement.items() if each.n},
        tuple(_matches(list(runs), choices, replies)),
        _correlation(columns["memory"], columns["support"]),
        tuple(fault for sheet in sheets for fault in sheet.faults),
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _agreement_of_scores(sheets: Sequence[Filled], rated: Sequence[Reply], name: str) -> Agreement:
    import krippendorff

    rows = np.array([[_marks(sheet, name).get(reply.id, np.nan) for reply in rated] for sheet in sheets], float)
    shared = (~np.isnan(rows)).sum(axis=0) > 1
    values = rows[:, shared]
    differ = len(np.unique(values[~np.isnan(values)])) > 1
    alpha = float(krippendorff.alpha(values, level_of_measurement="interval")) if differ else None
    return Agreement(int(shared.sum()), alpha=alpha)


Marks = Mapping[object, Any]
"""One rater's mark of each thing that he or she marked."""


def _marks(sheet: Filled, name: str) -> Marks:
    """What a rater filled in of a column, by reply."""
    return {reply: rating[name] for reply, rating in sheet.ratings.items() if name in rating}


def _agreement_of_marks(raters: Sequence[Marks]) -> Agreement:
    both = [{thing: (str(a[thing]), str(b[thing])) for thing in a if thing in b} for a, b in combinations(raters, 2)]
    kappas = [found for marks in both if (found := kappa(list(marks.values()))) is not None]
    return Agreement(len({thing for marks in both for thing in marks}), kappa=_mean(kappas))


def _matches(runs: Sequence[str], choices: Sequence[Marks], replies: Iterable[Reply]) -> Iterable[Match]:
    replied: Mapping[object, set[str]] = {q: {r.run for r in own} for q, own in by_question(replies).items()}
    from scipy.stats import binomtest  # half a second to import, and the app does without it

    for first, second in combinations(runs, 2):
        chosen = [run for of_rater in choices for q, run in of_rater.items() if {first, second} <= replied[q]]
        wins, losses = chosen.count(first), chosen.count(second)
        if chosen:
            p = float(binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0
            yield Match(first, second, wins, losses, len(chosen) - wins - losses, p)


def _correlation(memory: Sequence[float | None], support: Sequence[float | None]) -> float | None:
    both = np.array([(m, s) for m, s in zip(memory, support, strict=True) if m is not None and s is not None])
    if len(both) < 3 or not np.ptp(both, axis=0).all():
        return None
    from scipy.stats import spearmanr

    return float(spearmanr(both[:, 0], both[:, 1]).statistic)


def to_markdown(found: Summary) -> str:
    """The figures as tables, and what could not be read."""
    return fill_in("ratings.md", found=found, highest=f"{HIGHEST:g}")
