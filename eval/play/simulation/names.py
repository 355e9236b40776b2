"""Rename the people of a history, so that a model cannot answer from what it knows of a show.

DialSim (Kim et al. 2024, section 4.4) asks the same questions under the characters' own names, under new names, and
under each other's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Literal

from eval.types import Gold, History, Probe
from memory.types import MemoryDraft, Relation, SessionDraft

Names = Literal["original", "anonymised", "swapped"]
Respell = Callable[[str], str]

NEUTRAL = (
    "Alex Ashley Avery Bailey Blake Cameron Casey Charlie Dana Devon Drew Eden Elliot Emery Finley Frankie Harley "
    "Hayden Jamie Jesse Jordan Jules Kendall Lane Leslie Logan Marley Morgan Noel Parker Peyton Quinn Reese Remy Riley "
    "Robin Rowan Sage Sasha Shannon Shawn Sidney Skyler Taylor Terry Tracy"
).split()

DEFAULT = "default"
"""The key of the wording for everybody without one of their own (in LongDialQA's files)."""


def characters(history: History) -> tuple[str, ...]:
    """The main characters, sorted: those for whom some question has a wording of its own."""
    return tuple(sorted({asker for probe in history.probes for asker in probe.askers} - {DEFAULT}))


def rename(history: History, names: Names, seed: int = 0) -> History:
    """Rename a history's main characters wherever they are named.

    "anonymised" gives each a name that nobody in the history bears, "swapped" the name of another of them; the persona,
    scripts, memories, questions, choices and right answers all follow, ids do not. Whole words are replaced,
    possessives and capitals ("ANA") with them; nicknames stay, as in DialSim.
    """
    mapping = new_names(history, names, seed)
    return _respell_history(history, respeller(mapping)) if mapping else history


def new_names(history: History, names: Names, seed: int = 0) -> dict[str, str]:
    """Map old names to new ones; empty for "original", and where there are too few people to swap."""
    people = characters(history)
    if names == "original" or not people:
        return {}
    if names == "swapped":
        return swapped(people, seed)
    taken = _words(history)
    free = [name for name in NEUTRAL if name.casefold() not in taken]
    Random(f"{seed}\0names").shuffle(free)
    free += [f"Person{n}" for n in range(1, len(people) + 1)]
    return dict(zip(people, free, strict=False))


def swapped(people: Iterable[str], seed: int = 0) -> dict[str, str]:
    """Map each person to the name of another; a single person keeps their name."""
    order = sorted(set(people))
    if len(order) < 2:
        return {}
    Random(f"{seed}\0names").shuffle(order)
    return dict(zip(order, [*order[1:], order[0]], strict=True))


def respeller(mapping: Mapping[str, str]) -> Respell:
    """Make a function that replaces names in a text, all at once, so that A for B and B for A do not interfere.

    Swapping twice restores the text, unless one name is all capitals ("JD") and others are written in capitals.
    """
    spellings = {old.upper(): new.upper() for old, new in mapping.items()} | dict(mapping)
    longest_first = sorted(spellings, key=lambda name: (-len(name), name))
    if not longest_first:
        return lambda text: text
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)")
    return lambda text: pattern.sub(lambda match: spellings[match[0]], text)


def _words(history: History) -> set[str]:
    texts = [turn.text for session in history.sessions for turn in session.turns]
    texts += [turn.speaker for session in history.sessions for turn in session.turns]
    texts += [memory.text for memory in history.memories]
    texts += [text for probe in history.probes for text in (probe.question, *probe.choices)]
    return {word.casefold() for text in texts for word in re.findall(r"\w+", text)}


def _respell_history(history: History, respell: Respell) -> History:
    return replace(
        history,
        persona=replace(
            history.persona,
            name=respell(history.persona.name),
            description=respell(history.persona.description),
        ),
        sessions=tuple(_session(session, respell) for session in history.sessions),
        memories=tuple(_memory(memory, respell) for memory in history.memories),
        probes=tuple(_probe(probe, respell) for probe in history.probes),
    )


def _session(session: SessionDraft, respell: Respell) -> SessionDraft:
    turns = tuple(
        replace(turn, speaker=respell(turn.speaker), text=respell(turn.text), key=respell(turn.key))
        for turn in session.turns
    )
    learned = tuple(
        replace(
            each,
            memory=_memory(each.memory, respell),
            quotes=tuple(replace(quote, words=respell(quote.words)) for quote in each.quotes),
        )
        for each in session.learned
    )
    return replace(session, title=respell(session.title), turns=turns, learned=learned)


def _memory(memory: MemoryDraft, respell: Respell) -> MemoryDraft:
    known = memory.relation and Relation(
        respell(memory.relation.head), memory.relation.name, respell(memory.relation.tail)
    )
    return replace(
        memory,
        text=respell(memory.text),
        key=respell(memory.key),
        speaker=respell(memory.speaker),
        relation=known,
    )


def _probe(probe: Probe, respell: Respell) -> Probe:
    gold: Gold = replace(
        probe.gold, answers=_all(probe.gold.answers, respell), anchors=_all(probe.gold.anchors, respell)
    )
    return replace(
        probe,
        question=respell(probe.question),
        gold=gold,
        dialogue=tuple(replace(t, speaker=respell(t.speaker), text=respell(t.text)) for t in probe.dialogue),
        choices=_all(probe.choices, respell),
        askers={respell(asker): respell(text) for asker, text in probe.askers.items()},
    )


def _all(texts: Sequence[str], respell: Respell) -> tuple[str, ...]:
    return tuple(map(respell, texts))
