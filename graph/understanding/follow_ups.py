"""Recognise a question that asks on from the one before ("and her job?"), and what was answered to that."""

import re
from collections.abc import Sequence
from itertools import pairwise

from graph.language.patterns import phrasings
from graph.understanding.classifier import Recogniser
from graph.understanding.markup import without_citations
from graph.understanding.question import names_something
from graph.understanding.sentences import split
from memory.types import TurnDraft

_FORMS = phrasings("follow_ups")
_QUOTED = re.compile(r"“[^”]*”")


def refers_back(text: str) -> bool:
    """Whether a question asks on from the one before: "When was that?", "and Petra's?", not "What is my name?"."""
    recogniser = Recogniser.load("follow_ups")
    return recogniser is not None and recogniser.probability(text) > 0.5


def stands_alone(text: str) -> bool:
    """Whether a question of several is understood without the others: "and where do I live?", not "is she nice?"."""
    said = _FORMS["joins"].sub("", text)
    return names_something(text) and not _FORMS["asks_first"].match(text) and not refers_back(said)


def answer_to(asked: str, dialogue: Sequence[TurnDraft]) -> str:
    """What the dialogue last answered to a question: what the reply quotes, or else its first sentence."""
    latest_first = pairwise(reversed(dialogue))
    reply = next((reply.text for reply, turn in latest_first if turn.text == asked and reply.role == "assistant"), "")
    quoted = " ".join(quote.strip("“”") for quote in _QUOTED.findall(reply))
    return quoted or next(iter(split(without_citations(reply))), "")
