"""State what the user told about themselves in the second person, without quoting."""

from __future__ import annotations

import re
from datetime import datetime

from graph.state import USER
from memory.bank.relations import YOU
from memory.types import Memory

FACTS = {
    "name": "Your name is {what}.",
    "home": "You live in {what}.",
    "occupation": "You work as {what}.",
    "employer": "You work at {what}.",
    "birthday": "Your birthday is {what}.",
    "birthplace": "You were born in {what}.",
}
"""How facts about the user are said, by attribute."""


def told_me(said_at: datetime | None, asked_at: datetime) -> str:
    """When the user told it: "You told me today", "yesterday", "on 3 May", and with the year if it is not this one."""
    if said_at is None:
        return "You told me"
    day = said_at.astimezone(asked_at.tzinfo).date()
    ago = (asked_at.date() - day).days
    if ago in (0, 1):
        return f"You told me {'yesterday' if ago else 'today'}"
    return f"You told me on {day.day} {day:%B}" + (f" {day.year}" if day.year != asked_at.year else "")


def state_fact(memory: Memory, asked_at: datetime) -> str:
    """A fact that the user told about themselves, in the second person, with the day; empty for any other memory."""
    relation = memory.relation
    if memory.speaker != USER or relation is None or relation.head != YOU or memory.valid_to is not None:
        return ""
    sentence = FACTS.get(memory.attribute, "")
    if memory.store == "relationship":
        sentence = "{what} is your {name}."
    elif memory.attribute.startswith("favourite "):
        sentence = "Your {name} is {what}."
    if not sentence:
        return ""
    stated = sentence.format(what=_with_article(memory.attribute, relation.tail), name=relation.name)
    return f"{stated} {told_me(memory.said_at, asked_at)}." if memory.said_at else stated


def _with_article(attribute: str, what: str) -> str:
    """An occupation or a day as one says it: "a nurse", "the 3rd of May"."""
    if attribute == "birthday" and re.match(r"\d+(?:st|nd|rd|th)\b", what):
        return f"the {what}"
    if attribute == "occupation" and what[:1].islower() and not re.match(r"(?:an?|the|my)\b|\w+s\b", what):
        return f"an {what}" if what[0] in "aeiou" else f"a {what}"
    return what
