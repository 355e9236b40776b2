"""Give the reader something else than what the memory finds: nothing, everything, the latest, the evidence, all but it,
or the candidates of a benchmark.

These bound what retrieval contributes: "nothing" is the reader alone, "oracle" is retrieval that never fails.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

from eval.runs.experiment import ReaderInput
from memory.bank.bank import Bank
from memory.embedding.embedder import Embedder
from memory.search.scoring import SearchSettings, Subject
from memory.search.searcher import Searcher, View
from memory.types import Hit, Memory

WHOLE = ("everything", "recent")
"""What leaves no memory out."""


class EvidenceSearcher(Searcher):
    """Returns a fixed selection of memories, in order of time, scored by the cosine to the question.

    "recent" scores them by their place in time, so that a chat model reads as many of the latest as it can. "wrong" is
    what the memory finds, in its order, without the evidence. `is_named` tells which memories are evidence for the
    current question, or candidates in a setting of the benchmark; set it before each.
    """

    def __init__(self, bank: Bank, embedder: Embedder, instead: ReaderInput) -> None:
        super().__init__(bank, embedder)
        self.instead = instead
        self.is_named: Callable[[Memory], bool] = lambda memory: False

    def search(
        self,
        persona_id: int,
        views: Sequence[View],
        as_of: datetime,
        settings: SearchSettings | None = None,
        subject: Subject | None = None,
    ) -> tuple[Hit, ...]:
        """Select from the memories that were known by `as_of`."""
        if self.instead == "nothing" or not views:
            return ()
        if self.instead == "wrong":
            found = super().search(persona_id, views, as_of, settings, subject)
            return tuple(hit for hit in found if not self.is_named(hit.memory))
        known = [m for m in self.bank.memories(persona_id) if m.said_at is None or m.said_at <= as_of]
        wanted = known if self.instead in WHOLE else [m for m in known if self.is_named(m)]
        wanted.sort(key=lambda m: (m.said_at.timestamp() if m.said_at else 0.0, m.id))
        if self.instead == "recent":
            return tuple(Hit(m, place / len(wanted), {}) for place, m in enumerate(wanted, start=1))
        vectors = self.embedder.encode_document([m.key for m in wanted])
        near = (vectors @ views[0].vector).tolist()
        return tuple(Hit(m, float(s), {"dense": round(float(s), 4)}) for m, s in zip(wanted, near, strict=True))
