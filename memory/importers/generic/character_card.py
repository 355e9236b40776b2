"""Character cards, as SillyTavern and others share them: JSON, or a PNG that carries it.

    {"spec": "chara_card_v2", "spec_version": "2.0", "data": {"name": "Iris", "description": "{{char}} keeps bees.",
      "personality": "patient, dry", "tags": ["village"], "scenario": "...", "first_mes": "Good morning, {{user}}.",
      "mes_example": "...", "system_prompt": "...", "post_history_instructions": "...", "creator_notes": "...",
      "alternate_greetings": ["..."], "character_book": {"entries": [
        {"keys": ["hive"], "content": "The hives stand behind the church.", "enabled": true}]}}}

Versions 2 and 3 (`chara_card_v3`), and version 1, whose fields are at the top; as specified by
github.com/malfoyslastname/character-card-spec-v2 (spec_v2.md, spec_v1.md) and
github.com/kwaroran/character-card-spec-v3 (SPEC_V3.md).

A card becomes a persona, identified by a hash of its fields. Description, personality, tags, scenario, first message
and examples of dialogue are used, as far as a prompt has room for them. `{{char}}` and `{{user}}` are replaced in the
first three and stay in the others, which `graph.replies.card` reads. The lorebook becomes memories of the store
`world`. Prompts, instructions and other greetings are stored, never followed: they go unchanged into one session, "The
card", of which nothing is recalled. A card contains nothing about the user; its scripts and extensions are not read.

A PNG is a signature and chunks of length, type, data and checksum (W3C PNG specification, 5). The card is in a `tEXt`
chunk, keyword `chara` (version 2) or `ccv3` (version 3), as JSON in base64. Of two cards, version 3 is read. The image
is the persona's picture, cut small.
"""

import base64
import io
import re
import struct
import zlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from memory import read_table
from memory.bank.rows import clean, digest
from memory.importers.reading.fields import Fields
from memory.importers.reading.json_stream import outline, stream_values
from memory.importers.reading.source import Part, Record, Source, record_reader
from memory.types import MemoryDraft, PersonaDraft, SessionDraft, Skip, TurnDraft

NAME = "character card"

SPECIFIED = frozenset({("spec",), ("data", "name")})
VERSION_1 = frozenset({("name",), ("description",), ("first_mes",)})

CHARACTER = re.compile(r"\{\{\s*char\s*\}\}|<BOT>", re.IGNORECASE)
USER = re.compile(r"\{\{\s*user\s*\}\}|<USER>", re.IGNORECASE)
FIELDS = read_table(__file__)

MAX_CHARACTERS = 6_000
"""The longest text of a persona: it is part of every prompt, beside the memories."""
MAX_TRAITS = 30
MAX_TRAIT_CHARACTERS = 200

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
CARD_KEYWORDS = (b"ccv3", b"chara")
CHUNK = struct.Struct(">L4s")
CHECKSUM = struct.Struct(">L")

MAX_TEXT_BYTES = 1 << 25
"""The longest text chunk that is read; a card with a lorebook is under 1 MB."""

MAX_PIXELS = 1 << 24
"""The largest image that is decoded; cards have under a million pixels."""

PICTURE_FORMATS = ("PNG", "JPEG", "WEBP")
PICTURE_SIDE = 96
"""Pixels of a side of a persona's picture; the chat shows it at half of that."""


def sniff(head: bytes) -> bool:
    """Whether it names a card's specification, or has the fields of version 1."""
    places = outline(head)
    return places >= SPECIFIED or places >= VERSION_1


@record_reader
def read(skips: list[Skip], path: Source) -> Iterator[Record | None]:
    """The persona, the session with the rest of the card, and the lorebook."""
    values = {str(place[0]): value for place, value in stream_values(path) if place}
    document = Fields(values, "card", skips)
    card = document.object("data") if "data" in values else document
    name = " ".join(card.text("name").split()) or clean(path.stem)
    yield replace(_read_persona(card, name), picture=path.picture if isinstance(path, Part) else "")
    if turns := tuple(_read_kept(card)):
        yield SessionDraft(turns, external_id="card", title="The card")
    yield from _read_lore(card.object("character_book"), name)


def _read_persona(card: Fields, name: str) -> PersonaDraft:
    description, personality = (_spell_out(card.text(field), name) for field in ("description", "personality"))
    traits = [personality] if len(personality) <= MAX_TRAIT_CHARACTERS else []
    if not traits:
        description = f"{description}\n{personality}".strip()
    traits += [tag.strip() for tag in card.texts("tags")]
    traits = list(dict.fromkeys(trait for trait in traits if trait))
    if len(traits) > MAX_TRAITS or any(len(trait) > MAX_TRAIT_CHARACTERS for trait in traits):
        card.report("tags", f"more than {MAX_TRAITS}, or longer than {MAX_TRAIT_CHARACTERS} characters; shortened")
    identity = digest(*(card.values.get(field, "") for field in FIELDS["identity"]))
    return PersonaDraft(
        name,
        f"card-{identity[:12]}",
        _shorten(card, "description", description),
        tuple(trait[:MAX_TRAIT_CHARACTERS] for trait in traits[:MAX_TRAITS]),
        scenario=_shorten(card, "scenario", card.text("scenario").strip()),
        first_message=_shorten(card, "first_mes", card.text("first_mes").strip()),
        examples=_shorten(card, "mes_example", card.text("mes_example").strip()),
    )


