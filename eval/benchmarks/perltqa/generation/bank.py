"""Make one persona's memory bank in six steps (PerLTQA, Du et al. 2024, section 3.1 and appendix A.1).

    1 seed profile   occupation, education, hobbies, relationships and initials are drawn; the model finds a name
    2 profile        the model fills in the other fields of figure 6
    3 relationships  a person for each of ten kinds that were drawn
    4 events         for each person, on a drawn topic: its background, then the event, after an example
    5 dialogues      one about each event, of the persona with the AI assistant
    6 validation     the model scores each event with its dialogue; what is below the threshold goes

The bank is an object as in the English release (see `memory.importers.benchmarks.perltqa`). Deviations: an event comes
with its background in one reply; dates are drawn, so that they are valid and a dialogue comes after its event; where
people sampled and corrected memories, rules drop what table 7 lists (fields that say nothing, second partners, brief
events), and the model scores every event.

`seeds.json`, from which step 1 draws, has as many groups as the paper's seed data (10 of occupations, 7 of hobbies, 49
of topics, 50 kinds of relationships) with fewer entries in each, written for Memoir.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Annotated, Any

from pydantic import Field

from eval.making.generation import LeftOut, Writer, leave_out_if
from eval.making.replies import Name, Paragraph, Phrase, Sentence, bound
from graph.models.json_replies import StrictReply
from memory.importers.reading.dialogue import split_utterance
from memory.search.tokens import terms, words

HOBBIES = 3
RELATIONSHIPS = 10
"""Drawn for each persona; ten is also the number of kinds that the paper's prompt offers (appendix A.1)."""

INITIALS = "ABCDEFGHIJKLMNOPRSTVWYZ"
"""A model that always replies the same names gives other ones for other letters."""

PARTNERS = "romantic partners"
"""The group of which a persona has one at most: a wife beside a girlfriend is an error of table 7."""


@dataclass(frozen=True, slots=True)
class Seed:
    """What a persona begins with; `draw` makes the later choices (topics, dates) of this persona alone."""

    number: int
    initials: str
    occupation: str
    education: str
    hobbies: tuple[str, ...]
    relationships: tuple[str, ...]
    draw: Random

    def topic(self) -> tuple[str, str]:
        """Draw what an event is about: a topic, and one of its parts."""
        name, parts = self.draw.choice(list(_seeds()["topics"].items()))
        return name, self.draw.choice(parts)


def draw_seed(seed: int, number: int) -> Seed:
    """The seed of the persona of that number; it depends on no other persona."""
    draw, seeds = Random(f"{seed} {number}"), _seeds()
    field = seeds["occupations"][draw.choice(list(seeds["occupations"]))]
    groups = draw.sample(list(seeds["hobbies"].values()), HOBBIES)
    kinds = {kind: group for group, kinds in seeds["relationships"].items() for kind in kinds}
    partner = draw.choice(seeds["relationships"][PARTNERS])
    possible = [kind for kind, group in kinds.items() if group != PARTNERS or kind == partner]
    return Seed(
        number,
        " ".join(f"{letter}." for letter in draw.sample(INITIALS, 2)),
        draw.choice(field["specialties"]),
        draw.choice(field["education"]),
        tuple(draw.choice(group) for group in groups),
        tuple(draw.sample(possible, RELATIONSHIPS)),
        draw,
    )


@cache
def _seeds() -> dict[str, Any]:
    return dict(json.loads(Path(__file__).with_name("seeds.json").read_text("utf-8")))


Bank = dict[str, dict[str, Any]]
"""The sections of a persona: profile, social_relationship, events, dialogues."""

ASSISTANT = "AI Assistant"

FIRST_DAY, DAYS = datetime(2021, 1, 1), 3 * 365
"""When events happen."""

BRIEF = 30
"""An event has more words than this (table 7, "brief event narratives"); the paper's have 313 on average."""

LEAST_EXCHANGES = 2

