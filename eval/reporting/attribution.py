"""Attribute wrong answers to the first step that lost a part of their evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from eval.types import Cause, RankedHit, Sample

CAUSES: tuple[Cause, ...] = ("not stored", "not retrieved", "filtered out", "misread")


def cause(sample: Sample) -> Cause | None:
    """Why an answerable probe was answered wrong; None if it was not, or if its evidence is not known.

    An answer needs all of its evidence. If the bank lacks a part of it, the cause is "not stored"; if the reader did
    not get a part, "not retrieved", or "filtered out" if the time filter dropped it; otherwise "misread".
    """
    gold, prediction = sample.probe.gold, sample.prediction
    evidence = gold.turns or gold.items or gold.sessions
    if sample.verdict is None or sample.verdict.state != "wrong" or not gold.answerable or not evidence:
        return None
    if set(evidence) - set(prediction.stored):
        return "not stored"
    read = _names(f for f in prediction.found if f.place == "read")
    missing = set(evidence) - read
    if missing & _names(f for f in prediction.found if f.place == "filtered"):
        return "filtered out"
    return "not retrieved" if missing else "misread"


def _names(found: Iterable[RankedHit]) -> set[str]:
    return {name for f in found for name in (*f.units, f.session)}


def attribute(samples: Iterable[Sample]) -> dict[Cause, int]:
    """Count the wrong answers by cause."""
    counts = Counter(filter(None, map(cause, samples)))
    return {name: counts[name] for name in CAUSES}
