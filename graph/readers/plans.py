"""Answer what is on at a time ahead by the plans that still hold ("What's on this week?").

Whether a plan holds is read from what was told after it: "Porto is off", "the school says June instead".
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice

from graph.language.patterns import phrasings
from graph.readers.line_reader import Line
from graph.replies.facts import cite_all
from graph.replies.recaps import say_plan
from graph.state import USER, Ask, Reading, Services
from graph.understanding.times import times_in
from memory.bank.queries.told import upcoming
from memory.dates.expressions import TimeExpression
from memory.search.scoring import SearchSettings
from memory.types import Memory, TimeSpan

OF_TIMES, LISTED = 200, 8
"""Plans among which those of the times asked about are looked for, and most of these that are listed."""

A_WEEK = timedelta(days=7)
"""Longest plan of a day or a few: what is to be "in December" is none."""

NOTHING_THEN = "I know of nothing then. The next that I know of:"

CONSIDERED = 50
"""Plans at most of which it is asked whether they hold."""

LOOKED_AT, READ = 50, 2
"""Lines nearest in meaning to a plan among which those told after it are looked for, and how many of these are read: of
more, one ended most plans in the end, and what ends one is mostly the nearest."""

HOLDS = 0.4
"""Probability below which a line ends a plan: of the lines held out that leave one, and of those that end another, 1 %
are below."""


def asks_of_plans(question: str, window: Sequence[TimeExpression], ask: Ask) -> bool:
    """Whether a question may be about plans: it names times that are not over, and does not ask what has been."""
    is_ahead = bool(window) and all(time.span.end > ask.as_of for time in window)
    return is_ahead and not (ask.handed_in or ask.only_found or phrasings("question")["what_happened"].search(question))


def of_times(window: Sequence[TimeExpression], ask: Ask, services: Services) -> list[Memory]:
    """The plans that hold and are of the times asked about."""

    def is_then(event: TimeSpan) -> bool:
        longest = max(A_WEEK, *(time.span.end - time.span.start for time in window))
        return event.end - event.start <= longest and any(event.overlaps(time.span) for time in window)

    told = upcoming(services.bank, ask.persona.id, ask.as_of, OF_TIMES)
    of_then = [memory for memory in told if memory.event and is_then(memory.event)][:LISTED]
    return list(holding(of_then, ask.persona.id, ask.as_of, services))


def list_plans(planned: Sequence[Memory], ask: Ask, first: str = "") -> Reading:
    """The plans after a first line, each with its day and its source."""
    return cite_all([(memory, say_plan(memory, ask.as_of)) for memory in planned], first, "\n")


def whats_on(
    planned: Sequence[Memory], told: Iterable[Memory], window: Sequence[TimeExpression], ask: Ask, services: Services
) -> Reading | None:
    """What is on at the times asked about: the plans of then, or else the next one.

    None if there is no plan, or if something told names these times, which is no plan but may answer ("at Easter").
    """
    if planned:
        return list_plans(planned, ask)
    named = (time.span for memory in told for time in times_in(memory.text, memory.said_at))
    if any(span.overlaps(time.span) for span in named for time in window):
        return None
    following = list(islice(ahead(ask.persona.id, ask.as_of, services), 1))
    return list_plans(following, ask, NOTHING_THEN) if following else None


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
