"""Rename the people of a history, so that a model cannot answer from what it knows of a show.

DialSim (Kim et al. 2024, section 3.1.6) asks the same questions under new names and, to be harder, under each other's;
its table 4 compares both with the characters' own names. Of its three shows the names are the authors', those of other
histories are drawn.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any, Literal, cast

from eval.types import Gold, History, Probe
from memory import read_table
from memory.types import LearnedMemory, MemoryDraft, PersonaDraft, Quote, Relation, SessionDraft, TurnDraft

Names = Literal["original", "anonymised", "swapped"]
Respell = Callable[[str], str]

_FILE = read_table(__file__)
NEUTRAL: Sequence[str] = _FILE["neutral"].split()
AUTHORS: Mapping[str, Mapping[str, str]] = _FILE["authors"]
"""The characters of DialSim's shows, their new names, and each other's (`name_change` in the authors' utils.py).

The authors also replace a name inside of longer words ("Raj" in "Rajesh"); here it stays there.
"""

DEFAULT = "default"
"""The key of the wording for everybody without one of their own (in LongDialQA's files)."""

TEXTS: Mapping[type, tuple[str, ...]] = {
    History: ("persona", "sessions", "memories", "probes"),
    PersonaDraft: ("name", "description", "scenario", "first_message", "examples"),
    SessionDraft: ("title", "turns", "learned"),
    TurnDraft: ("speaker", "text", "key"),
    LearnedMemory: ("memory", "quotes"),
    Quote: ("words",),
    MemoryDraft: ("text", "key", "speaker", "relation"),
    Relation: ("head", "tail"),
    Probe: ("question", "gold", "dialogue", "choices", "askers"),
    Gold: ("answers", "anchors"),
}
"""The fields that hold names, or something that does; ids are not among them."""


def characters(history: History) -> tuple[str, ...]:
    """The main characters, sorted: those for whom some question has a wording of its own."""
    return tuple(sorted({asker for probe in history.probes for asker in probe.askers} - {DEFAULT}))


def rename(history: History, names: Names, seed: int = 0) -> History:
    """Rename a history's main characters wherever they are named.

    "anonymised" gives each a name that nobody in the history bears, "swapped" the name of another of them; the persona,
    scripts, memories, questions, choices and right answers all follow, ids do not. Whole words are replaced,
    possessives and capitals ("ANA") with them; nicknames stay, as in DialSim.
    """
    people = characters(history)
    if names == "original" or not people:
        return history
    if (theirs := AUTHORS.get(history.id)) and not set(theirs["original"].split()).isdisjoint(people):
        mapping = dict(zip(theirs["original"].split(), theirs[names].split(), strict=True))
    elif names == "swapped":
        mapping = swapped(people, seed)
    else:
        taken = _words(history)
        free = [name for name in NEUTRAL if name.casefold() not in taken]
        Random(f"{seed}\0names").shuffle(free)
        free += [f"Person{n}" for n in range(1, len(people) + 1)]
        mapping = dict(zip(people, free, strict=False))
    return cast("History", _respell_all(history, respeller(mapping)))


def swapped(people: Iterable[str], seed: int = 0) -> dict[str, str]:
    """Map each person to the name of another; a single person keeps their name."""
    order = sorted(set(people))
    Random(f"{seed}\0names").shuffle(order)
    return dict(zip(order, [*order[1:], order[0]], strict=True))


def respeller(mapping: Mapping[str, str]) -> Respell:
    """Make a function that replaces names in a text, all at once, so that A for B and B for A do not interfere.

    Swapping twice restores the text, unless one name is all capitals ("JD") and others are written in capitals.
    """
    spellings = {old.upper(): new.upper() for old, new in mapping.items()} | dict(mapping)
    longest_first = sorted(spellings, key=lambda name: (-len(name), name))
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
    return lambda text: pattern.sub(lambda match: spellings[match[0]], text)


def _words(history: History) -> set[str]:
    texts = [text for session in history.sessions for turn in session.turns for text in (turn.speaker, turn.text)]
    texts += [memory.text for memory in history.memories]
    texts += [text for probe in history.probes for text in (probe.question, *probe.choices)]
    return {word.casefold() for text in texts for word in re.findall(r"\w+", text)}


def _respell_all(value: Any, respell: Respell) -> Any:  # noqa: ANN401  # any part of a history
    if isinstance(value, str):
        return respell(value)
    if isinstance(value, tuple):
        return tuple(_respell_all(each, respell) for each in value)
    if isinstance(value, Mapping):
        return {respell(key): respell(text) for key, text in value.items()}
    changed = {name: _respell_all(getattr(value, name), respell) for name in TEXTS.get(type(value), ())}
    return replace(value, **changed) if changed else value
