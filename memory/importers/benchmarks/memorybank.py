"""MemoryBank / SiliconFriend (Zhong et al., AAAI 2024, https://github.com/zhongwanjun/MemoryBank-SiliconFriend; MIT).

    {"<user>": {"name": "...", "history": {"2023-04-27": [{"query": "...", "response": "..."}, ...], ...},
      "meta_information": {"personality": "...", "hobbies": "...", "speaking_style": "..."}, "summary": {}, ...}}

A user becomes a persona of that name, described by the meta-information; a date becomes a session identified by it,
each query a turn of the user, each response one of the assistant. Summaries and the overall history were derived by
MemoryBank and are not read.
"""

from collections.abc import Iterator

from memory.bank.rows import clean
from memory.importers.reading.fields import EMPTY_SESSION, EMPTY_TURN, Fields, list_items, pop_skips
from memory.importers.reading.json_stream import format_place, outline, stream_values
from memory.importers.reading.source import Record, Source, count_records
from memory.types import PersonaDraft, Role, SessionDraft, Skip, TurnDraft

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


@count_records
def read(path: Source) -> Iterator[Record]:
    """Each user, day by day."""
    skips: list[Skip] = []
    for place, value in stream_values(path):
        user = Fields.of(value, format_place(place), skips)
        if not place or not user.values:
            yield from pop_skips(skips)
            yield Skip(format_place(place), "expected a user with a history; skipped")
            continue
        key = clean(str(place[0]))
        name = user.text("name").strip() or key.strip() or UNNAMED
        yield PersonaDraft(name=name, external_id=key, description=_describe(user))
        for date, exchanges, where in user.object("history").entries():
            draft = _read_session(name, Fields({"date": date}, where, skips), exchanges)
            yield from pop_skips(skips, draft)


def _read_session(user: str, day: Fields, exchanges: object) -> SessionDraft | None:
    turns = []
    sides: tuple[tuple[str, str, Role], ...] = (("query", user, "user"), ("response", ASSISTANT, "assistant"))
    for value, place in list_items(exchanges, day.place, day.skips):
        exchange = Fields.of(value, place, day.skips)
        for side, speaker, role in sides:
            if (text := exchange.text(side)).strip():
                turns.append(TurnDraft(speaker, role, text))
            elif exchange.values:
                exchange.report(side, EMPTY_TURN)
    if not turns:
        day.report("", EMPTY_SESSION)
        return None
    date = day.text("date")
    return SessionDraft(tuple(turns), day.moment("date"), started_text=date, external_id=date)


def _describe(user: Fields) -> str:
    meta = user.object("meta_information")
    return " ".join(f"{label}: {text.rstrip('.。')}." for name, label in META if (text := meta.text(name).strip()))
