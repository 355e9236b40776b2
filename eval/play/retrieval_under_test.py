"""Retrieval under test: one history's bank, asked the same probes under many weights without a reader.

What the weights do not change is computed once a probe: the parsed message, the match of its words and vectors with
each memory, and the memories. Scoring, reranking and the time filter run anew, as the nodes of the pipeline.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
from langgraph.runtime import Runtime
from numpy.typing import NDArray

from eval.play.memory_under_test import MemoryUnderTest
from eval.play.prediction import ranking
from eval.types import Prediction, Probe, Sample
from graph.build import PIPELINE
from graph.settings import PipelineSettings
from graph.state import Ask, Services, TurnState
from memory.bank.bank import Bank
from memory.embedding.embedder import Embedder
from memory.search.scoring import Candidates, SearchSettings, Subject
from memory.search.searcher import Searcher, View
from memory.types import Memory

if TYPE_CHECKING:
    from sqlite_utils import Database

DEPTH = 50
"""Memories of each store that are ranked: enough for the ten best turns, and to see the five best sessions."""


class KeepingSearcher(Searcher):
    """A searcher that computes the candidates of a question once, for settings that differ in weights alone."""

    def __init__(self, bank: Bank, embedder: Embedder) -> None:
        super().__init__(bank, embedder)
        self._candidates_of: dict[tuple[Any, ...], tuple[Candidates, NDArray[np.bool_]]] = {}
        self._memory_of: dict[int, Memory] = {}

    def _candidates(
        self,
        db: Database,
        persona_id: int,
        index: Any,  # noqa: ANN401  # private to memory.search
        views: Sequence[View],
        as_of: datetime,
        settings: SearchSettings,
        subject: Subject,
    ) -> tuple[Candidates, NDArray[np.bool_]]:
        # With `voice`, a view of the same text has another vector; words are not looked up where they do not count.
        key = (*(view.text for view in views), as_of, subject.sure_spans, settings.voice, settings.dense_weight == 1)
        if key not in self._candidates_of:
            self._candidates_of[key] = super()._candidates(db, persona_id, index, views, as_of, settings, subject)
        return self._candidates_of[key]

    def _memories(self, db: Database, persona_id: int, ids: Sequence[int]) -> list[Memory]:
        missing = [i for i in ids if i not in self._memory_of]
        self._memory_of |= {memory.id: memory for memory in super()._memories(db, persona_id, missing)}
        return [self._memory_of[i] for i in ids]


@dataclass
class RetrievalUnderTest(MemoryUnderTest):
    """One history's bank, and what of each probe does not depend on the weights."""

    def __post_init__(self) -> None:
        super().__post_init__()
        services = self._assistant.services
        self._services = replace(services, searcher=KeepingSearcher(self._bank, services.searcher.embedder))
        self._asks: dict[str, Ask] = {}
        self._understood: dict[tuple[str, bool, bool], TurnState] = {}

    def find(self, probes: Sequence[Probe], pipeline: PipelineSettings) -> list[Sample]:
        """Rank the memories for each probe under these settings; the samples hold rankings and nothing else.

        Of the settings, only the weights of search and reranking, `views` and `voice` may differ from call to call.
        """
        self._learn()
        settings = replace(pipeline, search=replace(pipeline.search, depth=DEPTH))
        for probe in probes:
            if probe.id not in self._asks:
                self._asks[probe.id] = self._message(probe)
        return asyncio.run(self._find(probes, replace(self._services, settings=settings)))

    async def _find(self, probes: Sequence[Probe], services: Services) -> list[Sample]:
        understand, *others = PIPELINE[:-2]  # all but `read` and `persist`
        runtime, settings = Runtime(context=services), services.settings
        samples = []
        for probe in probes:
            key = (probe.id, settings.views, settings.search.voice)
            if key not in self._understood:
                asked: TurnState = {"ask": self._asks[probe.id]}
                self._understood[key] = {**asked, **await understand(asked, runtime)}
            state = self._understood[key].copy()
            for node in others:
                state.update(await node(state, runtime))
            found = ranking(state.get("hits", ()), self._ids)
            samples.append(Sample(probe, Prediction(probe.id, self.history.id, {}, found)))
        return samples
