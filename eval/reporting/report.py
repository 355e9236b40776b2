"""Report a run: every figure with its n and its interval, what was run, and what it cost."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from eval.benchmarks import Published, find
from eval.judging.judge import Agreement, agreement
from eval.metrics.answers import RULE, verdict
from eval.metrics.confusion import Curve, curve, table
from eval.metrics.scores import Scored, figures, score, without_uncounted
from eval.runs.run import HistoryCosts, Run
from eval.types import Cause, Costs, Figure, Probe, Sample
from graph.models.registry import is_named

EVIDENCE = ("1", "2", "3", "4+")
"""The groups of probes by pieces of evidence, from one on."""

NOBODY = "nobody: not a question"
POPULATION = "population"

CAUSES: tuple[Cause, ...] = ("not stored", "not retrieved", "filtered out", "misread")

Figures = Mapping[str, Figure]


@dataclass(frozen=True, slots=True)
class Report:
    """Everything known about a run. `by` maps an axis ("ability") to its groups, each with its figures.

    `timing` is in milliseconds unless a name ends in `_s` (seconds), `_per_s` or `_share`. `skips` counts unusable
    parts of the data by reason, `causes` the wrong answers by cause, and `readers` the answers by reader, where a chat
    model was set. `unreadable` counts the replies of chat models that could not be read, by who gave them; these count
    as wrong, and enter no mean of scores. `unjudged` names the figures that a judge would give and none has given.
    """

    run: str
    benchmark: str
    title: str
    portion: str
    n: int
    histories: int
    date: str
    machine: str
    code: str
    checksum: str
    settings: Mapping[str, Any]
    metrics: Figures
    by: Mapping[str, Mapping[str, Figures]]
    abstention: Mapping[str, int] | None
    curve: Curve | None
    causes: Mapping[Cause, int]
    agreement: Agreement | None
    timing: Mapping[str, Any]
    tokens: Mapping[str, int]
    readers: Mapping[str, int]
    unreadable: Mapping[str, int]
    unjudged: Sequence[str]
    skips: Mapping[str, int]
    published: Sequence[Published]
    done: bool


def report(run: Run) -> Report:
    """Compute the report of a run, finished or not."""
    benchmark, samples, costs = find(run.spec.benchmark), run.samples(words=False), run.costs()
    answered = run.has_reader
    scored = score(samples, benchmark.scoring, answered=answered)
    measure = partial(figures, scoring=benchmark.scoring, answered=answered)
    counted = without_uncounted(scored)
    metrics = measure(counted)
    by_model = run.spec.settings.get("reader") == "auto" and is_named(str(run.spec.settings.get("model", "")))
    judged = [(s.verdict, verdict(s.probe, s.prediction)) for s in samples if s.verdict and s.verdict.by != RULE]
    by_judge = ["rubric_score"] if any(s.probe.gold.rubric for s in samples) else []
    by_judge += benchmark.criteria
    predictions = [sample.prediction for sample in samples]
    return Report(
        run=run.name,
        benchmark=benchmark.name,
        title=benchmark.title,
        portion=run.spec.portion,
        n=len(samples),
        histories=len({p.history_id for p in predictions}),
        date=f"{run.created:%Y-%m-%d}",
        machine=run.machine,
        code=run.spec.code,
        checksum=run.spec.checksum,
        settings=run.spec.settings,
        metrics=metrics,
        by={axis: _grouped(scored if axis == POPULATION else counted, of, measure) for axis, of in AXES.items()},
        abstention=table(samples) if answered else None,
        curve=curve(samples) if answered else None,
        causes=count_causes(samples) if answered else {},
        agreement=agreement(judged) if judged else None,
        timing=timing(samples, costs),
        tokens={"in": sum(p.tokens_in for p in predictions), "out": sum(p.tokens_out for p in predictions)},
        readers=dict(Counter(p.reader or NOBODY for p in predictions).most_common()) if by_model else {},
        unreadable=_unreadable(samples),
        unjudged=by_judge if answered and not judged else (),
        skips=dict(Counter(reason for c in costs for _, reason in c.skips).most_common()),
        published=benchmark.published(metrics),
        done=run.is_done,
    )


def _unreadable(samples: Iterable[Sample]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for sample in samples:
        counts["classifier"] += bool(sample.prediction.fallbacks.get("classify"))
        counts["time reader"] += bool(sample.prediction.fallbacks.get("times"))
        counts["reader"] += sample.prediction.unreadable
        if sample.verdict is not None:
            counts["judge"] += sample.verdict.state == "unreadable"
            counts["judge by criteria"] += None in sample.verdict.criteria.values()
    return {name: n for name, n in counts.items() if n}


AXES: Mapping[str, Callable[[Probe], Sequence[str]]] = {
    "ability": lambda probe: [probe.ability] if probe.ability else [],
    POPULATION: lambda probe: probe.populations,
    "kind": lambda probe: [probe.gold.kind] if probe.gold.kind else [],
    "store": lambda probe: [probe.store] if probe.store else [],
    "evidence": lambda probe: EVIDENCE[: len(probe.gold.evidence)][-1:],
}
"""How probes are grouped: by axis, the groups of a probe."""


def _grouped(
    scored: Sequence[Scored], of: Callable[[Probe], Sequence[str]], measure: Callable[[Sequence[Scored]], Figures]
) -> dict[str, Figures]:
    names = sorted({name for one in scored for name in of(one.sample.probe)})
    return {name: measure([one for one in scored if name in of(one.sample.probe)]) for name in names}


def cause(sample: Sample) -> Cause | None:
    """The first step that lost evidence of a wrong answer; None for other answers, or if no evidence is known.

    An answer needs all of its evidence. If the bank lacks a part of it, the cause is "not stored"; if the reader did
    not get a part, "not retrieved", or "filtered out" if the time filter dropped it; otherwise "misread".
    """
    gold, prediction = sample.probe.gold, sample.prediction
    evidence = set(gold.evidence)
    if sample.verdict is None or sample.verdict.state != "wrong" or not gold.answerable or not evidence:
        return None
    if evidence - set(prediction.stored):
        return "not stored"
    read, filtered = (
        {name for hit in prediction.found if hit.place == place for name in (*hit.units, hit.session)}
        for place in ("read", "filtered")
    )
    if (evidence - read) & filtered:
        return "filtered out"
    return "not retrieved" if evidence - read else "misread"


def count_causes(samples: Iterable[Sample]) -> dict[Cause, int]:
    """Count the wrong answers by cause."""
    counts = Counter(filter(None, map(cause, samples)))
    return {name: counts[name] for name in CAUSES}


def timing(samples: Sequence[Sample], costs: Sequence[HistoryCosts]) -> dict[str, Any]:
    """Milliseconds of each node and of the whole answer (p50, p95), and the costs of storing and encoding."""
    nodes: dict[str, list[float]] = defaultdict(list)
    for sample in samples:
        for node, took in sample.prediction.milliseconds.items():
            nodes[node].append(took)
        nodes["answer"].append(sample.prediction.response_ms)
    spread = {node: np.percentile(values, [50, 95]).round(2).tolist() for node, values in nodes.items()}
    return {node: {"p50": p50, "p95": p95} for node, (p50, p95) in spread.items()} | (_storing(costs) if costs else {})


def _storing(costs: Sequence[HistoryCosts]) -> dict[str, float]:
    total = Costs(*(sum(getattr(c.costs, f.name) for c in costs) for f in fields(Costs)))
    wall, encoder = sum(c.wall_s for c in costs), sum(c.encoder_s for c in costs)
    stored = total.turns or total.memories
    by_rules = {"learned_by_rules_share": round(total.by_rules / total.learned, 3)} if total.learned else {}
    matched = {"matched_share": round(total.matched / total.found, 3)} if total.found else {}
    own = {"system_calls": total.calls, "system_tokens_in": total.tokens_in, "system_tokens_out": total.tokens_out}
    return {
        **by_rules,
        **matched,
        **(own if total.calls else {}),
        "remember_s": round(total.import_s + total.embed_s, 2),
        "bytes": total.bytes,
        "import_turns_per_s": round(stored / total.import_s, 1) if total.import_s else 0.0,
        "import_ms_per_turn": round(1000 * total.import_s / stored, 3) if stored else 0.0,
        "probe_s": round(wall / max(total.probes, 1), 3),
        "encoder_s": round(encoder, 2),
        "encoder_share": round(encoder / wall, 3) if wall else 0.0,
        "outside_encoder_probe_s": round((wall - encoder) / max(total.probes, 1), 3),
        "encoded": sum(c.encoded for c in costs),
        "found_in_cache": sum(c.cached for c in costs),
        "work_s": round(wall, 2),
    }
