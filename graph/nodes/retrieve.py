"""Which memories may bear on it?"""

from __future__ import annotations

from collections import Counter

from langgraph.runtime import Runtime

from graph.state import Services, TraceLine, TurnState


def retrieve(state: TurnState, runtime: Runtime[Services]) -> TurnState:
    """Find the best candidates of every store that the persona knew of by then.

    What is told is looked up, too: a state or a scene may bring back a memory that nobody asked for.
    """
    ask, message, services = state["ask"], state["message"], runtime.context
    settings = services.settings
    during = [time.span for time in message.times if time.sure] if settings.time_filter else []
    hits = services.searcher.search(ask.persona.id, message.views, ask.as_of, settings.search, during)
    found = Counter(hit.memory.store for hit in hits if hit.kept)
    listed = ", ".join(f"{n} {store}" for store, n in found.items()) or "nothing"
    return {
        "hits": hits,
        "trace": (TraceLine("retrieve", f"found {listed}", {str(store): n for store, n in found.items()}),),
    }
