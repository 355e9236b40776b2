"""Score how well the evidence of probes was found, on each level that their gold has.

`turn_*` are of turns, `session_*` of sessions, and metrics without a prefix of the level that the benchmark ranks. What
the time filter dropped was not found.

A ranking has distinct ids (best first; it may be shorter than a cut-off k) and the set of relevant ids (not empty). All
its metrics take a k of at least 1 and are a fraction of 1. A ranking that finds nothing scores 0.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Literal

from eval.metrics.answers import TextMetric
from eval.types import RankedHit, Sample

Ranking = tuple[Sequence[str], Set[str]]
"""The ids, best first, and the relevant ids."""

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
    text_metrics: Mapping[str, TextMetric] = field(default_factory=dict, hash=False)
    official_ranking: Callable[[Sample, Sequence[int]], Scores] | None = None
    official_answer: Callable[[Sample], Scores] | None = None


SHOWN = {"turns": ("recall", "recall_any", "recall_all", "ndcg"), "sessions": ("recall", "recall_any", "recall_all")}
"""What is shown of a level under names that begin with it: `turn_recall@5`."""

RANKED = {"sessions": ("map", "mrr", "ndcg"), "items": ("recall", "precision", "map", "mrr", "ndcg")}
"""What is shown of the level that a benchmark ranks; sessions have recall under names of their own."""


def score_evidence(samples: Sequence[Sample], scoring: Scoring) -> list[Scores]:
    """Score the evidence of every probe: values by name, without the levels on which its gold has none."""
    scores: list[Scores] = [{} for _ in samples]
    for level, rank in (("turns", _turn_ranking), ("sessions", session_ranking), ("items", item_ranking)):
        ranked = {n: ranking for n, sample in enumerate(samples) if (ranking := rank(sample))[1]}
        for n, values in zip(ranked, standard_scores(list(ranked.values()), scoring.ks), strict=True):
            if level == "turns":
                values |= _turn_recall(samples[n], scoring.ks)
            shown = {f"{level[:-1]}_{name}@{k}": f"{name}@{k}" for k in scoring.ks for name in SHOWN.get(level, ())}
            scores[n] |= {name: values[of_level] for name, of_level in shown.items()}
            for k in scoring.ks if level == scoring.level else ():
                scores[n] |= {f"{name}@{k}": values[f"{name}@{k}"] for name in RANKED[scoring.level]}
                if scoring.official_ndcg is not None:
                    scores[n][f"ndcg_official@{k}"] = scoring.official_ndcg(*ranked[n], k)
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


def new_units(
    sample: Sample, *, of_sessions: bool, units_of: Callable[[RankedHit], Sequence[str]] = lambda hit: hit.units
) -> Iterator[tuple[tuple[str, ...], RankedHit]]:
    """The units that each hit adds to those before it, best hit first; hits that add none, or of no session, go."""
    seen: set[str] = set()
    for hit in _unfiltered(sample):
        units = tuple(unit for unit in dict.fromkeys(units_of(hit)) if unit not in seen)
        if units and (hit.session or not of_sessions):
            seen.update(units)
            yield units, hit


def _new_units(sample: Sample) -> list[tuple[str, ...]]:
    """Evidence from sessions is ranked among turns only, so that a profile takes no turn's place."""
    return [units for units, _ in new_units(sample, of_sessions=bool(sample.probe.gold.sessions))]


def _turn_ranking(sample: Sample) -> Ranking:
    """Name each hit by one of its units, and list the relevant names.

    A hit with several turns of evidence (a round, a session) counts as one relevant item. Each turn of evidence that no
    hit has counts as one, so that the ideal ranking is the best order of the same hits.
    """
    fresh, gold = _new_units(sample), frozenset(sample.probe.gold.turns)
    ids = [next((unit for unit in units if unit in gold), units[0]) for units in fresh]
    found = {unit for units in fresh for unit in units}
    return ids, {name for name in ids if name in gold} | (gold - found)


