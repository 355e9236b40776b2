"""A searcher that finds what an experiment gives the reader.

It may adjust what the memory finds before the best are taken: memories fade, or those of another time are dropped. Or
it gives the reader nothing, everything, the latest, the evidence, all but it, or the candidates of a benchmark. That
bounds what retrieval contributes: "nothing" is the reader alone, "oracle" is retrieval that never fails.
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from eval.runs.experiment import Experiment
from graph.understanding.times import is_of_time
from memory.bank.bank import Bank
from memory.embedding.embedder import Embedder
from memory.search.scoring import SearchSettings, Subject
from memory.search.searcher import Searcher, View
from memory.types import Hit, Memory, Store

WHOLE = ("everything", "recent")
"""What leaves no memory out."""

DAY = timedelta(days=1)

Adjust = Callable[[Hit, datetime, Subject], Hit]
"""Changes a hit of a question that is asked at a moment and about a subject."""


class ExperimentSearcher(Searcher):
    """Finds what an experiment gives the reader; another `experiment` may be set before each question.

    `is_named` tells which memories are evidence for the current question, or candidates in a setting of the benchmark;
    `query`, where it is not empty, is what is searched for in place of the question. Set both before each.
    """

    def __init__(self, bank: Bank, embedder: Embedder, experiment: Experiment) -> None:
        super().__init__(bank, embedder)
        self.experiment = experiment
        self.is_named: Callable[[Memory], bool] = lambda memory: False
        self.query = ""

    def search(
        self,
        persona_id: int,
        views: Sequence[View],
        as_of: datetime,
        settings: SearchSettings | None = None,
        subject: Subject | None = None,
    ) -> tuple[Hit, ...]:
        """What the memory finds, adjusted or without the evidence ("wrong"), or a fixed selection of what was known."""
        given, settings, subject = self.experiment.given, settings or SearchSettings(), subject or Subject()
        if given == "nothing" or not views:
            return ()
        if self.query:
            views = self.views([self.query])
        if given not in ("memory", "wrong"):
            return self._select(persona_id, views, as_of)
        if self.experiment.words == "spaces":
            return _best(self._by_spaces(persona_id, as_of), settings.k)
        adjusted = adjustments(self.experiment) if given == "memory" else ()
        ranked = replace(settings, k=max(settings.k, settings.depth)) if adjusted else settings
        hits = super().search(persona_id, views, as_of, ranked, subject)
        if given == "wrong":
            return tuple(hit for hit in hits if not self.is_named(hit.memory))
        for adjust in adjusted:
            hits = tuple(adjust(hit, as_of, subject) for hit in hits)
        return _best(hits, settings.k) if adjusted else hits

    def _select(self, persona_id: int, views: Sequence[View], as_of: datetime) -> tuple[Hit, ...]:
        """Memories that were known by `as_of`, in order of time, scored by the cosine to the question.

        "recent" scores them by their place in time, so that a chat model reads as many of the latest as it can.
        """
        given = self.experiment.given
        known = self._known(persona_id, as_of)
        wanted = known if given in WHOLE else [m for m in known if self.is_named(m)]
        if given == "recent":
            return tuple(Hit(m, place / len(wanted), {}) for place, m in enumerate(wanted, start=1))
        vectors = self.embedder.encode_document([m.key for m in wanted])
        near = (vectors @ views[0].vector).tolist()
        return tuple(Hit(m, float(s), {"dense": round(float(s), 4)}) for m, s in zip(wanted, near, strict=True))

    def _known(self, persona_id: int, as_of: datetime) -> list[Memory]:
        """The memories that were known by a moment, in order of time."""
        known = [m for m in self.bank.memories(persona_id) if m.said_at is None or m.said_at <= as_of]
        return sorted(known, key=lambda m: (m.said_at.timestamp() if m.said_at else 0.0, m.id))

    def _by_spaces(self, persona_id: int, as_of: datetime) -> tuple[Hit, ...]:
        """All memories that were known, scored by BM25 over what stands between spaces.

        Like `run_retrieval.py` of LongMemEval's authors: rank-bm25's Okapi with its defaults. Of equal ones the last in
        time comes first, as there.
        """
        from rank_bm25 import BM25Okapi

        known = self._known(persona_id, as_of)[::-1]
        if not known:
            return ()
        scores = BM25Okapi([m.key.split(" ") for m in known]).get_scores(self.query.split(" "))
        return tuple(Hit(m, float(s), {"lexical": float(s)}) for m, s in zip(known, scores, strict=True))


def _best(hits: Sequence[Hit], k: int) -> tuple[Hit, ...]:
    """The best k of each store that are not dropped, then the others."""
    places: Counter[Store] = Counter()
    taken = []
    for hit in sorted(hits, key=lambda hit: -hit.score):
        places[hit.memory.store] += hit.kept
        over = hit.kept and places[hit.memory.store] > k
        taken.append(replace(hit, dropped="rank", why=f"not among the {k} best of its kind") if over else hit)
    return tuple(sorted(taken, key=lambda hit: not hit.kept))


def adjustments(experiment: Experiment) -> list[Adjust]:
    """What the settings of an experiment adjust."""
    fading = [fading_by(experiment.strength_days)] if experiment.strength_days else []
    return [*fading, *([drop_outside] if experiment.outside == "dropped" else [])]


def fading_by(strength_days: float) -> Adjust:
    """Multiply a score by R = exp(-t / S), t days after the memory was said, as MemoryBank forgets (Zhong et al. 2024).

    MemoryBank starts at a strength of S = 1 and adds 1 whenever a memory is recalled. Here nothing is recalled before
    the question that is asked, so that one strength holds for all, and answers do not depend on the order of the
    questions. What has no time does not fade. MemoryBank forgets by chance with a probability of 1 - R; a factor needs
    no chance.
    """

    def fade(hit: Hit, as_of: datetime, subject: Subject) -> Hit:
        said_at = hit.memory.said_at
        retention = math.exp(-((as_of - said_at) / DAY) / strength_days) if said_at else 1.0
        return replace(hit, score=hit.score * retention, scores={**hit.scores, "retention": round(retention, 4)})

    return fade


def drop_outside(hit: Hit, as_of: datetime, subject: Subject) -> Hit:
    """Drop what is not of the times that a question surely asks about (LongMemEval, section 5.4)."""
    spans = subject.sure_spans
    is_outside = spans and not any(is_of_time(hit.memory, span) for span in spans)
    return replace(hit, dropped="time", why="outside the time asked about") if is_outside else hit
