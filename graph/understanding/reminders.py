"""What a message asks to be reminded of, and what it tells without its time."""

from datetime import datetime

from graph.understanding.times import times_in
from memory.search.tokens import words

_REMIND = "remind me "
_ASKING = frozenset("and also oh so then ok okay hey hi please pls can could will would you u just i need to".split())
"""Words that may come before it where a reminder is asked for: "can you please remind me to call Ben"."""
_LEADING_TO_TIME = frozenset("on in at by for the this".split())
_NEEDING_TIME = frozenset("is are was be it's its that's thats to from until till before after since of and or".split())


def asked_reminder(text: str, said_at: datetime | None = None) -> str:
    """What a sentence asks to be reminded of: "call Ben" of "remind me on Friday to call Ben"; empty for any other."""
    if _REMIND not in text.lower():
        return ""
    untimed = without_time(text, said_at)
    place = untimed.lower().find(_REMIND)
    first, _, what = untimed[place + len(_REMIND) :].partition(" ")
    is_asked = place >= 0 and first in ("to", "about", "that") and _ASKING.issuperset(words(untimed[:place]))
    return what.rstrip(" ?.!") if is_asked else ""


def without_time(text: str, said_at: datetime | None) -> str:
    """A sentence without the only time that it names, unless it needs it ("the party is on Friday")."""
    times = times_in(text, said_at)
    if len(times) != 1 or times[0].relation != "in":
        return text
    before, after = text[: times[0].start].split(), text[times[0].end :]
    while before and before[-1].lower() in _LEADING_TO_TIME:
        before.pop()
    rest = f"{' '.join(before)}{after}".strip(" ,")
    return text if not rest or (before and before[-1].lower() in _NEEDING_TIME) else rest
