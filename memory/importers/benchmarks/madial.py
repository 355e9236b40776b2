"""MADial-Bench's memory bank (He et al., NAACL 2025, https://github.com/hejunqing/MADial-Bench; MIT): JSON Lines.

    {"1": {"time": "2023-12-25", "scene": "Activity", "emotion": "Happy", "event": "...", "user-id": 1, "id": "1"}}

A line becomes an event with its emotion and scene, on its day, identified by its number. Memories with a `user-id`
belong to the history of that user ("madial-1"), those without one (all English ones) to one history ("madial"). The
file is not sorted by user, but is handed over user by user. The dialogues are probes, which the evaluation reads.
"""

from collections.abc import Iterator

from memory.errors import UnreadableFile
from memory.importers.reading.fields import Fields, read_objects
from memory.importers.reading.json_stream import outline
from memory.importers.reading.source import Record, Source, record_reader
from memory.types import MemoryDraft, PersonaDraft, Skip

NAME = "MADial-Bench"

# The published bank has 171 memories; a larger file is handed over in parts, each of which names the histories again.
MAX_BUFFERED = 10_000


def sniff(head: bytes) -> bool:
    """Whether its objects contain, under a number, an event with a scene or an emotion."""
    places = outline(head)
    events = {place[0] for place in places if place[1:] == ("event",) and place[0] != "[]"}
    return any((key, name) in places for key in events for name in ("scene", "emotion"))


@record_reader
def read(_: list[Skip], path: Source) -> Iterator[Record]:
    """Each user's memories; up to `MAX_BUFFERED` records are in memory to group them by user."""
    buffered: dict[PersonaDraft, list[MemoryDraft]] = {}
    skips: list[Skip] = []
    try:
        for line in read_objects(path, skips):
            for key, fields in line.object_entries():
                if memory := _read_memory(key, fields):
                    buffered.setdefault(_find_persona(fields.text("user-id")), []).append(memory)
            if len(skips) + sum(map(len, buffered.values())) >= MAX_BUFFERED:
                yield from _release(buffered, skips)
    except UnreadableFile:
        yield from _release(buffered, skips)
        raise
    yield from _release(buffered, skips)


def _release(buffered: dict[PersonaDraft, list[MemoryDraft]], skips: list[Skip]) -> Iterator[Record]:
    for persona, memories in buffered.items():
        yield persona
        yield from memories
    buffered.clear()
    yield from skips
    skips.clear()


def _read_memory(key: str, fields: Fields) -> MemoryDraft | None:
    text = fields.required_text("event", "memory without an event")
    if not text:
        return None
    return MemoryDraft(
        "event",
        text,
        event=fields.span("time"),
        event_text=fields.text("time"),
        emotion=fields.text("emotion"),
        scene=fields.text("scene"),
        external_id=key,
    )


def _find_persona(user: str) -> PersonaDraft:
    if user:
        return PersonaDraft(name=f"{NAME} user {user}", external_id=f"madial-{user}")
    return PersonaDraft(name=NAME, external_id="madial")
