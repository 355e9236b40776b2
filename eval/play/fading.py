"""Let memories fade with time, by the forgetting curve of MemoryBank (Zhong et al. 2024)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from memory.bank.bank import Bank
from memory.embedding.embedder import Embedder
from memory.search.scoring import SearchSettings, Subject
from memory.search.searcher import Searcher, View
from memory.types import Hit, Store

DAY = timedelta(days=1)


class FadingSearcher(Searcher):
    """Multiplies the score of a memory by R = exp(-t / S), t days after it was said; S is the strength.

    MemoryBank starts at S = 1 and adds 1 whenever a memory is recalled. Here nothing is recalled before the question
    that is asked, so that one strength holds for all, and answers do not depend on the order of the questions. What has
    no time does not fade. MemoryBank forgets by chance with a probability of 1 - R; a factor needs no chance.
    """

    def __init__(self, bank: Bank, embedder: Embedder, strength_days: float) -> None:
        super().__init__(bank, embedder)
        self.strength_days = strength_days

    def search(
        self,
        persona_id: int,
        views: Sequence[View],
        as_of: datetime,
        settings: SearchSettings | None = None,
        subject: Subject | None = None,
    ) -> tuple[Hit, ...]:
        """The best k memories of each store, of those that are ranked at all, once they have faded."""
        settings = settings or SearchSettings()
        ranked = replace(settings, k=max(settings.k, settings.depth))
        faded = [self._fade(hit, as_of) for hit in super().search(persona_id, views, as_of, ranked, subject)]
        faded.sort(key=lambda hit: -hit.score)
        places: Counter[Store] = Counter()
        hits = []
        for hit in faded:
            places[hit.memory.store] += 1
            is_read = places[hit.memory.store] <= settings.k
            why = f"not among the {settings.k} best of its kind"
            hits.append(hit if is_read else replace(hit, dropped="rank", why=why))
        return tuple(sorted(hits, key=lambda hit: not hit.kept))

    def _fade(self, hit: Hit, as_of: datetime) -> Hit:
        said_at = hit.memory.said_at
        retention = math.exp(-((as_of - said_at) / DAY) / self.strength_days) if said_at else 1.0
        return replace(hit, score=hit.score * retention, scores={**hit.scores, "retention": round(retention, 4)})
