"""SillyTavern's chats: JSON Lines; the first line names the speakers, each further line is a message.

    {"user_name": "Ana", "character_name": "Iris", "create_date": "2024-5-1@08h00m00s", "chat_metadata": {}}
    {"name": "Iris", "is_user": false, "is_system": false, "send_date": "May 1, 2024 8:00am", "mes": "Good morning.",
     "swipes": ["Good morning.", "Hello."], "swipe_id": 0}
    {"name": "Ana", "is_user": true, "send_date": "2024-05-01T08:01:00.000Z", "mes": "Where is my kayak?"}

Format as written by github.com/SillyTavern/SillyTavern (src/endpoints/chats.js) and read by
github.com/dmitryplyaskin/SillyInnkeeper (types/card-chats); newer files call both "unused" in the first line.

One history, named after and identified by the character who speaks first; a pause of six hours begins a session. `mes`
is the answer that was shown; the other swipes are reported, not kept. System messages are left out.
"""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime

from memory.bank.rows import clean
from memory.errors import UnreadableFile
from memory.importers.reading.dialogue import ChatLog
from memory.importers.reading.fields import EMPTY_TURN, Fields, parse_epoch, parse_moment, read_objects
from memory.importers.reading.json_stream import outline
from memory.importers.reading.source import Record, Source, record_reader
from memory.types import PersonaDraft, Role, Skip, TurnDraft

NAME = "SillyTavern chat"

UNNAMED = "unused"


def sniff(head: bytes) -> bool:
    """Whether its lines are messages that say whether the user wrote them."""
    return {("mes",), ("is_user",)} <= outline(head)


@record_reader
def read(skips: list[Skip], path: Source) -> Iterator[Record | None]:
    """The one chat of the file, session by session."""
    name = _find_character(path)
    yield PersonaDraft(name, f"sillytavern-{name}")
    log = ChatLog(skips)
    for line in read_objects(path, skips):
        if "mes" in line.values:
            turn = _read_turn(line)
            yield None
            if turn:
                yield from log.add(turn, line.place)
        elif "chat_metadata" not in line.values and "user_name" not in line.values:
            line.report("", "expected a message")
    yield from log.finish()


def _find_character(path: Source) -> str:
    """The name of the character; a file that breaks off before it is reported when it is read."""
    with suppress(UnreadableFile):
        for line in read_objects(path, []):
            if line.values.get("is_user") or line.values.get("is_system"):
                continue
            named = line.text("name" if "mes" in line.values else "character_name").strip()
            if named and named != UNNAMED:
                return named
    return clean(path.stem)


def _read_turn(line: Fields) -> TurnDraft | None:
    if line.values.get("is_system"):
        line.report("", "a system message, or one hidden from the character")
        return None
    swipes = line.values.get("swipes")
    if isinstance(swipes, list) and len(swipes) > 1:
        line.report("swipes", f"only the answer that was shown is kept; left out: {len(swipes) - 1} others")
    text = line.required_text("mes", EMPTY_TURN).strip()
    if not text:
        return None
    role: Role = "user" if line.values.get("is_user") else "assistant"
    said_at = line.moment("send_date", _read_date)
    return TurnDraft(line.text("name").strip() or role, role, text, said_at, line.text("send_date"))


def _read_date(text: str) -> datetime | None:
    if "@" in text:  # "2024-5-1 @08h 00m 00s 123ms"
        text = text.replace(" ", "").partition("s")[0]
    return parse_epoch(text) or parse_moment(text, "%Y-%m-%d@%Hh%Mm%S", "%B %d, %Y %I:%M%p", "%b %d, %Y %I:%M%p")
