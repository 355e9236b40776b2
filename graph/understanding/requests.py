"""Parse what a message asks for by its form: to hear what was told, who somebody is, to be reminded, to forget."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, cast

from graph.language.patterns import first_search, phrasing_list, phrasings
from graph.language.people import singular
from graph.understanding.sentences import split
from graph.understanding.times import times_in
from memory.search.tokens import FUNCTION_WORDS, words

Recap = Literal["just", "today", "last time", "so far", "about me"]

_ASKS_PERSON = phrasing_list("persons", "asks")
_IMPLIES = {"married": ("spouse", True), "single": ("partner", False), "an only child": ("sibling", False)}
"""Relation that a status implies, and whether the user then has such a person."""

LONGEST = 300
"""Most characters of a message that may correct or retract something; a longer one tells a story."""

_RETRACTS = phrasings("corrections")["retracts"]

_REMIND = "remind me "
_ASKING = frozenset("and also oh so then ok okay hey hi please pls can could will would you u just i need to".split())
"""Words that may come before it where a reminder is asked for: "can you please remind me to call Ben"."""
_LEADING_TO_TIME = frozenset("on in at by for the this".split())
_NEEDING_TIME = frozenset("is are was be it's its that's thats to from until till before after since of and or".split())


@dataclass(frozen=True, slots=True)
class PersonQuestion:
    """Who is asked about: somebody of a name, or of a kind that the user has or, with `denied`, has not.

    With `called` it is the name of somebody of the kind.
    """

    name: str = ""
    kind: str = ""
    denied: bool = False
    called: bool = False


def parse_recap(text: str) -> Recap | None:
    """Which recap a message asks for; None if it asks about anything in particular."""
    plain = text.replace("’", "'")
    return next((cast("Recap", kind) for kind, each in phrasings("recaps").items() if each.fullmatch(plain)), None)


def parse_person(text: str) -> PersonQuestion | None:
    """Whom a message asks about in its last sentence; None if it asks neither who somebody is nor whom the user has."""
    match = first_search(_ASKS_PERSON, next(reversed(split(text.replace("’", "'"))), ""))
    if match is None:
        return None
    found = match.groupdict("")
    if status := found.get("status", "").lower():
        kind, has = _IMPLIES[status]
        return PersonQuestion(kind=kind, denied=not has)
    name, kind = found.get("name", "").removesuffix("'s"), singular(found.get("kind", ""))
    return PersonQuestion(name, kind, called="called" in found)


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
    led = len(before)
    while before and before[-1].lower() in _LEADING_TO_TIME:
        before.pop()
    following = words(after)[:1] if after[:1] == " " else []
    if len(before) < led and not FUNCTION_WORDS.issuperset(following):  # "for Sunday lunch"
        return text
    rest = f"{' '.join(before)}{after}".strip(" ,")
    return text if not rest or (before and before[-1].lower() in _NEEDING_TIME) else rest


def parse_retraction(text: str) -> str | None:
    """What a message asks to forget, empty for what was said last; None if it asks for nothing of the kind."""
    if len(text) > LONGEST or "?" in text:
        return None
    match = _RETRACTS.match(text.replace("’", "'").strip())
    return (match["what"] or "").strip() if match else None
