"""MemoryBank / SiliconFriend (Zhong et al., AAAI 2024, https://github.com/zhongwanjun/MemoryBank-SiliconFriend; MIT).

    {"<user>": {"name": "...", "history": {"2023-04-27": [{"query": "...", "response": "..."}, ...], ...},
      "meta_information": {"personality": "...", "hobbies": "...", "speaking_style": "..."}, "summary": {}, ...}}

A user becomes a persona of that name, described by the meta-information; a date becomes a session identified by it,
each query a turn of the user, each response one of the assistant. Summaries and the overall history were derived by
MemoryBank and are not read.
"""

from collections.abc import Iterator

from memory.bank.rows import clean
from memory.importers.reading.fields import EMPTY_TURN, Fields, list_objects, stream_objects
from memory.importers.reading.json_stream import outline
from memory.importers.reading.source import Record, Source, record_reader
from memory.types import PersonaDraft, Role, Skip, TurnDraft

NAME = "MemoryBank"

ASSISTANT = "Assistant"
UNNAMED = "unnamed"
META = (("personality", "Personality"), ("hobbies", "Hobbies"), ("speaking_style", "Speaking style"))


def sniff(head: bytes) -> bool:
    """Whether it is an object of users with a history of queries, or with MemoryBank's summaries."""
    return any(
        place[0] != "[]"
        and (place[1:] == ("overall_history",) or (len(place) == 5 and place[1] == "history" and place[4] == "query"))
        for place in outline(head)
    )


@record_reader
def read(skips: list[Skip], path: Source) -> Iterator[Record | None]:
    """Each user, day by day."""
    for key, user in stream_objects(path, skips):
        if not user.values:
            yield Skip(user.place, "expected a user with a history; skipped")
            continue
        user_id = clean(str(key))
        name = user.text("name").strip() or user_id.strip() or UNNAMED
        meta = user.object("meta_information")
        parts = (f"{label}: {text.rstrip('.。')}." for field, label in META if (text := meta.text(field).strip()))
        description = " ".join(parts)
        yield PersonaDraft(name=name, external_id=user_id, description=description)
        sides: tuple[tuple[str, str, Role], ...] = (("query", name, "user"), ("response", ASSISTANT, "assistant"))
        for date, exchanges, place in user.object("history").entries():
            turns = (
                TurnDraft(speaker, role, text)
                for exchange in list_objects(exchanges, place, skips)
                for side, speaker, role in sides
                if (text := exchange.required_text(side, EMPTY_TURN))
            )
            yield Fields({"date": date}, place, skips).session(turns, "date", external_id=date)
