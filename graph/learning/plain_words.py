"""Put a sentence into the plain words in which facts are sought: apostrophes, spelling, and phrases for one verb."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from graph.learning.fact_slots import KNOWN_NAME

_APOSTROPHES = (
    (re.compile(r"\b(?:im|i am)\b", re.I), "I'm"),
    (re.compile(r"\bive\b", re.I), "I've"),
    (re.compile(r"\bweve\b", re.I), "we've"),
    (re.compile(r"\bits(?= (?:my|been)\b)|\bit is(?= my\b)", re.I), "it's"),
    (re.compile(r"\b(do|does|did|is|was|are|were|have|has|had|wo|would|could|should|ca)nt\b", re.I), r"\1n't"),
    (re.compile(r"\bcannot\b", re.I), "can't"),
    (re.compile(r"\bu\b"), "you"),
    (re.compile(r"\b(?:fave?|favs)\b", re.I), "favourite"),
)

_VERY = r"(?: really| absolutely| just| much| particularly| at all| big| huge| massive| very| so)*"
_LITERALLY = r"(?! (?:up|upright|still|straight|on|in|out|by|back|down|for|here|there|long|too long)\b)"
"""What follows "can't stand" where it speaks of standing: "I can't stand up"."""
_PHRASES = (
    (
        re.compile(
            rf"(?:\bI(?:'m)?{_VERY} |\A\W*)(?:can't (?:stand|bear){_LITERALLY}|don't{_VERY} (?:like|enjoy)"
            rf"|not{_VERY} (?:an?{_VERY} fan of|keen on|into|fond of))\b",
            re.I,
        ),
        "I dislike",
    ),
    (re.compile(rf"\bI'm{_VERY} (?:an?{_VERY} fan of|keen on|into|fond of)\b", re.I), "I like"),
    (
        re.compile(
            r"\b(?:I|we)(?:(?: don't(?: really| even)? have| haven't(?: got)?|'ve never had| never had)(?: any| an?)?"
            r"|(?: have| got|'ve| have got|'ve got) no) (?=[a-z])",
            re.I,
        ),
        "I lack ",
    ),
    (re.compile(r"\bI'm an only child\b", re.I), "I lack siblings"),
    (re.compile(r"\b(?:I'm (?:not|un)(?: yet)? ?|I(?:'ve)? never (?:got )?)married\b", re.I), "I'm unmarried"),
    (re.compile(r"\bI'm a widow(?:er)?\b", re.I), "I'm widowed"),
)
"""Phrases that mean to like, to dislike, to lack or to be something, so that no "not" is left in them."""

_KEYWORDS = (
    "husband sister brother mother father daughter girlfriend boyfriend partner friend cousin nephew manager colleague "
    "neighbour flatmate teacher doctor dentist supervisor birthday allergic favourite"
).split()
_WORD = re.compile(r"(?<=\bmy )[a-z]{5,}\b|\ba[a-z]{5,}(?= to\b)|(?<=\b(?:my|an|is) )[a-z]{5,}\b")
_OTHER = frozenset("bother fiend friends mothers fathers sisters brothers cousins partners managers teachers".split())
"""Words that are one letter away from a keyword and are none."""


def plain_words(sentence: str) -> str:
    """The sentence with its apostrophes restored, known words spelled right, and plain verbs for liking."""
    text = sentence.replace("’", "'").replace("`", "'")
    if text.isupper():
        text = text.lower()
    for pattern, plain in _APOSTROPHES:
        text = pattern.sub(plain, text)
    text = _WORD.sub(lambda match: _spelled(match[0]), text)
    for pattern, plain in _PHRASES:
        text = pattern.sub(plain, text)
    return text


def with_names(text: str) -> str:
    """The text with a capital on names of people that are typed in lower case: "my sister Ana", "Dr Whitfield"."""
    return _known_name().sub(lambda match: match[0].title(), text)


@cache
def _known_name() -> re.Pattern[str]:
    return re.compile(rf"(?<![\w'-]){KNOWN_NAME}")  # a tenth of a second: not before it is needed


@lru_cache(maxsize=4096)
def _spelled(word: str) -> str:
    """The keyword that differs from the word by one letter, or by two that changed places; else the word."""
    if word in _KEYWORDS or word in _OTHER or word.endswith("s"):
        return word
    return next((keyword for keyword in _KEYWORDS if word[0] == keyword[0] and _is_one_slip(word, keyword)), word)


def _is_one_slip(word: str, keyword: str) -> bool:
    """Whether one letter is missing, added or wrong, or two neighbours are swapped."""
    if abs(len(word) - len(keyword)) > 1:
        return False
    start = next(
        (n for n, (a, b) in enumerate(zip(word, keyword, strict=False)) if a != b), min(len(word), len(keyword))
    )
    ours, theirs = word[start:], keyword[start:]
    swapped = ours[1:2] + ours[:1] + ours[2:]
    return ours[1:] == theirs[1:] or ours[1:] == theirs or ours == theirs[1:] or swapped == theirs
