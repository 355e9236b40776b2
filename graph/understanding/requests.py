"""Parse what a message asks for by its form: to hear again what was told, who somebody is, or to correct something."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal, cast

from graph.language.patterns import first_search, phrasing_list, phrasings
from graph.language.people import singular
from graph.understanding.sentences import split
from graph.understanding.times import denied_times, stated_time

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping

Recap = Literal["just", "today", "last time", "so far", "about me"]

_RECAPS = cast("Mapping[Recap, re.Pattern[str]]", phrasings("recaps"))
_ASKS_PERSON = phrasing_list("persons", "asks")
_IMPLIES = {"married": ("spouse", True), "single": ("partner", False), "an only child": ("sibling", False)}
"""Relation that a status implies, and whether the user then has such a person."""

LONGEST = 300
"""Most characters of a message that may correct something; a longer one tells a story."""

_FORMS = phrasings("corrections")
_CORRECTS = phrasing_list("corrections", "corrects")


@dataclass(frozen=True, slots=True)
class PersonQuestion:
    """Who is asked about: somebody of a name, or of a kind that the user has or, with `denied`, has not.

    With `called` it is the name of somebody of the kind, and without a kind the user's own.
    """

    name: str = ""
    kind: str = ""
    denied: bool = False
    called: bool = False


@dataclass(frozen=True, slots=True)
class Correction:
    """The right words, the wrong ones if the message names them, and the sentence that corrects.

    Without right words, it retracts what the wrong ones name, or the last statement.
    """

    right: str
    wrong: str
    sentence: str


def parse_recap(text: str) -> Recap | None:
    """Which recap a message asks for; None if it asks about anything in particular."""
    plain = text.replace("’", "'")
    return next((kind for kind, each in _RECAPS.items() if each.fullmatch(plain)), None)


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


def parse_correction(text: str, said_at: datetime | None = None) -> Correction | None:
    """Parse a message that corrects or retracts something; None for any other, and for questions.

    One that names a time and denies another corrects it, in whatever form: "the exam is on the 11th, not the 4th".
    """
    if len(text) > LONGEST or "?" in text:
        return None
    plain = text.replace("’", "'").strip()
    if match := _FORMS["retracts"].match(plain):
        return Correction("", (match["what"] or "").strip(), text)
    first, *rest = split(plain) or [""]
    sentence = f"{first} {rest[0]}" if rest and _FORMS["denies_alone"].fullmatch(first) else first
    day, denied = stated_time(sentence, said_at), denied_times(sentence, said_at)
    if day and len(denied) == 1:
        return Correction(day.text, denied[0].text, sentence)
    match = first_search(_CORRECTS, sentence)
    right = match["right"].strip(" ,;.!") if match else ""
    return Correction(right, (match["wrong"] or "").strip(" .!"), sentence) if match and right else None
