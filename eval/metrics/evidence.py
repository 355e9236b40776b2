"""Score how well the evidence of probes was found, on each level that their gold has.

`turn_*` are of turns, `session_*` of sessions, and metrics without a prefix of the level that the benchmark ranks. What
the time filter dropped was not found.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Literal

from eval.metrics import answers, retrieval
from eval.metrics.retrieval import Ranking
from eval.types import RankedHit, Sample

Level = Literal["sessions", "items"]
Measure = Callable[[Sequence[str], Set[str], int], float]
"""A metric of a ranking: best first, the relevant ids, the cut-off k."""

Scores = dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Scoring:
    """How a benchmark's protocol scores rankings.

    `level` is what the metrics without a prefix rank: sessions, or items (memories that are retrieved as a whole).
    `ks` are the cut-offs. `official_ndcg` is the benchmark's own nDCG where it differs from the standard one, reported
    as `ndcg_official@k`. `summed_up_ndcg` is the nDCG that enters `geometric_mean@k` of items; without it there is no
    such figure. `text_metrics` are the benchmark's own of an answer's text, beside those of `eval.metrics.scores`.
    `official_ranking` and `official_answer` are metrics of its own, of a ranking at the cut-offs and of an answer, that
    need more of a sample.
    """

    level: Level
    ks: tuple[int, ...] = (1, 3, 5, 10)
    official_ndcg: Measure | None = None
    summed_up_ndcg: Measure | None = None
    text_metrics: Mapping[str, answers.TextMetric] = field(default_factory=dict, hash=False)
    official_ranking: Callable[[Sample, Sequence[int]], Scores] | None = None
    official_answer: Callable[[Sample], Scores] | None = None


def score_evidence(samples: Sequence[Sample], scoring: Scoring) -> list[Scores]:
    """Score the evidence of every probe: values by name, without the levels on which its gold has none."""
    rankings = {"turns": _turn_ranking, "sessions": session_ranking, "items": item_ranking}
    every = ((n, level, rank(sample)) for n, sample in enumerate(samples) for level, rank in rankings.items())
    ranked = [(n, level, ranking) for n, level, ranking in every if ranking[1]]
    standard = retrieval.standard_scores([ranking for *_, ranking in ranked], scoring.ks)
    scores: list[Scores] = [{} for _ in samples]
    for (n, level, ranking), values in zip(ranked, standard, strict=True):
        if level == "turns":
            scores[n] |= _turn_scores(samples[n], values, scoring.ks)
        elif level == "sessions":
            recalls = [f"{name}@{k}" for k in scoring.ks for name in ("recall", "recall_any", "recall_all")]
            scores[n] |= {f"session_{name}": values[name] for name in recalls}
        if level == scoring.level:
            scores[n] |= _level_scores(ranking, values, scoring)
    if scoring.official_ranking is not None:
        for sample, own in zip(samples, scores, strict=True):
            own |= scoring.official_ranking(sample, scoring.ks)
    return scores


def session_ranking(sample: Sample) -> Ranking:
    """Distinct sessions of the hits, best first, and those with evidence."""
    ids = dict.fromkeys(hit.session for hit in _unfiltered(sample) if hit.session)
    return tuple(ids), frozenset(sample.probe.gold.sessions)


def item_ranking(sample: Sample) -> Ranking:
    """Distinct items of the hits, best first, and those that are evidence."""
    ids = dict.fromkeys(hit.item for hit in _unfiltered(sample) if hit.session or hit.units)
    return tuple(ids), frozenset(sample.probe.gold.items)


def _unfiltered(sample: Sample) -> Iterable[RankedHit]:
    return (hit for hit in sample.prediction.found if hit.place != "filtered")


def _new_units(sample: Sample) -> list[list[str]]:
    """The units that each hit adds to those before it, best hit first; hits that add none are left out.

    Evidence from sessions is ranked among turns only, so that a profile takes no turn's place.
    """
    seen: set[str] = set()
    fresh = []
    for hit in _unfiltered(sample):
        if sample.probe.gold.sessions and not hit.session:
            continue
        units = [unit for unit in dict.fromkeys(hit.units) if unit not in seen]
        seen.update(units)
        if units:
            fresh.append(units)
    return fresh


def _turn_ranking(sample: Sample) -> Ranking:
    """Name each hit by one of its units, and list the relevant names.

    A hit with several turns of evidence (a round, a session) counts as one relevant item. Each turn of evidence that no
    hit has counts as one, so that the ideal ranking is the best order of the same hits.
    """
    fresh, gold = _new_units(sample), frozenset(sample.probe.gold.turns)
    ids = [next((unit for unit in units if unit in gold), units[0]) for units in fresh]
    found = {unit for units in fresh for unit in units}
    return ids, {name for name in ids if name in gold} | (gold - found)


def _turn_scores(sample: Sample, standard: Mapping[str, float], ks: Sequence[int]) -> Scores:
    """Recall counts the units in the first k hits; nDCG counts each hit once (`_turn_ranking`)."""
    fresh, gold = _new_units(sample), frozenset(sample.probe.gold.turns)
    scores: Scores = {}
    for k in ks:
        found = gold & {unit for units in fresh[:k] for unit in units}
        scores[f"turn_recall@{k}"] = len(found) / len(gold)
        scores[f"turn_recall_any@{k}"] = float(bool(found))
        scores[f"turn_recall_all@{k}"] = float(found == gold)
        scores[f"turn_ndcg@{k}"] = standard[f"ndcg@{k}"]
    return scores


def _level_scores(ranking: Ranking, standard: Mapping[str, float], scoring: Scoring) -> Scores:
    names: tuple[str, ...] = ("map", "mrr", "ndcg")
    if scoring.level == "items":  # sessions have these two under names of their own
        names = ("recall", "precision", *names)
    scores: Scores = {}
    for k in scoring.ks:
        scores |= {f"{name}@{k}": standard[f"{name}@{k}"] for name in names}
        if scoring.official_ndcg is not None:
            scores[f"ndcg_official@{k}"] = scoring.official_ndcg(*ranking, k)
    return scores
