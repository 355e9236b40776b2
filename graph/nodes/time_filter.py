"""The node `time_filter`: drop the hits that the time asked about rules out, and those beyond the budget."""

from collections.abc import Sequence

from graph.language.patterns import pattern
from graph.state import Runtime, TraceLine, TurnState, drop
from graph.understanding.question import names_only_time
from graph.understanding.times import is_of_time
from memory.dates.expressions import TimeExpression, describe_time
from memory.types import QUESTION, SEMANTIC, SUMMARY, Hit, Memory, TimeSpan

_OF_TALK = pattern(r"\b(?:talk|spoke|speak|discuss|chat|convers|catch up|caught up)")


async def time_filter(state: TurnState, runtime: Runtime) -> TurnState:
    """Drop the hits that the time asked about rules out, then keep as many as will be read."""
    hits, settings = state.get("hits", ()), runtime.context.settings
    if not hits:
        return {}
    message = state["message"]
    window = message.subject.times if settings.time_filter else ()
    is_open = names_only_time(message.question.text, [time.text for time in window])
    is_of_talk = _OF_TALK.search(message.question.text) is not None
    if not (is_open and is_of_talk):
        # Summaries answer what was talked about, but for other questions the turns say more.
        hits = drop(hits, lambda hit: hit.memory.attribute == SUMMARY, "echo", "summary of the session")
    if any(hit.kept and hit.memory.attribute != QUESTION for hit in hits):
        hits = drop(hits, lambda hit: hit.memory.attribute == QUESTION, "echo", "only asks")
    kept, decided = drop_outside_time(hits, window, is_open=is_open, is_of_talk=is_of_talk)
    cut = within_budget(kept, settings.budget)
    line = TraceLine("time_filter", decided, {"read": sum(hit.kept for hit in cut), "candidates": len(cut)})
    return {"hits": cut, "window": window, "trace": (line,)}


def drop_outside_time(
    hits: Sequence[Hit], window: Sequence[TimeExpression], *, is_open: bool = False, is_of_talk: bool = False
) -> tuple[tuple[Hit, ...], str]:
    """Drop facts that did not hold at the time and, for an open question, all hits that are not of the time.

    An open question names a time and nothing else ("What did I do last week?"), so only the time can select: when it
    happened, if that is known, or when it was said, if it asks what was talked about. Other questions name more, and
    people speak of things days or years later: hits of the time are preferred by their score, and none is dropped. A
    weak filter that loses evidence is worse than none (LongMemEval, Wu et al. 2025, table 11).
    """
    if not window:
        return tuple(hits), "the question names no time"
    named = " and ".join(describe_time(w) for w in window)
    by_event = is_open and not is_of_talk
    inside = {hit.memory.id for hit in hits if hit.kept and any(_is_of(hit.memory, w.span, by_event) for w in window)}
    if not inside:
        return tuple(hits), f"nothing of the time named ({named}): all kept"
    if not is_open and not all(w.sure for w in window):
        return tuple(hits), f"perhaps {named}: all kept; memories from that time rank higher"

    def is_ruled_out(hit: Hit) -> bool:
        return hit.memory.id not in inside and (is_open or hit.memory.store in SEMANTIC)

    remaining = drop(hits, is_ruled_out, "time", f"not of the time named: {named}")
    kept = f"{named}: kept {sum(hit.kept for hit in remaining)} of {len(hits)}"
    return remaining, kept if is_open else f"{kept}; memories from that time rank higher"


def _is_of(memory: Memory, span: TimeSpan, by_event: bool) -> bool:
    return memory.event.overlaps(span) if by_event and memory.event is not None else is_of_time(memory, span)


def within_budget(hits: Sequence[Hit], budget: int) -> tuple[Hit, ...]:
    """Keep the first `budget` hits, and all that are pinned."""
    beyond = {hit.memory.id for hit in [hit for hit in hits if hit.kept][budget:] if not hit.memory.pinned}
    return drop(hits, lambda hit: hit.memory.id in beyond, "budget", f"below the {budget} best")
