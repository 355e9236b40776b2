"""Which plans still hold, by what was told after them: "Porto is off", "the school says June instead"."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from graph.readers.line_reader import Line
from graph.state import USER, Services
from memory.bank.queries.told import upcoming
from memory.search.scoring import SearchSettings
from memory.types import Memory

CONSIDERED = 50
"""Plans at most of which it is asked whether they hold."""

LOOKED_AT, READ = 50, 6
"""Lines nearest in meaning to a plan among which those told after it are looked for, and how many of these are read."""

HOLDS = 0.4
"""Probability below which a line ends a plan: of the lines held out that leave one, near as they are, 2 % are below."""


def ahead(persona_id: int, as_of: datetime, services: Services) -> Iterator[Memory]:
    """What was told of the days after a moment and still holds, the next first."""
    yield from holding(upcoming(services.bank, persona_id, as_of, CONSIDERED), persona_id, as_of, services)


def holding(plans: Sequence[Memory], persona_id: int, as_of: datetime, services: Services) -> Iterator[Memory]:
    """The plans that nothing which the same person told later has ended or moved, by the trained reader."""
    settings = SearchSettings(k=LOOKED_AT, dense_weight=1.0)
    for plan, view in zip(plans, services.searcher.views([plan.text for plan in plans]), strict=True):
        near = services.searcher.search(persona_id, [view], as_of, settings)
        told = (hit.memory for hit in near if hit.memory.store == "dialogue" and hit.memory.speaker == plan.speaker)
        later = [memory for memory in told if memory.said_at and plan.said_at and memory.said_at > plan.said_at]
        lines = [Line(memory.text, USER, memory.said_at and memory.said_at.date()) for memory in later[:READ]]
        if all(found.holds >= HOLDS for found in services.line_reader.read(plan.text, as_of.date(), lines)):
            yield plan
