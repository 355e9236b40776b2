"""Resolve what a follow-up refers to ("and her job?", "what breed is she?") by the last question and its answer."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from graph.language.patterns import phrasings
from graph.language.people import gender
from graph.understanding.aliases import ASKS_NAME, People, kinds_in, mention
from graph.understanding.classifier import Recogniser
from graph.understanding.markup import without_citations
from graph.understanding.question import names_something, proper_names
from graph.understanding.sentences import split
from memory.types import TurnDraft

_FORMS = phrasings("follow_ups")
_QUOTED = re.compile(r"“[^”]*”")

LATEST = 4
"""Turns before a follow-up in which somebody is sought: two questions and their answers."""


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


def names_somebody(text: str) -> bool:
    """Whether a text says whom "he" or "she" after it may mean: "my mum", or a name."""
    return bool(_FORMS["somebody"].search(text) or proper_names(f"- {text}"))


def resolve(text: str, dialogue: Sequence[TurnDraft], people: People) -> str:
    """The question with "he" and "she" replaced by whom the dialogue named last, if it names nobody before them."""
    first = _FORMS["pronoun"].search(text)
    if first is None:
        return text
    before = text[: first.start()]
    if names_somebody(before) or any(mention(name, before) for name in people.kinds):
        return text
    pronoun = "she" if first["she"] else "he"
    named = _mentions(dialogue, people)
    found = next((name for name in named if gender(people.kinds.get(name, name)) in ("", pronoun)), "")
    if not found:
        return text

    def replaced(match: re.Match[str]) -> str:
        if not match[pronoun]:
            return match[0]
        word = match[pronoun].casefold()
        is_whose = word in ("his", "hers") or (word == "her" and _FORMS["possessive"].match(text[match.end() :]))
        return f"{found}'s" if is_whose or match["is"] else found

    return _FORMS["pronoun"].sub(replaced, text)


def _mentions(dialogue: Sequence[TurnDraft], people: People) -> Iterator[str]:
    """The people in the last turns, most likely first: by name, then as "my landlord".

    A question for a person is answered by the reply to it; any other names the person itself.
    """
    turns = list(dialogue[-LATEST:])
    while turns:
        reply = turns.pop() if turns[-1].role == "assistant" else None
        said = turns.pop() if turns and turns[-1].role == "user" else None
        # What a reply quotes, not who said it when.
        quotes = " ".join(_QUOTED.findall(reply.text)) if reply is not None else ""
        pair = [text for text in (said.text if said else "", quotes or (reply.text if reply else "")) if text]
        if said is not None and ASKS_NAME.search(said.text):
            pair.reverse()
        for text in pair:
            yield from _named(text, people)
        if said is not None:
            yield from (match[0] for match in _FORMS["somebody"].finditer(said.text))
        if not pair:
            return


def _named(text: str, people: People) -> Iterator[str]:
    yield from (name for name in people.kinds if mention(name, text))
    for kind in kinds_in(text, people):
        names = people.called(kind)
        if len(names) == 1:
            yield names[0]
    for word in proper_names(text):
        at = text.rfind(word)
        if text[at - 1 : at] != "“" and not _FORMS["at"].search(text[:at]):
            yield word
