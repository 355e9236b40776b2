"""The node `retrieve`: find the candidates of every store."""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from graph.state import Runtime, TraceLine, TurnState
from memory.search.names import to_first_person
from memory.search.scoring import FACTORS, SearchSettings, Subject
from memory.search.searcher import View
from memory.types import Hit


async def retrieve(state: TurnState, runtime: Runtime) -> TurnState:
    """Find the best candidates of every store that the persona knew of by then.

    Statements are looked up, too: a feeling or a scene may bring up a memory that nobody asked for.
    """
    ask, message, services = state["ask"], state["message"], runtime.context
    settings = services.settings
    subject = message.subject if settings.time_filter else replace(message.subject, times=())
    hits = await asyncio.to_thread(
        services.searcher.search, ask.persona.id, message.views, ask.as_of, settings.search, subject
    )
    counts = Counter(hit.memory.store for hit in hits if hit.kept)
    listed = ", ".join(f"{n} {store}" for store, n in counts.items()) or "nothing"
    line = TraceLine("retrieve", f"found {listed}", {str(store): n for store, n in counts.items()})
    return {"hits": hits, "trace": (line, *_factors(subject, message.views, hits, settings.search))}


def _factors(
    subject: Subject, views: Sequence[View], hits: Sequence[Hit], settings: SearchSettings
) -> Iterator[TraceLine]:
    """A trace line for each scoring factor that changed a score, beside the match of each memory alone."""
    whose = " and ".join(subject.names) or ("you" if subject.about_self else "")
    if len(views) > 1:
        decided = f"searched in {len(views)} phrasings, including the previous messages"
        yield TraceLine("views", decided, {"views": len(views)})
    if settings.voice and subject.names:
        yield TraceLine("voice", f"rephrased as {to_first_person(views[0].text, subject.names)!r}")
    share = min((hit.scores.get("meaning", 1.0) for hit in hits), default=1.0)  # what was handed in has none
    if share < settings.dense_weight:
        decided = f"the embedding model does not know all words, so meaning counts for {share:.0%}"
        yield TraceLine("meaning", decided, {"meaning": share})
    for name, factor in FACTORS.items():
        raised = sum(hit.scores.get(name, 0.0) > 0 for hit in hits if hit.kept)
        if raised:
            yield TraceLine(name, factor.explain(getattr(settings, name), whose), {"raised": raised})
