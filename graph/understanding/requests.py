"""Parse what a message asks for by its form: to hear again what was told, who somebody is, or to correct something."""

from dataclasses import dataclass
from typing import Literal

from graph.language.patterns import first_search, pattern, patterns
from graph.language.people import singular
from graph.understanding.question import REQUEST
from graph.understanding.sentences import split

Recap = Literal["just", "today", "last time", "so far", "about me"]

_FRAME = (
    r"\W*(?:(?:and|so|ok|okay|hey|sorry|wait)\W+)?(?:(?:remind|tell) me |do you remember |can you tell me )?"
    r"(?:what|wat)(?: was it| is it)?(?: all)? (?:(?:did|have|had|do) )?(?:(?:i|we)(?:'ve|'d)?|ive|weve)"
)
_TALKED = "(?:talk|chat|spok|speak|discuss)(?:e|en|ed|ing)?"
_SAID = (
    rf"(?: (?:just|already|actually|even|last|both|been))*(?: (?:tell|told|say|said|mention(?:ed)?|{_TALKED}))"
    r"(?: about)?(?: to)?(?: (?:you|u|each other))?(?: about)?"
)
_RECAPS: tuple[tuple[Recap, str], ...] = (
    ("just", rf"{_FRAME} just{_SAID}"),
    ("so far", rf"{_FRAME} {_TALKED}(?: about)?(?: so far)?"),
    (
        "so far",
        r"\W*(?:(?:so|ok|and)\W+)?(?:what|wat)(?:'?s| is| was| were)(?: all)?(?: the)? (?:(?:new|going on|up|happening)"
        r"(?: with me| in my life)|(?:my|our)(?: (?:last|latest))? news)(?: again| lately| so far)?",
    ),
    (
        "about me",
        r"\W*(?:(?:so|ok|tell me|show me)\W+)?(?:what(?:'s)?|wat|everything|all|anything)(?: all| else| do| does)*"
        r"(?: you| u)? (?:know|remember|learn(?:ed|t)?|have)(?: (?:on|about|of)) me(?: so far| now| by now)?",
    ),
    ("today", rf"{_FRAME}{_SAID}(?: so far)? (?:today|this (?:morning|afternoon|evening)|earlier today|so far today)"),
    (
        "last time",
        rf"{_FRAME}{_SAID}(?: the)? (?:last (?:time|chat|conversation|session)|previously|before(?: this| today)?"
        r"|in (?:our|the) (?:last|previous) (?:chat|conversation|session|talk)|when we last (?:spoke|talked|chatted))",
    ),
    ("just", rf"{_FRAME}{_SAID} (?:just now|right now|a (?:moment|minute|second) ago|now)"),
)
_ASKS_RECAP = [(kind, pattern(rf"\A{source}\W*\Z")) for kind, source in _RECAPS]

_LEAD = rf"\A(?:{REQUEST} |\W*(?:(?:and|so|but|ok|hey|wait|sorry)\W+)?)"
_NAME = (
    r"(?P<name>(?!(?:my|our|your|the|an?|this|that|these|those|s?he|it|they|you|u|i|we|there|in|on|at|to|me|going)\b)"
    r"[^\W\d_][\w.'-]*(?: [^\W\d_][\w.'-]*){0,2}?)"
)
_KIND = "<QUALITY>(?P<kind>(?:<SOMEBODY>|<ANIMALS>|sibling|pet|animal|parent|children)s?)"
_END = r"(?: again| then| at all| or not)?\W*\Z"
_ASKS_PERSON = patterns(
    rf"\A{REQUEST} (?:my|our) {_KIND}(?P<called>'?s? names?){_END}",
    *(
        rf"{_LEAD}{source}{_END}"
        for source in (
            rf"who(?:'?s| is| was) {_NAME}(?: to me)?",
            rf"who {_NAME} (?:is|was)(?: to me)?",
            rf"what(?:'?s| is| was) {_NAME} to me",
            rf"what(?:'?s| is| was) (?:my|our) {_KIND}(?P<called>'? names?|(?:'s)? names?| called| named)",
            r"(?P<called>what(?:'?s| is) my (?:own |first |full |given )?name|what am i called|who am i"
            r"|what (?:should|do) (?:you|u) call me)",
            r"(?:(?:if )?(?:i|we) have|do (?:i|we)(?: actually| even| still)? have|have (?:i|we)(?: got)?)"
            rf"(?: any| an?| some)? {_KIND}",
            "am i (?:really |still )?(?P<status>married|single|an only child)",
        )
    ),
)
_IMPLIES = {"married": ("spouse", True), "single": ("partner", False), "an only child": ("sibling", False)}
"""Relation that a status implies, and whether the user then has such a person."""

