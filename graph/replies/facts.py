"""State what the user told about themselves in the second person, without quoting."""

import re
from collections.abc import Sequence
from datetime import datetime

from graph.language.facts import kind_of
from graph.replies.second_person import first_person
from graph.state import USER, Citation, Reading
from memory.bank.relations import YOU
from memory.types import Memory


def told_me(said_at: datetime | None, asked_at: datetime, told_to: str = "", *, by_persona: bool = False) -> str:
    """When the user told it: "You told me today", "yesterday", "on 3 May", and with the year if it is not this one.

    What they told to another persona: "You told Lena today"; what the persona told: "I told you today".
    """
    told = "I told you" if by_persona else f"You told {told_to or 'me'}"
    if said_at is None:
        return told
    day = said_at.astimezone(asked_at.tzinfo).date()
    ago = (asked_at.date() - day).days
    if ago in (0, 1):
        return f"{told} {'yesterday' if ago else 'today'}"
    return f"{told} on {day.day} {day:%B}" + (f" {day.year}" if day.year != asked_at.year else "")


def state_fact(memory: Memory, asked_at: datetime) -> str:
    """What the user told about themselves that has one answer, with the day; empty for any other memory."""
    kind = kind_of(memory.relation, memory.store)
    if kind is None or not (kind.one or memory.store == "relationship"):
        return ""
    stated = fact_of_user(memory)
    return f"{stated} {told_me(memory.said_at, asked_at, memory.told_to)}." if stated and memory.said_at else stated


def cite_all(told: Sequence[tuple[Memory, str]], first: str, between: str) -> Reading:
    """What was told, each in a sentence with its source, after a first one."""
    said = [f"{text} [{number}]" for number, (_, text) in enumerate(told, 1)]
    citations = tuple(Citation(number, memory, memory.text, {}) for number, (memory, _) in enumerate(told, 1))
    return Reading(between.join(filter(None, [first, *said])), citations=citations)


def fact_of_user(memory: Memory) -> str:
    """What the user told about themselves and holds, in the second person; empty for any other memory."""
    relation = memory.relation
    is_own = memory.speaker == USER and relation is not None and relation.head == YOU and memory.valid_to is None
    return fact_to_user(memory) if is_own else ""


def fact_of_persona(memory: Memory) -> str:
    """What a persona told about itself and holds, in the first person; empty for any other memory."""
    relation = memory.relation
    is_own = relation is not None and memory.speaker not in ("", USER) and relation.head == memory.speaker
    return first_person(fact_to_user(memory)) if is_own and memory.valid_to is None else ""


def fact_to_user(memory: Memory) -> str:
    """A fact that a user told, in the second person; empty for one that is not in the registry."""
    relation, kind = memory.relation, kind_of(memory.relation, memory.store)
    if relation is None or kind is None:
        return ""
    whose = "your" if relation.head in (memory.speaker, YOU, "") else f"{relation.head}'s"
    what = _with_article(relation.name, relation.tail)
    return kind.said.format(what=what, whose=whose, kind=relation.name.removeprefix("favourite "))


def _with_article(relation: str, what: str) -> str:
    """An occupation, an allergy or a day as one says it: "a nurse", "a nut" allergy, "the 3rd of May"."""
    if relation == "birthday" and re.match(r"\d+(?:st|nd|rd|th)\b", what):
        return f"the {what}"
    if relation in ("occupation", "allergen") and what[:1].islower() and not re.match(r"(?:an?|the|my)\b|\w+s\b", what):
        return f"an {what}" if what[0] in "aeiou" else f"a {what}"
    return what
