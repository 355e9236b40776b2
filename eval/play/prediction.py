"""Turn an answer of the pipeline into a prediction under the benchmark's ids."""

from collections import Counter
from collections.abc import Iterable, Iterator

from eval.play.ids import BenchmarkIds
from eval.play.simulation.choices import choose
from eval.types import Place, Prediction, Probe, RankedHit, ShownHit
from graph.assistant import Answer
from memory.types import STORES, Hit

RANKED = 50
"""Hits of each kind, and distinct sessions, that a prediction keeps of the ranking: the largest k of any protocol."""

WIDENED = 10
"""Distinct sessions until which it keeps every hit: the largest k up to which a protocol counts the hits that bring no
new session, too (LongMemEval's session metrics of a ranking of turns)."""

SHOWN = 30
SHOWN_CHARACTERS = 600
"""Hits, and characters of each, that a prediction keeps as text for the drill-down."""


def make_prediction(probe: Probe, history_id: str, answer: Answer, ids: BenchmarkIds, seconds: float) -> Prediction:
    """Record what the pipeline answered, found and did, and how long it took."""
    reading = answer.reading
    lines = {line.node: line for line in answer.trace}
    read = lines.get("read")
    by_model = reading.by not in ("", "extractive")
    return Prediction(
        probe.id,
        history_id,
        {str(s): lines["classify"].figures[s] for s in STORES},
        tuple(trim_ranking(_ranked(hit, ids) for hit in answer.hits)),
        reading.answer,
        reading.abstained,
        reading.reason or "",
        tuple(unit for c in reading.citations for unit in ids.units_of(c.memory)),
        None if by_model else round(read.figures.get("best note", 0.0), 4) if read else 0.0,
        choice=choose(reading.answer, reading.abstained, probe.choices) if probe.choices else None,
        stored=tuple(sorted(ids.stored(probe.gold))),
        shown=tuple(_shown(hit, ids) for hit in answer.hits[:SHOWN]),
        trace=tuple(f"{line.node}: {line.decided}" for line in answer.trace),
        milliseconds={line.node: line.milliseconds for line in answer.trace if line.milliseconds},
        response_ms=round(seconds * 1000, 2),
        tokens_in=sum(int(line.figures.get("tokens in", 0)) for line in answer.trace),
        tokens_out=sum(int(line.figures.get("tokens out", 0)) for line in answer.trace),
        reader=reading.by,
        fallbacks={line.node: bool(n) for line in answer.trace if (n := line.figures.get("fallback")) is not None},
        unreadable=bool(read and read.figures.get("unreadable")),
    )


def trim_ranking(ranking: Iterable[RankedHit]) -> Iterator[RankedHit]:
    """Keep the part of a ranking that metrics or the error attribution look at; no figure depends on the rest.

    It keeps everything that was read; the first `RANKED` hits that add units, of those from sessions, of those from
    none, and of those that the time filter dropped; those from sessions until `WIDENED` sessions are found; and the
    first hit of each of the first `RANKED` sessions.
    """
    kept: Counter[str] = Counter()
    units: set[str] = set()
    sessions: set[str] = set()
    for hit in ranking:
        kind = "filtered" if hit.place == "filtered" else "in session" if hit.session else "outside sessions"
        is_early = kept[kind] < RANKED or (kind == "in session" and len(sessions) < WIDENED)
        adds_units = is_early and not units.issuperset(hit.units)
        adds_session = kind == "in session" and hit.session not in sessions and len(sessions) < RANKED
        if hit.place == "read" or adds_units or adds_session:
            yield hit
        kept[kind] += adds_units
        if kind != "filtered":
            units.update(hit.units)
            sessions.update([hit.session] if hit.session else [])


def _ranked(hit: Hit, ids: BenchmarkIds) -> RankedHit:
    place: Place = "filtered" if hit.dropped == "time" else "read" if hit.kept else "beyond"
    units, session = ids.units_of(hit.memory), ids.session_of(hit.memory)
    indexed = tuple(unit for unit in units if unit not in ids.unindexed) if ids.unindexed else ()
    return RankedHit(units, session, hit.memory.store, round(hit.score, 5), place, indexed)


def _shown(hit: Hit, ids: BenchmarkIds) -> ShownHit:
    memory = hit.memory
    date = memory.event_text or (memory.said_at.isoformat() if memory.said_at else "")
    text = memory.text[:SHOWN_CHARACTERS]
    return ShownHit(ids.units_of(memory), memory.store, memory.speaker, text, date, dict(hit.scores), hit.kept, hit.why)
