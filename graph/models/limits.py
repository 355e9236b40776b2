"""Bounds on the reply of any chat model: its length, its repetitions, its time, and what its JSON schema allows."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from memory.search.tokens import words

REPLY_TOKENS = 1024
"""Where the caller names no bound; an answer with notes on eight memories takes half of it."""

MAX_CHARACTERS_PER_TOKEN = 8
"""A server that ignores the bound is cut off here; English has 4 to 5 characters a token, indented JSON up to 7."""

FIRST_TEXT_SECONDS = 120.0
"""From the request to the first text: a server may first load the model, and a 7B model on a laptop reads 20 memories
in half a minute."""

TOTAL_SECONDS = 300.0
"""For the whole reply: 1,024 tokens at 4 tokens/s; what is slower is of no use in a conversation."""

REPEATS = 3
REPEATED_CHARACTERS = 120
LONGEST_UNIT = 600
"""A loop is one run of characters three times in a row, over 120 characters in all: more than a rule of dashes (80) or
"no, no, no" has. The run has at most 600 characters, a long paragraph."""

SHORTEST_REPLY = 12
"""Characters; a reply that is shorter without its repetitions says nothing."""

MAX_ITEMS, MAX_LENGTH, MAX_INTEGER = 20, 600, 999_999
"""Of an array, a string and an integer in a schema that names no bound: under a grammar, a small model never ends
them."""

RUN = 8
"""Words in a row that a text shares with an instruction only if it recites it."""

_LIST_NUMBER = re.compile(r"(?m)^[ \t]*\d+")


def without_loop(text: str) -> str | None:
    """The text up to the end of what it repeats, if it ends in a loop; None if it does not.

    "A. B. B. B. B." becomes "A. B.". The numbers of a list count as equal, so "1. B", "2. B", "3. B" is a loop too.
    """
    level = _LIST_NUMBER.sub(lambda number: "#" * len(number[0]), text[-REPEATS * LONGEST_UNIT :])
    for unit in range(1, LONGEST_UNIT + 1):
        span = max(REPEATS * unit, REPEATED_CHARACTERS)
        if span > len(level):
            return None
        if level[-span:-unit] == level[unit - span :]:
            while span < len(level) and level[-span - 1] == level[unit - span - 1]:
                span += 1
            end = len(text) - span + unit
            return text[: end + 1] if text[end] in ".!?。！？" else text[:end]
    return None


def recites(text: str, instruction: str) -> bool:
    """Whether a text has a run of words of an instruction."""
    return not _runs(text).isdisjoint(_runs(instruction))


@lru_cache(maxsize=256)  # with each piece of a reply, all its lines are looked at again
def _runs(text: str) -> frozenset[tuple[str, ...]]:
    found = words(text)
    return frozenset(tuple(found[n : n + RUN]) for n in range(len(found) - RUN + 1))


def bounded_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema in OpenAI's strict mode, with a bound on each array, each integer and each free string that has none.

    In strict mode every field is required, none has a default, and there are no others.
    """
    bounded: dict[str, Any] = change_schema(schema, _bounded)
    return bounded


def _bounded(part: dict[str, Any]) -> dict[str, Any]:
    bounded = {word: value for word, value in part.items() if word != "default"}
    if "properties" in bounded:
        bounded |= {"required": list(bounded["properties"]), "additionalProperties": False}
    kind = bounded.get("type")
    if kind == "array":
        bounded.setdefault("maxItems", MAX_ITEMS)
    if kind == "integer":
        bounded.setdefault("minimum", -MAX_INTEGER)
        bounded.setdefault("maximum", MAX_INTEGER)
    if kind == "string" and not {"enum", "const", "format", "pattern"} & bounded.keys():
        bounded.setdefault("maxLength", MAX_LENGTH)
    return bounded


def change_schema(part: Any, change: Callable[[dict[str, Any]], dict[str, Any]], *, named: bool = False) -> Any:  # noqa: ANN401
    """A copy of a part of a JSON schema, with each schema in it changed; of a `named` part, each value is one."""
    if isinstance(part, list):
        return [change_schema(each, change) for each in part]
    if not isinstance(part, Mapping):
        return part
    if named:
        return {name: change_schema(each, change) for name, each in part.items()}
    return change({w: change_schema(each, change, named=w in ("properties", "$defs")) for w, each in part.items()})
