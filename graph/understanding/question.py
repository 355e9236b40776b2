"""Parse a question by its words: what it expects as an answer, and what it names."""

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from graph.language.patterns import any_word, pattern
from graph.language.people import ADDRESSEE, SPEAKER
from memory.search.tokens import FUNCTION_WORDS, content_terms, terms

Expects = Literal["time", "ago", "duration", "number", "person", "place", "yes or no", "thing"]

_PASSED = "(?:is it|has it been|(?:have|has) (?:passed|gone by)|passed)"
_LEFT = "(?:(?:left|more|now|to go|is it|are there|is left|are left|do (?:i|we) have) ){0,3}"

REQUEST = (
    r"\W*(?:(?:and|so|but|ok|okay|hey|please|wait|sorry)\W+)?(?:(?:do|can|could|would|will) (?:you|u) (?:\w+ )?)?"
    r"(?:know|remember|recall|(?:tell|remind|show|give) me)\b"
)
"""Begins what asks for something in the form of another question: "can you remind me what I'm allergic to"."""

_OF_ASKING = pattern(
    rf"\A{REQUEST}|\b(?:can|could|would|will) (?:you|u)\b"
    r"|\b(?:you|u) (?:\w+ )?(?:know|knew|remember|recall|think|thought|mean|said|say|told|tell|suggest|recommend)\b"
)
"""Words to the persona that do not ask about it."""

_OTHER_WH = r"\b(?:who|whom|whose|what|which|where|why|how)\b"
_WHEN = (
    rf"^(?!\W*<AUXILIARY> (?!(?:you|u)\b))(?:(?!{_OTHER_WH}).)*?\bwhen\b"
    rf"(?!.*, ?(?:{_OTHER_WH}|(?:did|do|does|have|has|had) (?:i|you|he|she|it|we|they|my|the)\b))"
)
"""Asks when; in "who helped me when I fell" and "when I fell, who helped?" the word only begins a clause."""

_EXPECTS: Mapping[Expects, re.Pattern[str]] = {
    "ago": pattern(rf"<HOW_LONG> (?:ago\b|{_PASSED}\b.{{0,99}}?\bsince\b|{_LEFT}(?:un)?till?\b)"),
    "duration": any_word("how long"),
    "time": pattern(
        rf"(?s:{_WHEN})|\b(?:what|which) (?:date|day|month|year|time|week|season)\b"
        r"|什么时候|什么时间|何时|哪(?:一?天|年|个月)|几[月号]"
    ),
    "number": any_word("how (?:many|much|old|often|far|tall|big)"),
    "person": any_word("who(?:m|se)?"),
    "place": any_word("where|(?:what|which) (?:city|country|place|town)"),
    "yes or no": pattern(rf"^(?!{REQUEST})\W*<AUXILIARY>\b"),
}

_FRAME = frozenset(
    terms(
        """remember remind recall know tell told say said mention talk discuss ask name kind type sort date day time
        year month week many much long old often ago thing please happen happened now today still ever already again yet
        since currently recently lately anything something everything plan planned plans diary calendar"""
    )
)
"""Words that ask rather than name the subject; a memory that answers need not contain them."""

ASKING = _FRAME | frozenset(terms(" ".join(FUNCTION_WORDS)))
"""All terms that ask rather than name the subject."""

FRAME_WEIGHT = 0.15

MAX_TERMS = 64
"""Most terms that are weighted."""

_NAME = re.compile(r"(?<![.!?…]\s)(?<!^)(?<!^[\"'“‘])\b[A-Z][\w’'-]+")
_NO_NAME = pattern("i(?:'(?:m|ve|d|ll))?|<WEEKDAY>|<MONTH_NAME>|<TITLE>")


@dataclass(frozen=True, slots=True)
class Question:
    """A parsed question.

    `weights` maps each content term to its weight, `unknown_names` are its proper names that no memory contains. With
    `only_time`, it names a time and nothing else.
    """

    text: str
    expects: Expects
    weights: Mapping[str, float]
    unknown_names: tuple[str, ...]
    only_time: bool


def names_something(text: str) -> bool:
    """Whether a question names a subject."""
    return bool(frozenset(terms(text)) - ASKING)


def names_only_time(text: str, times: Collection[str]) -> bool:
    """Whether a question names these times and nothing else: "What did I do last week?"."""
    timed = frozenset(term for expression in times for term in terms(expression))
    return bool(timed) and timed | ASKING >= frozenset(terms_of(text))


def asks_of_persona(text: str) -> bool:
    """Whether a question is about the one who is asked ("where do you live?"), and not about the one who asks."""
    rest = _OF_ASKING.sub(" ", text)
    return ADDRESSEE.search(rest) is not None and SPEAKER.search(rest) is None


def expected(text: str) -> Expects:
    """What a question expects as an answer."""
    return next((kind for kind, each in _EXPECTS.items() if each.search(text)), "thing")


def terms_of(text: str) -> list[str]:
    """The terms whose frequency `parse` needs."""
    return content_terms(text)[:MAX_TERMS]


def parse(text: str, total: int, frequency: Mapping[str, int], times: Collection[str] = ()) -> Question:
    """Parse a question.

    `frequency` says how many of the `total` memories contain each of its terms. The words of `times`, the time
    expressions in it, are not terms: a memory is of that time by its date, not by naming it.
    """
    timed = frozenset(term for expression in times for term in terms(expression))
    weights = {
        term: math.log(1 + total / (1 + frequency.get(term, 0))) * (FRAME_WEIGHT if term in _FRAME else 1.0)
        for term in terms_of(text)
        if term not in timed
    }
    names = {name: parts for name, parts in proper_names(text).items() if not timed.issuperset(parts)}
    unknown_names = tuple(word for word, parts in names.items() if not any(frequency.get(t, 0) for t in parts))
    return Question(text, expected(text), weights, unknown_names, names_only_time(text, times))


def proper_names(text: str) -> dict[str, list[str]]:
    """The capitalised words within sentences, except months, weekdays and function words, with their terms."""
    words = (re.sub(r"['’]s$", "", w) for w in _NAME.findall(text))
    return {w: terms(w) for w in words if not _NO_NAME.fullmatch(w) and w.lower() not in FUNCTION_WORDS}
