"""Where a wrong answer went wrong: the first step at which a part of its evidence was lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from eval.types import Cause, RankedHit, Sample

CAUSES: tuple[Cause, ...] = ("not stored", "not retrieved", "filtered out", "misread")


def cause(sample: Sample) -> Cause | None:
    """Why an answerable probe was not answered rightly; None if it was, or if nobody can tell.

    An answer needs all of its evidence: a part that the bank does not hold makes it "not stored", one that was not
    among what the reader got "not retrieved", unless the time filter took it away ("filtered out"); with all of it
    before the reader the answer was "misread".
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
    """How many wrong answers have which cause."""
    counts = Counter(filter(None, map(cause, samples)))
    return {name: counts[name] for name in CAUSES}
