"""Find the names in a question, and reword it in the first person of those it names.

Melanie's turns say "I" where a question about them says "Melanie": in an embedding the name is the subject, and the
nearest turns are those that address her, not those in which she tells what is asked. Reworded, "What does I do to
destress?" is near to her own turns; the encoder does not mind the grammar.
"""

import re
from collections.abc import Collection, Iterator

from memory.search.tokens import FUNCTION_WORDS

MAX_NAME_WORDS = 3
"""Longer runs of capitalised words are not names."""

PRONOUNS = ("I", "You")
"""Not names, although "You" is the speaker of the user's turns in a chat."""

_WORD = r"[^\W\d_a-z][\w-]*(?:[’'](?!s\b)\w+)*"
_CAPITALISED = re.compile(rf"(?<![\w’'-]){_WORD}")
_ADDRESSED = re.compile(
    rf"(?:^|(?<=[.!?]\s)){_WORD}(?:\s{_WORD}){{0,2}}\s?,|,\s?{_WORD}(?:\s{_WORD}){{0,2}}(?=\s?(?:[.!?]|$))",
    re.MULTILINE,
)
"""A person who is addressed ("Ada, where is my key?") is not whom the question is about."""

_OF_YOU = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
_OF_SELF = re.compile(r"\b(?:i|me|my|mine|myself|we|us|our|ours)\b", re.IGNORECASE)


def possible_names(text: str) -> Iterator[str]:
    """Every run of up to `MAX_NAME_WORDS` capitalised words; most of them are not names."""
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
    """The text with the names replaced by "I" and "my": "Ann's dog" becomes "my dog"."""
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(rf"\b{re.escape(name)}(?:['’]s|(?<=s)['’])(?!\w)", "my", text)
        text = re.sub(rf"\b{re.escape(name)}\b", "I", text)
    return text


def is_about_others(text: str, known: Collection[str]) -> bool:
    """Whether a text names somebody, but none of the `known` names, and says neither "I" nor "you"."""
    words = {word for name in possible_names(text) for word in name.split()}
    named = {word for word in words if word.lower() not in FUNCTION_WORDS}
    familiar = {word for name in known for word in name.split()}
    return bool(named) and not named & familiar and not _OF_SELF.search(text) and not _OF_YOU.search(text)


def is_about_self(text: str) -> bool:
    """Whether a text is about the person who says it: "my", "we"."""
    return bool(_OF_SELF.search(text))
