"""PerLTQA's memory bank (Du et al., SIGHAN 2024, https://github.com/Elvin-Yiming-Du/PerLTQA; CC BY-NC 4.0).

    {"<name>": {"profile": {"Occupation": "...", ...}, "profile_description": "...",
      "social_relationship": {"4_1": {"Supporting Characters": "...", "Description": "...", "Relationship": "..."}},
      "events": {"4_2_0": {"summary": "...", "content": "...", "Creation Time": "October 2021", "Theme": "..."}},
      "dialogues": {"4_2_0#3": {"events": "4_2_0", "contents": {"2018-07-15 10:00": ["<speaker>: <text>", ...]}}}}}

The first releases have a list of characters, each named in its profile, and some sections written as Python literals.

A character becomes a persona, identified by its name; the description stays empty, because the questions are about the
profile. Every memory keeps its id (a profile field its name) as external id, since the questions refer to it. A profile
field becomes "Occupation: ..."; a relation "<person> (<relation>): <description>"; an event "<summary>. <content>",
with the span of its creation time and its theme as attribute. Dialogues become sessions; turns are `<id>:<n>` from 1;
the protagonist (by name or nickname) is the user, the others have the role `other`. "Last Accessed Time" and
"Characters" are not read.
"""

import ast
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from memory.bank.rows import clean
from memory.importers.reading.dialogue import split_utterance
from memory.importers.reading.fields import EMPTY_SESSION, EMPTY_TURN, Fields
from memory.importers.reading.json_stream import Place, format_place, outline, stream_values
from memory.importers.reading.source import Record, Source, clean_text, record_reader
from memory.types import MemoryDraft, PersonaDraft, Relation, Role, SessionDraft, Skip, TurnDraft

NAME = "PerLTQA"

DESCRIPTION = "profile_description"
UNNAMED = "unnamed"
SECTIONS = ("profile", DESCRIPTION, "social_relationship", "events", "dialogues")
SIGNS = ("Protagonist", DESCRIPTION, "social_relationship", "Creation Time", "contents")


def sniff(head: bytes) -> bool:
    """Whether it is an object or a list of characters with PerLTQA's sections."""
    places = {place for place in outline(head) if place[0] != "[]" or (place[1:2] and place[1] in SECTIONS)}
    return any(place[-1] in SIGNS and 2 <= len(place) <= 4 for place in places)


def read(path: Source) -> Iterator[Record]:
    """Each character: profile, relations, events, dialogues."""
    for place, value in stream_values(path):
        yield from read_character(place, value)


@record_reader
def read_character(skips: list[Skip], place: Place, value: object) -> Iterator[Record | None]:
    """One character, from its place in the file and its value."""
    name = name_of(place, value)
    character = Fields.of(value, format_place(place), skips)
    if not character.values or not name:
        why = "a character with its memory" if name else "a profile with a Protagonist, who names the character"
        yield Skip(character.place, f"expected {why}; skipped")
        return
    sections = {key: _parse_section(section) for key, section in character.values.items()}
    character = replace(character, values=sections)
    yield PersonaDraft(name=name, external_id=name)
    for section in (_read_profile, _read_relationships, _read_events):
        yield from section(character)
    own_names = {name, character.object("profile").text("Nickname")} - {""}
    for key, dialogue in character.object("dialogues").object_entries():
        yield _read_dialogue(dialogue, key, own_names)


def name_of(place: Place, value: object) -> str:
    """A character's name: its key, or in a list the protagonist of its profile; empty if there is neither."""
    if not place or isinstance(place[0], str):
        return clean(str(place[0]) if place else "").strip() or UNNAMED
    profile = _parse_section(value.get("profile")) if isinstance(value, dict) else None
    return Fields(profile, "").text("Protagonist").strip() if isinstance(profile, dict) else ""


def literal(text: str) -> Any:  # noqa: ANN401  # any JSON value
    """The value of a Python literal; None if the text is none, or has values that JSON has not."""
    try:
        return json.loads(json.dumps(ast.literal_eval(text)))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None


def _parse_section(section: object) -> object:
    """The value of a section that is written as a Python literal; any other section unchanged."""
    if isinstance(section, str) and section.lstrip().startswith("{"):
        return literal(section.strip()) or section
    return section


def _read_profile(character: Fields) -> Iterator[MemoryDraft]:
    profile = character.object("profile")
    for name in profile.values:
        if text := profile.required_text(name, "empty profile field").strip():
            key = clean(name)
            known = Relation("", key, text)
            yield MemoryDraft("profile", f"{key}: {text}", attribute=key, external_id=key, relation=known)
    if text := character.text(DESCRIPTION).strip():
        yield MemoryDraft("profile", text, attribute=DESCRIPTION, external_id=DESCRIPTION)


def _read_relationships(character: Fields) -> Iterator[MemoryDraft]:
    for key, fields in character.object("social_relationship").object_entries():
        person, relation = fields.text("Supporting Characters"), fields.text("Relationship")
        head = f"{person} ({relation})" if relation else person
        text = ": ".join(part for part in (head, fields.text("Description")) if part.strip())
        if text:
            known = Relation("", relation, person.strip()) if relation and person.strip() else None
            yield MemoryDraft("relationship", text, attribute=relation, external_id=key, relation=known)
        else:
            fields.report("", "empty relation")


def _read_events(character: Fields) -> Iterator[MemoryDraft]:
    for key, fields in character.object("events").object_entries():
        summary, content = fields.text("summary").strip(), fields.text("content").strip()
        if summary and content and summary[-1] not in ".!?。！？":
            summary += "."
        if text := f"{summary} {content}".strip():
            when, theme = fields.text("Creation Time"), fields.text("Theme")
            span = fields.span("Creation Time")
            yield MemoryDraft("event", text, event=span, event_text=when, attribute=theme, external_id=key)
        else:
            fields.report("", "empty event")


def _read_dialogue(dialogue: Fields, key: str, own_names: set[str]) -> SessionDraft | None:
    """One dialogue; the sample has one time in each, a second one would become the time of its turns."""
    contents = dialogue.object("contents")
    turns: list[TurnDraft] = []
    first_time = next(iter(contents.values), "")
    for time in contents.values:
        entry = Fields({"time": time}, contents.place_of(time), contents.skips)
        moment, said_text = entry.moment("time"), entry.text("time")
        if time == first_time:
            started_at, moment, said_text = moment, None, ""
        for line, place in contents.items(time):
            if not isinstance(line, str):
                contents.skips.append(Skip(place, "expected a turn of the form 'Speaker: text'"))
                continue
            line = clean_text(line, place, contents.skips)
            speaker, text = split_utterance(line) or ("unknown", line.strip())
            role: Role = "user" if speaker in own_names else "other"
            if text:
                turns.append(TurnDraft(speaker, role, text, moment, said_text, f"{key}:{len(turns) + 1}"))
            else:
                contents.skips.append(Skip(place, EMPTY_TURN))
    if not turns:
        dialogue.report("", EMPTY_SESSION)
        return None
    return SessionDraft(tuple(turns), started_at, clean(first_time), external_id=key)
