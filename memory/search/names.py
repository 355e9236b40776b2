"""Find the names in a question, and reword it in the first person of those it names.

Melanie's turns say "I" where a question about them says "Melanie": in an embedding the name is the subject, and the
nearest turns are those that address her, not those in which she tells what is asked. Reworded, "What does I do to
destress?" is near to her own turns; the encoder does not mind the grammar.
"""

import re
from collections.abc import Collection, Iterator

from memory import fill, read_table
from memory.search.tokens import CJK, FUNCTION_WORDS

MAX_NAME_WORDS = 3
"""Longer runs of capitalised words are not names."""

PRONOUNS = ("I", "You")
"""Not names, although "You" is the speaker of the user's turns in a chat."""

CHINESE_NAME = range(2, 5)
"""Characters of a Chinese name; any so many in a row may be one."""

_TABLE = read_table(__file__)
_PARTS: dict[str, str] = {"cjk": CJK, **_TABLE["parts"]}
_LETTER = fill("{letter}", _PARTS)
_CAPITALISED, _CHINESE, _ADDRESSED, _OF_YOU, _OF_SELF = (
    re.compile(fill(pattern, _PARTS)) for pattern in _TABLE["patterns"].values()
)


def possible_names(text: str) -> Iterator[str]:
    """All that may be a name: runs of capitalised words, and of Chinese characters. Most of them are none."""
    yield from _capitalised(text)
    for run in _CHINESE.findall(text):
        yield from (run[i : i + size] for i in range(len(run)) for size in CHINESE_NAME if i + size <= len(run))


def _capitalised(text: str) -> Iterator[str]:
    """Every run of up to `MAX_NAME_WORDS` capitalised words."""
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
    """The text with the names replaced by "I" and "my", or 我: "Ann's dog" becomes "my dog"."""
    i, my = ("我", "我") if _CHINESE.search(text) else ("I", "my")
    for name in sorted(names, key=len, reverse=True):
        whole = rf"(?<!{_LETTER}){re.escape(name)}"
        text = re.sub(rf"{whole}(?:['’]s|(?<=s)['’])(?!\w)", my, text)
        text = re.sub(rf"{whole}(?!{_LETTER})", i, text)
    return text


def is_about_others(text: str, known: Collection[str]) -> bool:
    """Whether a text names somebody, but none of the `known` names, and says neither "I" nor "you"."""
    words = {word for name in _capitalised(text) for word in name.split()}
    named = {word for word in words if word.lower() not in FUNCTION_WORDS}
    familiar = {word for name in known for word in name.split()}
    return bool(named) and not named & familiar and not _OF_SELF.search(text) and not _OF_YOU.search(text)


def is_about_self(text: str) -> bool:
    """Whether a text is about the person who says it: "my", "we"."""
    return bool(_OF_SELF.search(text))
