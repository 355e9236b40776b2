"""Character cards, as SillyTavern and others share them: JSON, or a PNG that carries it
(`memory.importers.reading.png`).

    {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Iris", "description": "{{char}} keeps bees.",
      "personality": "patient, dry", "tags": ["village"], "scenario": "...", "first_mes": "Good morning, {{user}}.",
      "mes_example": "...", "system_prompt": "...", "post_history_instructions": "...", "creator_notes": "...",
      "alternate_greetings": ["..."], "character_book": {"entries": [
        {"keys": ["hive"], "content": "The hives stand behind the church.", "enabled": true}]}}}

Versions 2 and 3 (`chara_card_v3`), and version 1, whose fields are at the top; as specified by
github.com/malfoyslastname/character-card-spec-v2 (spec_v2.md, spec_v1.md) and
github.com/kwaroran/character-card-spec-v3 (SPEC_V3.md).

A card becomes a persona, told from others of its name by what it says: description, personality and tags are taken,
as far as a prompt has room for them, `{{char}}` and `{{user}}` spelled out. Its book of lore becomes memories about
the world. What a card would put into a prompt or into the character's mouth is neither said nor obeyed: it is kept as
it stands in one session, "The card", of which nothing is recalled. A card tells nothing of the user, and its scripts
and extensions are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory.bank.rows import clean, digest
from memory.importers.reading.fields import Fields, clean_text, json_type, pop_skips
from memory.importers.reading.json_stream import outline, stream_values
from memory.importers.reading.source import Record, Source, count_records
from memory.types import MemoryDraft, PersonaDraft, SessionDraft, Skip, TurnDraft

NAME = "character card"

SPECIFIED = frozenset({("spec",), ("data", "name")})
VERSION_1 = frozenset({("name",), ("description",), ("first_mes",)})

CHARACTER = re.compile(r"\{\{char\}\}|<BOT>", re.IGNORECASE)
USER = re.compile(r"\{\{user\}\}|<USER>", re.IGNORECASE)
KEPT = {
    "scenario": "scenario",
    "first_mes": "first message",
    "alternate_greetings": "another first message",
    "group_only_greetings": "first message in a group",
    "mes_example": "examples of dialogue",
    "system_prompt": "system prompt",
    "post_history_instructions": "instructions after the history",
    "creator_notes": "skips of the creator",
}

MOST_DESCRIPTION = 6_000
"""Characters of a description: it is before a model's eyes at every question, beside what is remembered."""
MOST_TRAITS = 30
LONGEST_TRAIT = 200


def sniff(head: bytes) -> bool:
    """Whether it says that it is a card, or has the fields of the first version."""
    places = outline(head)
    return places >= SPECIFIED or places >= VERSION_1


@count_records
def read(path: Source) -> Iterator[Record]:
    """The persona, what is kept of the card, and its lore."""
    skips: list[Skip] = []
    values = {str(place[0]): value for place, value in stream_values(path, lambda place: not place) if place}
    whole = Fields(values, "card", skips)
    card = whole.object("data") if "data" in values else whole
    name = " ".join(card.text("name").split()) or clean(path.stem)
    persona = _read_persona(card, name)
    yield persona
    yield from pop_skips(skips)
    kept = tuple(_read_kept(card))
    yield from pop_skips(skips)
    if kept:
        yield SessionDraft(kept, external_id="card", title="The card")
    for memory in _read_lore(card.object("character_book"), name):
        yield from pop_skips(skips)
        yield memory
    yield from pop_skips(skips)


def _read_persona(card: Fields, name: str) -> PersonaDraft:
    description, personality = (_spell_out(card.text(field), name) for field in ("description", "personality"))
    traits = [personality] if len(personality) <= LONGEST_TRAIT else []
    if not traits:
        description = f"{description}\n{personality}".strip()
    for value, place in card.items("tags"):
        if isinstance(value, str):
            traits.append(clean_text(value, place, card.skips).strip())
        else:
            card.skips.append(Skip(place, f"expected text, found {json_type(value)}"))
    traits = list(dict.fromkeys(trait for trait in traits if trait))
    if len(description) > MOST_DESCRIPTION:
        card.report(
            "description", f"{len(description):,} characters long; the first {MOST_DESCRIPTION:,} are the persona's"
        )
    if len(traits) > MOST_TRAITS or any(len(trait) > LONGEST_TRAIT for trait in traits):
        card.report("tags", f"more than {MOST_TRAITS}, or longer than {LONGEST_TRAIT} characters; shortened")
    identity = digest(*(card.values.get(field, "") for field in ("name", "description", "personality", *KEPT)))
    return PersonaDraft(
        name,
        f"card-{identity[:12]}",
        description[:MOST_DESCRIPTION],
        tuple(trait[:LONGEST_TRAIT] for trait in traits[:MOST_TRAITS]),
    )


def _read_kept(card: Fields) -> Iterator[TurnDraft]:
    """What would steer a model, and a description too long to be the persona's, as turns that nobody recalls."""
    long = {name: name for name in ("description", "personality") if len(card.text(name)) > MOST_DESCRIPTION}
    for field, label in {**long, **KEPT}.items():
        given = card.values.get(field)
        texts = [(given, card.place_of(field))] if not isinstance(given, list) else list(card.items(field))
        for value, place in texts:
            if isinstance(value, str) and value.strip():
                text = clean_text(value, place, card.skips)
                yield TurnDraft(label, "other", text, recallable=False)
            elif value is not None and not isinstance(value, str):
                card.skips.append(Skip(place, f"expected text, found {json_type(value)}"))


def _read_lore(book: Fields, name: str) -> Iterator[MemoryDraft]:
    for number, (value, place) in enumerate(book.items("entries"), start=1):
        entry = Fields.of(value, place, book.skips)
        if not isinstance(value, dict):
            continue
        text = _spell_out(entry.text("content"), name)
        if entry.values.get("enabled") is False:
            entry.report("", "an entry of the book that is switched off")
        elif not text:
            entry.report("content", "an entry of the book without text")
        else:
            keys = ", ".join(key for key, _ in entry.items("keys") if isinstance(key, str))
            yield MemoryDraft("world", text, key=f"{keys}: {text}" if keys else "", external_id=f"lore-{number}")


def _spell_out(text: str, name: str) -> str:
    """A text of the card about the character, the marks for the two names replaced."""
    # A function, for the name must not be read as a pattern's replacement.
    return USER.sub("the user", CHARACTER.sub(lambda _: name, text)).strip()
