"""Say the user's own words back to them: "I got my glasses" is "You got your glasses"."""

from __future__ import annotations

import re

_PRONOUNS = {
    "i": "you",
    "me": "you",
    "my": "your",
    "mine": "yours",
    "myself": "yourself",
    "we": "you",
    "us": "you",
    "our": "your",
    "ours": "yours",
    "ourselves": "yourselves",
    "i'm": "you're",
    "im": "you're",
    "i've": "you've",
    "ive": "you've",
    "i'd": "you'd",
    "i'll": "you'll",
    "we're": "you're",
    "we've": "you've",
    "we'd": "you'd",
    "we'll": "you'll",
    "am": "are",
}
_BE = {"was": "were", "wasn't": "weren't", "wasnt": "weren't"}
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_ADDRESSED = re.compile(r"\b(?:you|your|yours|u|ur|you['’]\w+)\b", re.IGNORECASE)


def second_person(text: str) -> str:
    """The user's words turned to the second person; empty if they speak to somebody ("you") already."""
    if _ADDRESSED.search(text):
        return ""
    words = [(match.start(), match.end(), match[0]) for match in _WORD.finditer(text)]
    said = [word.lower().replace("’", "'") for *_, word in words]
    result, place = "", 0
    for n, (start, end, word) in enumerate(words):
        new = _PRONOUNS.get(said[n], word)
        if word == "US":
            new = word
        elif said[n] in _BE and "i" in (said[max(n - 1, 0)], *said[n + 1 : n + 2]):
            new = _BE[said[n]]
        result += text[place:start] + new
        place = end
    return result + text[place:]
