"""Make personas with memories and questions, and the two files of their benchmark, as the adapter reads them.

OUT/perltmem_generated.json    the banks of all personas
OUT/perltqa_generated.json     their questions

A persona's memories are made in six steps (PerLTQA, Du et al. 2024, section 3.1 and appendix A.1):

    1 seed profile   occupation, education, hobbies, relationships and initials are drawn; the model finds a name
    2 profile        the model fills in the other fields of figure 6
    3 relationships  a person for each of ten kinds that were drawn
    4 events         for each person, on a drawn topic: its background, then the event, after an example
    5 dialogues      one about each event, of the persona with the AI assistant
    6 validation     the model scores each event with its dialogue; what is below the threshold goes

The bank is an object as in the English release (see `memory.importers.benchmarks.perltqa`). Deviations: an event comes
with its background in one reply; dates are drawn, so that they are valid and a dialogue comes after its event; where
people sampled and corrected memories, rules drop what table 7 lists (fields that say nothing, second partners, brief
events), and the model scores every event. `seeds.json` has as many groups as the paper's seed data (10 of occupations,
7 of hobbies, 49 of topics, 50 kinds of relationships) with fewer entries in each, written for Memoir.

The model writes questions with answers about each memory (section 3.2 and appendix A.2), names the words of each answer
that carry it, and scores all three. The authors keep what scores 10, look at 6 to 9, and discard the rest; here the
threshold decides, and `Score` stands beside each question, so that people can look at those below 10. A memory anchor
is a segment of the answer that the memory has, too, without function words at its ends (table 7, "blurred boundaries");
its two numbers are its place in the memory as Memoir remembers it. A question without an anchor is left out, as is one
that was asked before.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from eval.benchmarks.perltqa.adapter import BANK, QUESTIONS, REFERENCE, SECTIONS
from eval.benchmarks.reading import gather
from eval.making.generation import Generation, LeftOut, Part, Writer, check_question, leave_out_if
from memory.importers.benchmarks import perltqa as importer
from memory.importers.reading.dialogue import split_utterance
from memory.search.tokens import FUNCTION_WORDS, terms, words

Bank = dict[str, dict[str, Any]]
"""The sections of a persona: profile, social_relationship, events, dialogues."""

ASSISTANT = "AI Assistant"

FIRST_DAY, DAYS = datetime(2021, 1, 1), 3 * 365
"""When events happen."""

BRIEF = 30
"""An event has more words than this (table 7, "brief event narratives"); the paper's have 313 on average."""

SEEDS: Mapping[str, Any] = json.loads(Path(__file__).with_name("seeds.json").read_text("utf-8"))

_NOTHING = re.compile(
    r"\W*(?:(?:not|none|nothing)(?: (?:provided|specified|stated|available|applicable|known|given|mentioned))?"
    r"|unknown|unspecified|undisclosed|n/?a|null|string)?\W*",
    re.IGNORECASE,
)

HOBBIES, RELATIONSHIPS = 3, 10
"""Drawn for each persona; ten is also the number of kinds that the paper's prompt offers (appendix A.1)."""

INITIALS = "ABCDEFGHIJKLMNOPRSTVWYZ"
"""A model that always replies the same names gives other ones for other letters."""

PARTNERS = "romantic partners"
"""The group of which a persona has one at most: a wife beside a girlfriend is an error of table 7."""


def generate(generation: Generation, personas: int) -> dict[str, int]:
    """Make the personas that the folder lacks, then the benchmark's two files; return what these hold, by kind.

    Raises `MemoirError` if the folder was made by another plan, the model does not reply, or no question was made.
    """
    made = generation.make("persona", range(1, personas + 1), _make_persona)
    asked = [{persona["name"]: persona["questions"]} for persona in made if any(persona["questions"].values())]
    generation.require(asked, "question")
    generation.write(f"{BANK}_generated.json", {persona["name"]: persona["bank"] for persona in made})
    generation.write(f"{QUESTIONS}_generated.json", asked)
    items = [item for persona in made for section in persona["questions"].values() for item in section]
    return {
        "personas": len(made),
        "memories": sum(len(section) for persona in made for section in persona["bank"].values()),
        # All sections but the profile group them by memory.
        "questions": sum(1 if "Question" in item else sum(map(len, item.values())) for item in items),
    }


def _make_persona(number: int, writer: Writer) -> Part:
    """Make a persona; raises `LeftOut` if there is no name or no profile."""
    seed = draw_seed(writer.generation.seed, number)
    name = _name(seed, writer)
    bank: Bank = {"profile": _profile(seed, name, writer)}
    bank["social_relationship"] = dict(_relationships(seed, bank, writer))
    bank["events"] = dict(_events(seed, bank, writer))
    bank["dialogues"] = dict(_dialogues(seed, bank, writer))
    bank = _validated(bank, writer)
    return {"name": name, "bank": bank, "questions": _questions(name, bank, writer)}