_NOTHING = re.compile(
    r"\W*(?:(?:not|none|nothing)(?: (?:provided|specified|stated|available|applicable|known|given|mentioned))?"
    r"|unknown|unspecified|undisclosed|n/?a|null|string)?\W*",
    re.IGNORECASE,
)


class FullName(StrictReply):
    """A name for a persona."""

    first_name: Name
    family_name: Name


class Names(StrictReply):
    """Names for a persona."""

    names: Annotated[list[FullName], bound(maxItems=6)]


class Profile(StrictReply):
    """The fields of a profile that the seed does not give."""

    gender: Phrase
    nickname: Phrase
    title: Phrase
    age: Annotated[int, Field(ge=16, le=99)]
    nationality: Phrase
    physical_characteristics: Phrase
    achievements: Sentence
    ethnic_background: Phrase
    employer: Phrase
    awards_and_role_models: Sentence


class Relationship(StrictReply):
    """A person in a persona's life."""

    relationship: Phrase
    name: Name
    description: Sentence


class Relationships(StrictReply):
    """The people in a persona's life."""

    relationships: Annotated[list[Relationship], bound(maxItems=10)]


class Event(StrictReply):
    """One event as it is remembered, and the situation that it grew from."""

    background: Sentence
    summary: Phrase
    content: Paragraph


class Exchange(StrictReply):
    """What the persona says in a dialogue, and the assistant's reply."""

    person: Sentence
    assistant: Sentence


class Dialogue(StrictReply):
    """A dialogue of the persona with the assistant."""

    exchanges: Annotated[list[Exchange], bound(maxItems=6)]


def make_bank(seed: Seed, taken: Collection[str], events: int, writer: Writer) -> tuple[str, Bank]:
    """Return the name and the memories of a persona, with up to `events` events for each relationship.

    Raises:
        LeftOut: there is no name or no profile.
    """
    name = _name(seed, taken, writer)
    bank: Bank = {"profile": _profile(seed, name, writer)}
    bank["social_relationship"] = dict(_relationships(seed, bank, writer))
    bank["events"] = dict(_events(seed, bank, events, writer))
    bank["dialogues"] = dict(_dialogues(seed, bank, writer))
    return name, _validated(bank, writer)


def _name(seed: Seed, taken: Collection[str], writer: Writer) -> str:
    writer.begin("seed profile")
    known = {"occupation": seed.occupation, "initials": seed.initials, "names_in_use": sorted(taken)}
    used = {name.casefold() for name in taken}
    for each in writer.require("no new name: ", Names, **known).names:
        name = f"{each.first_name} {each.family_name}"
        if _is_name(name) and name.casefold() not in used:
            return name
    raise LeftOut("no new name: those given are in use, or are no full names")


def _profile(seed: Seed, name: str, writer: Writer) -> dict[str, Any]:
    writer.begin("profile")
    profile: dict[str, Any] = {
        "Protagonist": name,
        "Occupation": seed.occupation,
        "Hobbies": ", ".join(seed.hobbies),
        "Education Background": seed.education,
    }
    reply = writer.require(f"no profile of {name}: ", Profile, person=profile)
    for field, value in reply.model_dump().items():
        with writer.leave_out():
            leave_out_if(bool(_NOTHING.fullmatch(str(value))), "field that says nothing")
            profile[field.replace("_", " ").title().replace(" And ", " and ")] = str(value)
    return profile


def _relationships(seed: Seed, bank: Bank, writer: Writer) -> Iterator[tuple[str, dict[str, str]]]:
    writer.begin("relationships")
    kinds, names = {kind.casefold() for kind in seed.relationships}, [bank["profile"]["Protagonist"].casefold()]
    with writer.leave_out():
        for each in writer.ask(Relationships, person=bank["profile"], kinds=seed.relationships).relationships:
            kind, name = each.relationship.casefold(), each.name.casefold()
            with writer.leave_out():
                leave_out_if(kind not in kinds, "of no kind that was drawn, or the second one of its kind")
                is_new = _is_name(each.name) and name not in names and each.description
                leave_out_if(not is_new, "no new full name, or no description")
                entry = {"Supporting Characters": each.name, "Description": each.description}
                yield f"{seed.number}_{len(names) - 1}", entry | {"Relationship": each.relationship}
                kinds.remove(kind)
                names.append(name)


