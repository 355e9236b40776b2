"""Parse a question by its words: what it expects as an answer, what it names, and whether it asks on from another."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, cast

from graph.language.patterns import load, phrasings
from graph.language.people import ADDRESSEE, SPEAKER
from graph.understanding.classifier import Recogniser
from graph.understanding.markup import without_citations
from graph.understanding.sentences import split
from memory.search.tokens import FUNCTION_WORDS, content_terms, terms
from memory.types import TurnDraft

Expects = Literal["time", "ago", "number", "person", "yes or no", "thing"]

_FORMS, _FOLLOW_UPS = phrasings("question"), phrasings("follow_ups")
_EXPECTS = cast("Mapping[Expects, re.Pattern[str]]", phrasings("expects"))

_FRAME = frozenset(terms(load("phrasings.toml")["question"]["words"]["frame"]))

ASKING = _FRAME | frozenset(terms(" ".join(FUNCTION_WORDS)))
"""All terms that ask rather than name the subject."""

FRAME_WEIGHT = 0.15

MAX_TERMS = 64
"""Most terms that are weighted."""

_QUOTED = re.compile(r"“[^”]*”")
_NAME = re.compile(r"(?<![.!?…]\s)(?<!^)(?<!^[\"'“‘])\b[A-Z][\w’'-]+")


@dataclass(frozen=True, slots=True)
class Question:
    """A parsed question.

    `weights` maps each content term to its weight, `unknown_names` are its proper names that no memory contains. With
    `only_time`, it names a time and nothing else. If it asks on from another, that is in its text, and `answered` is
    what was answered to it.
    """

    text: str
    expects: Expects
    weights: Mapping[str, float]
    unknown_names: tuple[str, ...]
    only_time: bool
    answered: str = ""


def names_something(text: str) -> bool:
    """Whether a question names a subject."""
    return bool(frozenset(terms(text)) - ASKING)


def names_only_time(text: str, times: Collection[str]) -> bool:
    """Whether a question names these times and nothing else: "What did I do last week?"."""
    timed = frozenset(term for expression in times for term in terms(expression))
    return bool(timed) and timed | ASKING >= frozenset(terms_of(text))


def asks_of_persona(text: str) -> bool:
    """Whether a question is about the one who is asked ("where do you live?"), and not about the one who asks."""
    rest = _FORMS["to_persona"].sub(" ", text)
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
    return {w: terms(w) for w in words if not _FORMS["no_name"].fullmatch(w) and w.lower() not in FUNCTION_WORDS}


def refers_back(text: str) -> bool:
    """Whether a question asks on from the one before: "When was that?", "and Petra's?", not "What is my name?"."""
    recogniser = Recogniser.load("follow_ups")
    return recogniser is not None and recogniser.probability(text) > 0.5


def stands_alone(text: str) -> bool:
    """Whether a question of several is understood without the others: "and where do I live?", not "is she nice?"."""
    said = _FOLLOW_UPS["joins"].sub("", text)
    return names_something(text) and not _FOLLOW_UPS["asks_first"].match(text) and not refers_back(said)


def answer_to(asked: str, dialogue: Sequence[TurnDraft]) -> str:
    """What the dialogue last answered to a question: what the reply quotes, or else its first sentence."""
    latest_first = pairwise(reversed(dialogue))
    reply = next((reply.text for reply, turn in latest_first if turn.text == asked and reply.role == "assistant"), "")
    quoted = " ".join(quote.strip("“”") for quote in _QUOTED.findall(reply))
    return quoted or next(iter(split(without_citations(reply))), "")
