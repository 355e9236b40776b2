"""Say to users what they said of themselves: "I sold my boat" becomes "You sold your boat"."""

from __future__ import annotations

import re
from collections.abc import Mapping

from graph.understanding.sentences import capitalise
from memory.bank.relations import YOU
from memory.types import Memory

_FACTS: Mapping[str, str] = {
    "Name: ": "Your name is ",
    "Birthday: ": "Your birthday is ",
    "Lives in ": "You live in ",
    "Works as ": "You work as ",
    "Works at ": "You work at ",
    "Works in ": "You work in ",
    "Born in ": "You were born in ",
    "From ": "You are from ",
    "Likes ": "You like ",
    "Dislikes ": "You don't like ",
    "Allergic to ": "You are allergic to ",
    "Intolerant to ": "You are intolerant to ",
    "Has ": "You have ",
}
"""How learned facts begin, and how they are said to the user."""

_WORDS: Mapping[str, str] = {
    "i'm": "you're",
    "im": "you're",
    "i've": "you've",
    "ive": "you've",
    "i'll": "you'll",
    "i'd": "you'd",
    "we're": "you're",
    "we've": "you've",
    "i am": "you are",
    "i was": "you were",
    "am i": "are you",
    "was i": "were you",
    "i": "you",
    "we": "you",
    "me": "you",
    "us": "you",
    "my": "your",
    "our": "your",
    "mine": "yours",
    "ours": "yours",
    "myself": "yourself",
}
_FIRST_PERSON = re.compile(rf"(?<![\w'])(?:{'|'.join(sorted(_WORDS, key=len, reverse=True))})(?![\w'])", re.IGNORECASE)
_TO_SOMEBODY = re.compile(r"\b(?:you|your|yours|u|ur)\b", re.IGNORECASE)
_ARTICLE = re.compile(r"(?<=\bwork as )(?=[a-z])(?!(?:an?|the|my)\b|\w+s\b)(?P<vowel>(?=[aeiou]))?")


def said_to_user(text: str) -> str:
    """What a user said, in the second person; empty where it speaks to somebody ("you")."""
    plain = " ".join(text.replace("’", "'").split())
    if _TO_SOMEBODY.search(plain):
        return ""
    turned = _FIRST_PERSON.sub(lambda match: _WORDS[match[0].casefold()], plain)
    ended = turned if turned.endswith((".", "!", "?", "…")) else f"{turned}."
    return capitalise(ended)


def fact_to_user(memory: Memory) -> str:
    """A fact that a user told, in the second person; empty for one that no rule worded."""
    relation = memory.relation
    if relation is None:
        return ""
    if memory.store == "relationship":
        own = relation.head in (memory.speaker, YOU, "")
        whose = "your" if own else f"{relation.head}'s"
        return f"{relation.tail} is {whose} {relation.name}."
    if memory.attribute.startswith("favourite "):
        return f"Your {relation.name} is {relation.tail}."
    if memory.text.startswith("Allergy: "):
        return f"You have {'an' if relation.tail[0] in 'aeiou' else 'a'} {relation.tail} allergy."
    beginning = next((each for each in _FACTS if memory.text.startswith(each)), "")
    if not beginning:
        return ""
    said = f"{_FACTS[beginning]}{memory.text.removeprefix(beginning)}."
    return _ARTICLE.sub(lambda match: "an " if match["vowel"] is not None else "a ", said)
