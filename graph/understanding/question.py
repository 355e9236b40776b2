"""What a question asks for, as far as its words tell."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from memory.search import tokens as lexical

Expects = Literal["time", "ago", "duration", "number", "person", "place", "yes or no", "thing"]

_SPAN = r"\bhow (?:long|many (?:day|week|month|year)s)"

_EXPECTS: tuple[tuple[Expects, re.Pattern[str]], ...] = (
    (
        "ago",
        re.compile(
            rf"{_SPAN} (?:ago\b|(?:is it|has it been|(?:have|has) (?:passed|gone by)|passed)\b.{0, 99}?\bsince\b)", re.I
        ),
    ),
    ("duration", re.compile(r"\bhow long\b", re.I)),
    (
        "time",
        re.compile(r"\bwhen\b|\b(?:what|which) (?:date|day|month|year|time|week|season)\b", re.I),
    ),
    ("number", re.compile(r"\bhow (?:many|much|old|often|far|tall|big)\b", re.I)),
    ("person", re.compile(r"\bwho(?:m|se)?\b", re.I)),
    ("place", re.compile(r"\bwhere\b|\b(?:what|which) (?:city|country|place|town)\b", re.I)),
    (
        "yes or no",
        re.compile(r"^\W*(?:did|do|does|have|has|had|is|are|was|were|am|can|could|will|would|should)\b", re.I),
    ),
)

_FRAME = frozenset(
    lexical.terms(
        """remember remind recall know tell told say said mention talk discuss ask name kind type sort date day time
        year month week many much long old often ago thing please happen happened now today still ever already again yet
        since currently recently lately"""
    )
)
"""Words that put the question rather than name what it is about; a memory that answers need not hold them."""

ASKING = _FRAME | frozenset(lexical.terms(" ".join(lexical.FUNCTION_WORDS)))
"""All terms that ask and do not name."""

FRAME_WEIGHT = 0.15

MAX_TERMS = 64
"""Terms looked at; a pasted page is no sharper a question."""

_OF_USER = re.compile(r"\b(?:i|my|me|mine|we|our|us)\b", re.I)
_NAME = re.compile(r"(?<![.!?…]\s)(?<!^)(?<!^[\"'“‘])\b[A-Z][\w’'-]+")
_NO_NAME = frozenset(
    """i i'm i've i'd i'll monday tuesday wednesday thursday friday saturday sunday january february march april may
    june july august september october november december mr mrs ms dr""".split()
)


@dataclass(frozen=True, slots=True)
class Question:
    """A question taken apart.

    `weights` maps each content term to how telling it is, `names` are the terms of the proper names in it, `unheard`
    those names that no memory holds, `of_user` says that it is about the one who asks ("I", "my"), and `timed` that it
    names a time.
    """

    text: str
    expects: Expects
    weights: Mapping[str, float]
    names: frozenset[str]
    unheard: tuple[str, ...]
    of_user: bool
    timed: bool

    @property
    def open(self) -> bool:
        """Whether it names a time and nothing else: "What did I do last week?"."""
        return self.timed and not self._named

    @property
    def vague(self) -> bool:
        """Whether it names nothing at all: "And what was it again?", but not "What is my name?"."""
        return self.expects == "thing" and not (self.timed or self.of_user or self._named)

    @property
    def _named(self) -> bool:
        return bool(self.weights.keys() - ASKING)


def names_something(text: str) -> bool:
    """Whether a question says what it is about, beyond asking."""
    return bool(frozenset(lexical.terms(text)) - ASKING)


def terms_of(text: str) -> list[str]:
    """The terms that `parse` wants to know the frequency of."""
    return lexical.content_terms(text)[:MAX_TERMS]


def parse(text: str, total: int, frequency: Mapping[str, int], times: Collection[str] = ()) -> Question:
    """Take a question apart.

    `frequency` says how many of the `total` memories hold each of its terms. The words of `times`, the expressions of
    time in it, are no terms: a memory is of that time by its date, not by naming it.
    """
    expects: Expects = next((kind for kind, pattern in _EXPECTS if pattern.search(text)), "thing")
    timed = frozenset(term for expression in times for term in lexical.terms(expression))
    weights = {
        term: math.log(1 + total / (1 + frequency.get(term, 0))) * (FRAME_WEIGHT if term in _FRAME else 1.0)
        for term in lexical.content_terms(text)[:MAX_TERMS]
        if term not in timed
    }
    names = proper_names(text)
    unheard = tuple(word for word, terms in names.items() if not any(frequency.get(t, 0) for t in terms))
    return Question(
        text,
        expects,
        weights,
        frozenset(t for ts in names.values() for t in ts),
        unheard,
        bool(_OF_USER.search(text)),
        bool(timed),
    )


def proper_names(text: str) -> dict[str, list[str]]:
    """Capitalised words that do not merely begin a sentence, months and weekdays left out, with their terms."""
    words = (re.sub(r"['’]s$", "", w) for w in _NAME.findall(text))
    return {w: lexical.terms(w) for w in words if w.lower() not in _NO_NAME}