# --- memories


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


def draw_seed(seed: int, number: int) -> Seed:
    """The seed of the persona of that number; it depends on no other persona."""
    draw, people = Random(f"{seed} {number}"), SEEDS["relationships"]
    field = SEEDS["occupations"][draw.choice(list(SEEDS["occupations"]))]
    groups = draw.sample(list(SEEDS["hobbies"].values()), HOBBIES)
    people = people | {PARTNERS: [draw.choice(people[PARTNERS])]}
    possible = [kind for kinds in people.values() for kind in kinds]
    return Seed(
        number,
        " ".join(f"{letter}." for letter in draw.sample(INITIALS, 2)),
        draw.choice(field["specialties"]),
        draw.choice(field["education"]),
        tuple(draw.choice(group) for group in groups),
        tuple(draw.sample(possible, RELATIONSHIPS)),
        draw,
    )


def _name(seed: Seed, writer: Writer) -> str:
    writer.begin("seed profile")
    taken = sorted(persona["name"] for persona in writer.finished)
    used = {name.casefold() for name in taken}
    told = {"occupation": seed.occupation, "initials": seed.initials, "names_in_use": taken}
    for each in writer.require("Names", "no new name: ", **told).names:
        name = f"{each.first_name} {each.family_name}"
        if _is_name(name) and name.casefold() not in used:
            return name
    raise LeftOut("no new name: those given are in use, or are no full names")


def _profile(seed: Seed, name: str, writer: Writer) -> dict[str, Any]:
    writer.begin("profile")
    profile = {"Protagonist": name, "Occupation": seed.occupation, "Hobbies": ", ".join(seed.hobbies)}
    profile["Education Background"] = seed.education
    reply = writer.require("Profile", f"no profile of {name}: ", person=profile)
    for field, value in reply.model_dump().items():
        with writer.leave_out():
            leave_out_if(bool(_NOTHING.fullmatch(str(value))), "field that says nothing")
            profile[field.replace("_", " ").title().replace(" And ", " and ")] = str(value)
    return profile


def _relationships(seed: Seed, bank: Bank, writer: Writer) -> Iterator[tuple[str, dict[str, str]]]:
    writer.begin("relationships")
    kinds, names = {kind.casefold() for kind in seed.relationships}, [bank["profile"]["Protagonist"].casefold()]
    with writer.leave_out():
        for each in writer.ask("Relationships", person=bank["profile"], kinds=seed.relationships).relationships:
            kind, name = each.relationship.casefold(), each.name.casefold()
            with writer.leave_out():
                leave_out_if(kind not in kinds, "of no kind that was drawn, or the second one of its kind")
                is_new = _is_name(each.name) and name not in names and each.description
                leave_out_if(not is_new, "no new full name, or no description")
                entry = {"Supporting Characters": each.name, "Description": each.description}
                yield f"{seed.number}_{len(names) - 1}", entry | {"Relationship": each.relationship}
                kinds.remove(kind)
                names.append(name)


def _events(seed: Seed, bank: Bank, writer: Writer) -> Iterator[tuple[str, dict[str, Any]]]:
    profile, earlier = bank["profile"], {key: list[str]() for key in bank["social_relationship"]}
    for key in writer.each("events", [key for key in earlier for _ in range(writer.generation.options["events"])]):
        other, (topic, parts) = bank["social_relationship"][key], seed.draw.choice(list(SEEDS["topics"].items()))
        about = topic, seed.draw.choice(parts)
        day = f"{FIRST_DAY + timedelta(days=seed.draw.randrange(DAYS)):%Y-%m-%d}"
        told = {"person": profile, "other_person": other, "topic": about, "date": day, "earlier_events": earlier[key]}
        with writer.leave_out():
            event = writer.ask("Event", **told)
            leave_out_if(len(words(event.content)) <= BRIEF, "brief")
            names = (profile["Protagonist"], other["Supporting Characters"])
            has_both = all(set(terms(name)) & set(terms(event.content)) for name in names)
            leave_out_if(not has_both, "one of the two people is not in it")
            leave_out_if(event.summary in earlier[key], "told before")
            entry = {"summary": event.summary, "content": event.content, "Creation Time": day, "Theme": topic}
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
            said = [(each.person, each.assistant) for each in writer.ask("Dialogue", **told).exchanges]
            exchanges = list(dict.fromkeys(each for each in said if all(each)))
            leave_out_if(len(exchanges) < 2, "brief")
            lines = [f"{who}: {text}" for each in exchanges for who, text in zip((name, ASSISTANT), each, strict=True)]
            yield f"{key}#{number}", {"events": key, "contents": {f"{moment:%Y-%m-%d %H:%M}": lines}}


