"""Say what the user plans, and find what they ask to be reminded of."""

from datetime import datetime

from graph.replies.second_person import said_to_user
from graph.state import USER
from graph.understanding.sentences import capitalise, split
from graph.understanding.times import describe_ahead, describe_plan, times_in
from memory.formatting import clip
from memory.search.tokens import words
from memory.types import Memory

_REMIND = "remind me "
_ASKING = frozenset("and also oh so then ok okay hey hi please pls can could will would you u just i need to".split())
"""Words that may come before it where a reminder is asked for: "can you please remind me to call Ben"."""
_LEADING_TO_TIME = frozenset("on in at by for the this".split())
_NEEDING_TIME = frozenset("is are was be it's its that's thats to from until till before after since of and or".split())


def asked_reminder(text: str, said_at: datetime | None) -> str:
    """What a sentence asks to be reminded of: "call Ben" of "remind me on Friday to call Ben"; empty for any other."""
    untimed = _without_time(text, said_at)
    place = untimed.lower().find(_REMIND)
    first, _, what = untimed[place + len(_REMIND) :].partition(" ")
    is_asked = place >= 0 and first in ("to", "about", "that") and _ASKING.issuperset(words(untimed[:place]))
    return what if is_asked else ""


def say_plan(plan: Memory, now: datetime) -> str:
    """What is ahead as it is said to the user, after its day: "Saturday: You see the dentist."; of others, quoted."""
    named = (text for text in split(plan.text) if any(t.span == plan.event for t in times_in(text, plan.said_at)))
    text = next(named, plan.text)
    said = said_to_user(asked_reminder(text, plan.said_at) or _without_time(text, plan.said_at))
    if plan.speaker != USER or plan.event is None or not said:
        return describe_plan(plan, now)
    return f"{capitalise(describe_ahead(plan.event, now))}: {clip(said)}"


def _without_time(text: str, said_at: datetime | None) -> str:
    """A sentence without the only time that it names, unless it needs it ("the party is on Friday")."""
    times = times_in(text, said_at)
    if len(times) != 1 or times[0].relation != "in":
        return text
    before, after = text[: times[0].start].split(), text[times[0].end :]
    while before and before[-1].lower() in _LEADING_TO_TIME:
        before.pop()
    rest = f"{' '.join(before)}{after}".strip(" ,")
    return text if not rest or (before and before[-1].lower() in _NEEDING_TIME) else rest
