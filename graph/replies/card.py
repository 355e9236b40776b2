"""Read a persona's card: who it is, its first message and its example dialogue, with the two names filled in."""

import re
from typing import Literal

from graph.models.json_replies import quoted
from graph.understanding.sentences import shorten
from memory.importers.generic.character_card import CHARACTER, USER
from memory.types import Persona

CARD_CHARACTERS = 2_000
"""Most characters of one field of the card in a prompt."""

THE_USER = "the user"
"""Stands in a prompt for a user whose name is not known."""

OF_ASSISTANT = "An assistant that remembers what you say and shows its sources."
"""The description of the persona that a user begins with."""

ExampleTurn = tuple[Literal["human", "ai"], str]

_START = re.compile(r"^[ \t]*<START>", re.IGNORECASE | re.MULTILINE)
_ADDRESSED = re.compile(rf",\s*(?:{USER.pattern})(?=\s*(?:[.,;:!?…]|$))", re.IGNORECASE | re.MULTILINE)
"""The user's name after a comma and before a mark: a sentence is complete without it ("Good morning, {{user}}.")."""
_NAMED = re.compile(rf"(?:{USER.pattern})(?P<rest>,\s+(?P<next>\w)|(?P<owns>['’]s\b))?", re.IGNORECASE)
"""The user's name; a sentence can begin without one that a comma follows ("{{user}}, come in.")."""
_SENTENCE_START = re.compile(r"(?:^|[.!?…\n]['\"”*)]{0,9})\s{0,9}['\"“*(]{0,9}$")


def is_program(persona: Persona) -> bool:
    """Whether a persona is the assistant that a user begins with, which has no life to tell of."""
    return persona.description == OF_ASSISTANT


def introduce(persona: Persona, user: str, longest: int = CARD_CHARACTERS) -> str:
    """Say to a chat model who it is: the persona's name, description, traits, manner and scenario."""
    fields = {
        "Description": persona.description,
        "Traits": "; ".join(persona.traits),
        "Manner": "" if persona.manner == "plain" else persona.manner,
        "Scenario": persona.scenario,
    }
    card = {name: shorten(fill_names(text, persona, user), longest) for name, text in fields.items() if text.strip()}
    return "\n".join([f"You are {quoted(persona.name)}.", *(f"{name}: {quoted(text)}" for name, text in card.items())])


def example_turns(persona: Persona, user_name: str) -> tuple[ExampleTurn, ...]:
    """The turns of the example dialogue, by whom they are: the user ("human") or the persona ("ai").

    A turn begins with a line such as `{{user}}: Hello.` and goes on until the next; `<START>` begins another dialogue.
    Text before a dialogue's first turn is left out.
    """
    names = {"ai": (CHARACTER.pattern, persona.name), "human": (USER.pattern, user_name, "You")}
    spoken_by = "|".join(
        f"(?P<{role}>{'|'.join((placeholder, *(re.escape(name.strip()) for name in known if name.strip())))})"
        for role, (placeholder, *known) in names.items()
    )
    head = re.compile(rf"^[ \t]*(?:{spoken_by})[ \t]*:", re.IGNORECASE | re.MULTILINE)
    turns: list[ExampleTurn] = []
    for dialogue in _START.split(persona.examples):
        heads = list(head.finditer(dialogue))
        ends = [*(each.start() for each in heads[1:]), len(dialogue)]
        for found, end in zip(heads, ends, strict=False):
            if text := fill_names(dialogue[found.end() : end], persona, user_name):
                turns.append(("ai" if found["ai"] else "human", text))
    return tuple(turns)


def fill_names(text: str, persona: Persona, user_name: str) -> str:
    """A text of the card with the names in place of `{{char}}` and `{{user}}`; without a user's name, it says "you"."""
    if not (name := user_name.strip()):
        text = _NAMED.sub(_unnamed, _ADDRESSED.sub("", text))
    # Functions, because a name may contain what `re.sub` would expand; both at once, because it may hold a placeholder.
    both = re.compile(rf"(?P<user>{USER.pattern})|{CHARACTER.pattern}", re.IGNORECASE)
    return both.sub(lambda found: name if found["user"] else persona.name, text).strip()


def _unnamed(found: re.Match[str]) -> str:
    """A name that is not known, as "you" or "your"; empty where a sentence can begin without it."""
    begins = _SENTENCE_START.search(found.string[max(0, found.start() - 20) : found.start()]) is not None
    if begins and found["next"]:
        return found["next"].upper()
    return ("You" if begins else "you") + ("r" if found["owns"] else found["rest"] or "")