def _validated(bank: Bank, writer: Writer) -> Bank:
    """The bank without events below the threshold and their dialogues, and without people of no event (table 7)."""
    people, events, dialogues = bank["social_relationship"], dict[str, Any](), bank["dialogues"]
    for key, event in writer.each("validation", list(bank["events"].items())):
        told = {"person": bank["profile"], "other_person": people[key.rpartition("_")[0]], "event": event}
        told["dialogue"] = [each["contents"] for each in dialogues.values() if each["events"] == key]
        with writer.leave_out():
            writer.score("MemoryScore", "event below the threshold", **told)
            events[key] = event
    known = dict[str, Any]()
    for key, person in people.items():
        with writer.leave_out():
            leave_out_if(not any(event.startswith(f"{key}_") for event in events), "person without an event")
            known[key] = person
    kept = {name: each for name, each in dialogues.items() if each["events"] in events}
    return bank | {"social_relationship": known, "events": events, "dialogues": kept}


def _is_name(text: str) -> bool:
    """Whether it is a full name that can stand before the colon of an utterance."""
    parts = text.split()
    is_full = 2 <= len(parts) <= 5 and parts[0][0].isupper() and parts[-1][0].isupper()
    return is_full and text.casefold() != ASSISTANT.casefold() and split_utterance(f"{text}: .") == (text, ".")


# --- questions


def _questions(name: str, bank: Bank, writer: Writer) -> dict[str, list[Any]]:
    """Questions about each memory of a bank, one about each field of the profile."""
    questions: dict[str, list[Any]] = {section: [] for section in SECTIONS}
    asked: set[str] = set()
    for section, key, text in writer.each("questions", list(_memories(name, bank))):
        is_field = section == "profile"
        items = list(_items(name, text, 1 if is_field else writer.generation.options["questions"], asked, writer))
        for item in items:
            item[REFERENCE] = key if is_field else str([key])
        if items:
            questions[section].extend(items if is_field else [{key: items}])
    return questions


def _memories(name: str, bank: Bank) -> Iterator[tuple[str, str, str]]:
    """Section, id and text of each memory as the importer reads it; the name itself is not asked for."""
    sections = {store: section for section, store in SECTIONS.items()}
    (imported,) = gather(importer.read_character((name,), bank))
    for memory in imported.memories:
        if memory.external_id != "Protagonist":
            yield sections[memory.store], memory.external_id, memory.text
    for session in imported.sessions:
        text = "\n".join(f"{turn.speaker}: {turn.text}" for turn in session.turns)
        yield sections["dialogue"], session.external_id, text


def _items(name: str, memory: str, most: int, asked: set[str], writer: Writer) -> Iterator[dict[str, Any]]:
    with writer.leave_out():
        reply = writer.ask("Questions", person=name, memory=memory, number_of_questions=most)
        for pair in reply.questions[:most]:
            told = {"memory": memory, **pair.model_dump()}
            with writer.leave_out():
                check_question(pair.question, pair.answer, asked)
                anchors = find_anchors(writer.ask("Anchors", **told).anchors, pair.answer, memory)
                leave_out_if(not anchors, "no anchor that answer and memory share")
                score = writer.score("PairScore", "below the threshold", **told, key_phrases=list(anchors))
                listed = [{text: place} for text, place in anchors.items()]
                yield {"Question": pair.question, "Answer": pair.answer, "Memory Anchors": listed, "Score": score}


def find_anchors(candidates: Iterable[str], answer: str, memory: str) -> dict[str, list[int]]:
    """The candidates that are in both texts, each once, as the answer spells them, with their place in the memory.

    Whole words are compared, in any case, without function words at the ends of a candidate.
    """
    anchors: dict[str, list[int]] = {}
    for candidate in candidates:
        parts = [part.strip(" \t.,;:!?\"'“”()") for part in candidate.split()]
        content = [place for place, part in enumerate(parts) if part and part.casefold() not in FUNCTION_WORDS]
        if content:
            wanted = r"\s+".join(map(re.escape, parts[content[0] : content[-1] + 1]))
            there, found = (re.search(rf"(?<!\w){wanted}(?!\w)", text, re.IGNORECASE) for text in (answer, memory))
            if there and found:
                anchors.setdefault(there[0], list(found.span()))
    return anchors
