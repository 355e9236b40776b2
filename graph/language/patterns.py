"""Compile patterns of English, in which slots stand for words and forms that many have in common.

A slot is written <SO>; slots.toml and people.toml define them. `<MY><RELATIVE>` is "my little sister" or "our mum", and
`<WHO>` captures the name of a person as `what`. phrasings.toml has the patterns of what sentences ask for or tell.
"""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from memory import read_table

_SLOT = re.compile(r"<([A-Z]+(?:_[A-Z]+)*)>")


def pattern(source: str) -> re.Pattern[str]:
    """Compile a pattern with its slots filled; it matches in any case."""
    return re.compile(fill(source), re.IGNORECASE)


@cache
def phrasings(topic: str) -> Mapping[str, re.Pattern[str]]:
    """The patterns of a topic of phrasings.toml by their names, but for its lists."""
    return {name: pattern(source) for name, source in _PHRASINGS[topic].items() if isinstance(source, str)}


def phrasing_list(topic: str, name: str) -> tuple[re.Pattern[str], ...]:
    """The patterns of a list of phrasings.toml."""
    return tuple(map(pattern, _PHRASINGS[topic][name]))


def any_word(text: str) -> re.Pattern[str]:
    """Compile a pattern of whole words or phrases, separated by "|"."""
    return pattern(rf"\b(?:{text})\b")


def first_search(compiled: Iterable[re.Pattern[str]], text: str) -> re.Match[str] | None:
    """The first place in a text of the first of several patterns that has one."""
    return next(filter(None, (each.search(text) for each in compiled)), None)


def fill(source: str) -> str:
    """A pattern with its slots filled, without its line breaks and the spaces after them."""
    return _SLOT.sub(lambda slot: f"(?:{fill(SLOTS[slot[1]])})", re.sub(r"\n *", "", source))


@cache
def load(file: str) -> dict[str, Any]:
    """Read a table of this package."""
    return read_table(__file__, file)


def listed(text: str) -> list[str]:
    """The words of a list that are separated by spaces; "_" stands for a space within one."""
    return [word.replace("_", " ") for word in text.split()]


def by_word(lists: Mapping[str, str]) -> dict[str, str]:
    """The name of the list that each word is in."""
    return {word: name for name, words in lists.items() for word in listed(words)}


def _of_file(file: str) -> str:
    """The words of a file, but its comments; grouped, so that a place in a text is not tried with each of them."""
    lines = Path(__file__).with_name(file).read_text("utf-8").split("\n")
    every = sorted(" ".join(line for line in lines if line[:1] != "#").split())
    groups = groupby(every, key=lambda word: word[:2])
    return "|".join(f"{start}(?:{'|'.join(word[2:] for word in group)})" for start, group in groups)


def _choice(phrases: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, phrases), key=len, reverse=True))


_TABLE = load("slots.toml")
_PHRASINGS = load("phrasings.toml")
_FEELING_WORDS = load("feelings.toml")
SLOTS: Mapping[str, str] = {
    **{name: _choice(listed(text)) for name, text in _TABLE["words"].items()},
    **_TABLE["forms"],
    **{
        name.upper(): _choice(word for kind in listed(text) for word in kind.split("/"))
        for name, text in load("people.toml")["kinds"].items()
    },
    "FEELING": _choice(word for words in _FEELING_WORDS["feelings"].values() for word in listed(words)),
    "FIRST_FEELING": _choice(listed(_FEELING_WORDS["in_sentences"]["first"])),
    "SCENE": _choice(listed(_FEELING_WORDS["in_sentences"]["scenes"])),
    "NAMES_IN_LOWER_CASE": _of_file("names.txt"),
}
"""What stands for each slot."""