def _events(seed: Seed, bank: Bank, events: int, writer: Writer) -> Iterator[tuple[str, dict[str, Any]]]:
    profile, earlier = bank["profile"], {key: list[str]() for key in bank["social_relationship"]}
    for key in writer.each("events", [key for key in earlier for _ in range(events)]):
        other, topic = bank["social_relationship"][key], seed.topic()
        day = f"{FIRST_DAY + timedelta(days=seed.draw.randrange(DAYS)):%Y-%m-%d}"
        told = {"person": profile, "other_person": other, "topic": topic, "date": day, "earlier_events": earlier[key]}
        with writer.leave_out():
            event = writer.ask(Event, **told)
            leave_out_if(len(words(event.content)) <= BRIEF, "brief")
            names = (profile["Protagonist"], other["Supporting Characters"])
            has_both = all(_mentions(event.content, name) for name in names)
            leave_out_if(not has_both, "one of the two people is not in it")
            leave_out_if(event.summary in earlier[key], "told before")
            entry = {"summary": event.summary, "content": event.content, "Creation Time": day, "Theme": topic[0]}
            yield f"{key}_{len(earlier[key])}", entry
            earlier[key].append(event.summary)


def _dialogues(seed: Seed, bank: Bank, writer: Writer) -> Iterator[tuple[str, dict[str, Any]]]:
    name = bank["profile"]["Protagonist"]
    for number, (key, event) in enumerate(writer.each("dialogues", list(bank["events"].items()))):
        moment = datetime.fromisoformat(event["Creation Time"]) + timedelta(
            days=seed.draw.randint(1, 30), hours=seed.draw.randint(8, 21)
        )
        told = {"person": bank["profile"], "event": event, "date_of_the_dialogue": f"{moment:%Y-%m-%d}"}
        with writer.leave_out():
            said = [(each.person, each.assistant) for each in writer.ask(Dialogue, **told).exchanges]
            exchanges = list(dict.fromkeys(each for each in said if all(each)))
            leave_out_if(len(exchanges) < LEAST_EXCHANGES, "brief")
            lines = [f"{who}: {text}" for each in exchanges for who, text in zip((name, ASSISTANT), each, strict=True)]
            yield f"{key}#{number}", {"events": key, "contents": {f"{moment:%Y-%m-%d %H:%M}": lines}}


def _validated(bank: Bank, writer: Writer) -> Bank:
    """The bank without events below the threshold and their dialogues, and without people of no event (table 7)."""
    people, events, dialogues = bank["social_relationship"], dict[str, Any](), bank["dialogues"]
    for key, event in writer.each("validation", list(bank["events"].items())):
        told = {"person": bank["profile"], "other_person": people[_person_of(key)], "event": event}
        told["dialogue"] = [each["contents"] for each in dialogues.values() if each["events"] == key]
        with writer.leave_out():
            writer.score("MemoryScore", "event below the threshold", **told)
            events[key] = event
    known = {key: person for key, person in people.items() if key in set(map(_person_of, events))}
    for _ in people.keys() - known:
        writer.drop("person without an event")
    kept = {name: each for name, each in dialogues.items() if each["events"] in events}
    return bank | {"social_relationship": known, "events": events, "dialogues": kept}


def _person_of(key: str) -> str:
    """The id of the relationship that an event belongs to: "4_0" of "4_0_1"."""
    return key.rpartition("_")[0]


def _is_name(text: str) -> bool:
    """Whether it is a full name that can stand before the colon of an utterance."""
    parts = text.split()
    is_full = 2 <= len(parts) <= 5 and parts[0][0].isupper() and parts[-1][0].isupper()
    return is_full and text.casefold() != ASSISTANT.casefold() and split_utterance(f"{text}: .") == (text, ".")


def _mentions(text: str, name: str) -> bool:
    """Whether a text has a part of the name."""
    return not set(terms(name)).isdisjoint(terms(text))
