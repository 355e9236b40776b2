"""Whose memories a question is about, and the question as they would have put it themselves.

Talk says "I", where a question about it says "Melanie": an embedding takes the name for the subject, and the nearest
turns are those that address her, not the ones in which she tells what is asked. Put in her voice, "What does I do to
destress?", the question meets her own words; the grammar does not matter to the encoder.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from memory.search.tokens import FUNCTION_WORDS

MAX_NAME_WORDS = 3
"""Words of a name at most."""

PRONOUNS = ("I", "You")
"""No names, though "You" is what the user's own turns are said by in a chat."""

_WORD = r"[^\W\d_a-z][\w-]*(?:[’'](?!s\b)\w+)*"
_CAPITALISED = re.compile(rf"(?<![\w’'-]){_WORD}")
_ADDRESSED = re.compile(
    rf"(?:^|(?<=[.!?]\s)){_WORD}(?:\s{_WORD}){{0,2}}\s?,|,\s?{_WORD}(?:\s{_WORD}){{0,2}}(?=\s?(?:[.!?]|$))",
    re.MULTILINE,
)
"""Who is spoken to ("Ada, where is my key?") is not who is spoken of."""

_OF_YOU = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
_OF_SELF = re.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours)\b", re.IGNORECASE)


def possible_names(text: str) -> Iterator[str]:
    """Every run of up to three capitalised words, as it stands; most of them name nobody."""
    text = _ADDRESSED.sub(",", text)
    words = [word for word in _CAPITALISED.finditer(text) if word[0] not in PRONOUNS]
    for first, start in enumerate(words):
        last = start
        for following in words[first : first + MAX_NAME_WORDS]:
            if text[last.end() : following.start()].strip() and following is not start:
                break
            last = following
            yield text[start.start() : last.end()]


def to_first_person(text: str, names: Collection[str]) -> str:
    """The text with those who are named saying it of themselves; "Ann's dog" becomes "my dog"."""
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(rf"\b{re.escape(name)}(?:['’]s|(?<=s)['’])(?!\w)", "my", text)
        text = re.sub(rf"\b{re.escape(name)}\b", "I", text)
    return text


def is_about_others(text: str, known: Collection[str]) -> bool:
    """Whether it names somebody, but neither one of those who are known nor "I" nor "you"."""
    named = {word for name in possible_names(text) for word in name.split()}
    named = {word for word in named if word.lower() not in FUNCTION_WORDS}
    familiar = {word for name in known for word in name.split()}
    return bool(named) and not named & familiar and not _OF_SELF.search(text) and not _OF_YOU.search(text)


def is_about_self(text: str) -> bool:
    """Whether it is about the one who says it: "my", "we"."""
    return bool(_OF_SELF.search(text))
