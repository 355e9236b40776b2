"""State what the user told about themselves in the second person, without quoting."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from graph.state import USER
from memory.bank.relations import YOU
from memory.types import Memory

_BY_ATTRIBUTE: Mapping[str, str] = {
    "name": "Your name is {what}.",
    "home": "You live in {what}.",
    "occupation": "You work as {what}.",
    "employer": "You work at {what}.",
    "birthday": "Your birthday is {what}.",
    "birthplace": "You were born in {what}.",
}
"""How facts about the user are said, by attribute."""

_BY_BEGINNING: Mapping[str, str] = {
    "Works in ": "You work in ",
    "From ": "You are from ",
    "Likes ": "You like ",
    "Dislikes ": "You don't like ",
    "Allergic to ": "You are allergic to ",
    "Intolerant to ": "You are intolerant to ",
    "Has ": "You have ",
    "Speaks ": "You speak ",
    "Marital status: ": "You are ",
}
"""How other learned facts begin, and how they are said to the user."""


def told_me(said_at: datetime | None, asked_at: datetime, told_to: str = "") -> str:
    """When the user told it: "You told me today", "yesterday", "on 3 May", and with the year if it is not this one.

    What they told to another persona: "You told Lena today".
    """
    told = f"You told {told_to or 'me'}"
    if said_at is None:
        return told
    day = said_at.astimezone(asked_at.tzinfo).date()
    ago = (asked_at.date() - day).days
    if ago in (0, 1):
        return f"{told} {'yesterday' if ago else 'today'}"
    return f"{told} on {day.day} {day:%B}" + (f" {day.year}" if day.year != asked_at.year else "")


def state_fact(memory: Memory, asked_at: datetime) -> str:
    """What the user told about themselves that has one answer, with the day; empty for any other memory."""
    if memory.store != "relationship" and not _has_one_value(memory.attribute):
        return ""
    stated = fact_of_user(memory)
    return f"{stated} {told_me(memory.said_at, asked_at, memory.told_to)}." if stated and memory.said_at else stated


def fact_of_user(memory: Memory) -> str:
    """What the user told about themselves and holds, in the second person; empty for any other memory."""
    relation = memory.relation
    is_own = memory.speaker == USER and relation is not None and relation.head == YOU and memory.valid_to is None
    return fact_to_user(memory) if is_own else ""


def fact_to_user(memory: Memory) -> str:
    """A fact that a user told, in the second person; empty for one that no rule worded."""
    relation = memory.relation
    if relation is None:
        return ""
    if memory.store == "relationship":
        own = relation.head in (memory.speaker, YOU, "")
        whose = "your" if own else f"{relation.head}'s"
        return f"{relation.tail} is {whose} {relation.name}."
    if memory.attribute.startswith("favourite "):
        return f"Your {relation.name} is {relation.tail}."
    if memory.attribute in _BY_ATTRIBUTE:
        return _BY_ATTRIBUTE[memory.attribute].format(what=_with_article(memory.attribute, relation.tail))
    if memory.text.startswith("Allergy: "):
        return f"You have {'an' if relation.tail[0] in 'aeiou' else 'a'} {relation.tail} allergy."
    beginning = next((each for each in _BY_BEGINNING if memory.text.startswith(each)), "")
    return f"{_BY_BEGINNING[beginning]}{memory.text.removeprefix(beginning)}." if beginning else ""


def _has_one_value(attribute: str) -> bool:
    return attribute in _BY_ATTRIBUTE or attribute.startswith("favourite ")


def _with_article(attribute: str, what: str) -> str:
    """An occupation or a day as one says it: "a nurse", "the 3rd of May"."""
    if attribute == "birthday" and re.match(r"\d+(?:st|nd|rd|th)\b", what):
        return f"the {what}"
    if attribute == "occupation" and what[:1].islower() and not re.match(r"(?:an?|the|my)\b|\w+s\b", what):
        return f"an {what}" if what[0] in "aeiou" else f"a {what}"
    return what