def _turn_recall(sample: Sample, ks: Sequence[int]) -> dict[str, float]:
    """The recall of units in the first k hits; in its nDCG, each hit counts once (`_turn_ranking`)."""
    fresh, gold = _new_units(sample), frozenset(sample.probe.gold.turns)
    scores: dict[str, float] = {}
    for k in ks:
        found = gold & {unit for units in fresh[:k] for unit in units}
        scores[f"recall@{k}"] = len(found) / len(gold)
        scores[f"recall_any@{k}"] = float(bool(found))
        scores[f"recall_all@{k}"] = float(found == gold)
    return scores


# --- metrics of a ranking


MEASURED = {"recall": "R", "precision": "P", "ndcg": "nDCG"}
"""What ir-measures computes at a cut-off, by our names."""


def standard_scores(rankings: Sequence[Ranking], ks: Sequence[int]) -> list[dict[str, float]]:
    """The metrics of every ranking at each cut-off, by name ("recall@5"): those below, and these by ir-measures.

    - recall: the share of the relevant that is among the first k (LoCoMo's recall of evidence); `R@k`.
    - precision: how many of the first k are relevant, over k even if fewer than k were found; `P@k`.
    - mrr: 1 / the rank of the first relevant one, 0 if none is among the first k; `RR`.
    - ndcg: DCG over that of min(R, k) relevant ones in front, discount log2(i + 1) from i = 1, so that the second rank
      is discounted already (Järvelin and Kekäläinen 2002, in the form of trec_eval); `nDCG@k`.
    """
    own = {"recall_any": recall_any, "recall_all": recall_all, "map": average_precision}
    scores = [{f"{name}@{k}": measure(*each, k) for k in ks for name, measure in own.items()} for each in rankings]
    if not rankings:
        return scores
    import ir_measures

    measured = {f"{theirs}@{k}": f"{ours}@{k}" for k in ks for ours, theirs in MEASURED.items()}
    measures = [ir_measures.RR, *map(ir_measures.parse_measure, measured)]
    qrels = {str(n): dict.fromkeys(relevant, 1) for n, (_, relevant) in enumerate(rankings)}
    # Scores without ties, which it would break by id.
    run = {str(n): {name: -float(rank) for rank, name in enumerate(ids)} for n, (ids, _) in enumerate(rankings) if ids}
    for metric in ir_measures.pytrec_eval.iter_calc(measures, qrels, run):
        found, value = scores[int(metric.query_id)], float(metric.value)
        if metric.measure == ir_measures.RR:
            found |= {f"mrr@{k}": value if value * k >= 1 else 0.0 for k in ks}
        else:
            found[measured[str(metric.measure)]] = value
    return scores


def recall_any(ranking: Sequence[str], relevant: Set[str], k: int) -> float:
    """1 if anything relevant is among the first k, else 0 (LongMemEval, Wu et al. 2025; Success@k elsewhere)."""
    return float(not set(relevant).isdisjoint(ranking[:k]))


def recall_all(ranking: Sequence[str], relevant: Set[str], k: int) -> float:
    """1 if everything relevant is among the first k, else 0 (LongMemEval, Wu et al. 2025); 0 where R > k."""
    return float(set(relevant) <= set(ranking[:k]))


def average_precision(ranking: Sequence[str], relevant: Set[str], k: int) -> float:
    """The precisions at the ranks <= k that hold something relevant, summed and divided by min(R, k).

    MADial-Bench's convention (He et al. 2025): a ranking that could not be better scores 1 at every k. The AP@k of
    trec_eval and ir-measures divides by R instead and cannot reach 1 where R > k, so it is not used.
    """
    ranks = [rank for rank, found in enumerate(ranking[:k], start=1) if found in relevant]
    return sum(hits / rank for hits, rank in enumerate(ranks, start=1)) / min(len(relevant), k)