LONGEST = 300
"""Most characters of a message that may correct something; a longer one tells a story."""

_DENIES = (
    r"(?:\b(?:no|nope|sorry|oops|wait|actually|correction|hm+|not quite|that(?:'s| is| was) (?:wrong|not right))\b\W+)"
)
_DENIES_ALONE = pattern(rf"\W*{_DENIES}{{1,3}}")
_NOT = r"(?: i mean(?:t)?)?(?:[,;]? (?:and )?(?:not|instead of|rather than) (?P<wrong>[^,;]{1,80}?))?\W*$"
_SAYING = r"(?:what )?(?:I|we) (?:said|meant|mean)(?: was| to say)?(?: that)?[:,]? (?P<right>.{1,160}?)"
_CORRECTS = patterns(
    rf"^\W*{_DENIES}{{0,3}}{_SAYING}{_NOT}",
    rf"^\W*{_DENIES}{{1,3}}(?:it|that|this|he|she|they)(?:'s| is| was| were| should be| should have been| has to be) "
    rf"(?P<right>.{{1,80}}?){_NOT}",
    rf"^\W*{_DENIES}{{1,3}}(?:make|change) (?:it|that)(?: to)? (?P<right>.{{1,80}}?){_NOT}",
    r"^\W*(?:it|that|this)(?:'s| is| was)(?P<right> .{1,80}?)[,;]? (?:and )?not (?P<wrong>[^,;]{1,80}?)\W*$",
    r"^\W*(?:no\W+)?not (?P<wrong>[^,;]{1,80}?)[,;]? (?:but )?(?P<right>[^,;]{1,80}?)\W*$",
    rf"^\W*{_DENIES}{{1,3}}(?P<right>[^,;]{{1,80}}?)[,;] (?:and )?not (?P<wrong>[^,;]{{1,80}}?)\W*$",
    rf"^\W*{_DENIES}{{1,3}}(?!(?:I|we|my|our|he|she|they|it|you|there)\b)"
    rf"(?P<right>(?:(?:on|in|at|the) )?[\w:.-]+(?: [\w:.-]+){{0,3}}){_NOT}",
)
_RETRACTS = pattern(
    r"^\W*(?:(?:please|ok|okay|oh|no|actually|sorry|and|just|you can|you should)\b\W*)*"
    r"(?:forget|scratch|strike|unsay|disregard|ignore|don't remember|take back)"
    r"(?: about)? (?:(?:that|it|this|what I(?: just| have)? (?:said|told you))(?: please| again)?\W*$"
    r"|(?:(?:that|what I(?: just| have)? (?:said|told you)(?: about| that)?|about|it that) )?(?P<what>.{3,160}?)\W*$)"
)


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
    """The right words, the wrong ones if the message names them, and the sentence that corrects."""

    right: str
    wrong: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Retraction:
    """The words that name what to retract, empty for the last statement; and the sentence that retracts."""

    what: str
    sentence: str


def parse_recap(text: str) -> Recap | None:
    """Which recap a message asks for; None if it asks about anything in particular."""
    plain = text.replace("’", "'")
    return next((kind for kind, each in _ASKS_RECAP if each.match(plain)), None)


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


def parse_correction(text: str) -> Correction | Retraction | None:
    """Parse a message that corrects or retracts something; None for any other, and for questions."""
    if len(text) > LONGEST or "?" in text:
        return None
    plain = text.replace("’", "'").strip()
    if match := _RETRACTS.match(plain):
        return Retraction((match["what"] or "").strip(), text)
    first, *rest = split(plain) or [""]
    sentence = f"{first} {rest[0]}" if rest and _DENIES_ALONE.fullmatch(first) else first
    match = first_search(_CORRECTS, sentence)
    if match is None:
        return None
    return Correction(match["right"].strip(" ,;.!"), (match["wrong"] or "").strip(" .!"), sentence)