def _shorten(card: Fields, field: str, text: str) -> str:
    if len(text) > MAX_CHARACTERS:
        card.report(field, f"{len(text):,} characters; only the first {MAX_CHARACTERS:,} are used")
    return text[:MAX_CHARACTERS]


def _read_kept(card: Fields) -> Iterator[TurnDraft]:
    """Instructions, and texts that are too long for the persona, as turns that are never recalled."""
    for field, label in (FIELDS["used"] | FIELDS["kept"]).items():
        content = card.values.get(field)
        if field in FIELDS["used"] and not (isinstance(content, str) and len(content) > MAX_CHARACTERS):
            continue
        for text in card.texts(field) if isinstance(content, list) else [card.text(field)]:
            if text.strip():
                yield TurnDraft(label, "other", text, recallable=False)


def _read_lore(book: Fields, name: str) -> Iterator[MemoryDraft]:
    for number, entry in enumerate(book.objects("entries"), start=1):
        if entry.values.get("enabled") is False:
            entry.report("", "a disabled entry of the lorebook")
        elif content := entry.required_text("content", "an entry of the lorebook without text"):
            text = _spell_out(content, name)
            keys = ", ".join(key for key, _ in entry.items("keys") if isinstance(key, str))
            yield MemoryDraft("world", text, key=f"{keys}: {text}" if keys else "", external_id=f"lore-{number}")


def _spell_out(text: str, name: str) -> str:
    """A text of the card with the placeholders of the two names replaced."""
    # A function, because a name may contain what `re.sub` would expand.
    return USER.sub("the user", CHARACTER.sub(lambda _: name, text)).strip()


def read_card(path: Path) -> Part:
    """The card in a PNG, as JSON.

    Raises:
        ValueError: there is none, the file breaks off, or its card is damaged or longer than `MAX_TEXT_BYTES`.
    """
    cards: dict[bytes, bytes] = {}
    try:
        with path.open("rb") as file:
            for data in _text_chunks(file):
                keyword, _, text = data.partition(b"\x00")
                if keyword in CARD_KEYWORDS:
                    cards[keyword] = base64.b64decode(text, validate=True)
    except (EOFError, ValueError, OSError) as fault:
        reason = f"it looks like a picture, but {fault}"
        raise ValueError(f"{reason}; expected a complete PNG whose card is JSON in base64") from fault
    if not cards:
        raise ValueError("it looks like a picture without a character card in it")
    card = next(cards[keyword] for keyword in CARD_KEYWORDS if keyword in cards)
    return Part(path.name, path.stem, len(card), lambda mode: io.BytesIO(card), cut_small(path))


def cut_small(path: Path) -> str:
    """The middle of an image as a small one in a `data:` address; empty if the image is damaged or too large."""
    from PIL import Image, ImageOps  # only pictures need it

    try:
        with Image.open(path, formats=PICTURE_FORMATS) as image:
            if image.width * image.height > MAX_PIXELS:
                return ""
            # Of a portrait the upper part: there is the face.
            small = ImageOps.fit(image.convert("RGB"), (PICTURE_SIDE, PICTURE_SIDE), centering=(0.5, 0.2))
    except (OSError, ValueError, SyntaxError):  # how Pillow says that an image is damaged
        return ""
    small.save(jpeg := io.BytesIO(), "JPEG", quality=85)
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg.getvalue()).decode()}"


def _text_chunks(file: BinaryIO) -> Iterator[bytes]:
    size = file.seek(0, 2)
    file.seek(len(PNG_SIGNATURE))
    while header := file.read(CHUNK.size):
        if len(header) < CHUNK.size:
            raise EOFError("it ends unexpectedly")
        length, kind = CHUNK.unpack(header)
        end = file.tell() + length + CHECKSUM.size
        if end > size:
            raise EOFError(f"it ends unexpectedly in a chunk of {length:,} bytes")
        if kind == b"tEXt":
            if length > MAX_TEXT_BYTES:
                raise ValueError(f"a text in it is {length:,} bytes long, over {MAX_TEXT_BYTES:,}")
            data = file.read(length)
            if CHECKSUM.unpack(file.read(CHECKSUM.size)) != (zlib.crc32(kind + data),):
                raise ValueError("the checksum of a text in it is wrong")
            yield data
        if kind == b"IEND":
            return
        file.seek(end)
