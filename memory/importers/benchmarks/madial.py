"""MADial-Bench's memory bank (He et al., NAACL 2025, https://github.com/hejunqing/MADial-Bench; MIT): JSON Lines.

    {"1": {"time": "2023-12-25", "scene": "Activity", "emotion": "Happy", "event": "...", "user-id": 1, "id": "1"}}

A line becomes an event with its emotion and scene, on its day, identified by its number. Memories with a `user-id`
belong to the history of that user ("madial-1"), those without one (all English ones) to one history ("madial"). The
file is not sorted by user. The dialogues are probes, which the evaluation reads.
"""

from collections.abc import Iterator

from memory.importers.reading.fields import read_objects
from memory.importers.reading.json_stream import outline
from memory.importers.reading.source import Record, Source, record_reader
from memory.types import MemoryDraft, PersonaDraft, Skip

NAME = "MADial-Bench"


def sniff(head: bytes) -> bool:
    """Whether its objects contain, under a number, an event with a scene or an emotion."""
    places = outline(head)
    events = {place[0] for place in places if place[1:] == ("event",) and place[0] != "[]"}
    return any((key, name) in places for key in events for name in ("scene", "emotion"))


@record_reader
def read(skips: list[Skip], path: Source) -> Iterator[Record | None]:
    """Each memory, after the user it belongs to where that is another than before."""
    current = None
    for line in read_objects(path, skips):
        for key, fields in line.object_entries():
            text, user = fields.required_text("event", "memory without an event"), fields.text("user-id")
            if not text:
                continue
            persona = PersonaDraft(f"{NAME} user {user}", f"madial-{user}") if user else PersonaDraft(NAME, "madial")
            if persona != current:
                yield (current := persona)
            yield MemoryDraft(
                "event",
                text,
                event=fields.span("time"),
                event_text=fields.text("time"),
                emotion=fields.text("emotion"),
                scene=fields.text("scene"),
                external_id=key,
            )
