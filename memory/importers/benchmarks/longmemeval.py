"""LongMemEval (Wu et al., ICLR 2025, https://github.com/xiaowu0162/LongMemEval; MIT): one history a question.

    [{"question_id": "...", "haystack_dates": ["2023/05/01 (Mon) 11:16", ...], "haystack_session_ids": ["...", ...],
      "haystack_sessions": [[{"role": "user", "content": "..."}, ...], ...], "question": ..., "answer": ..., ...}, ...]

A question becomes a persona identified by its question_id; a haystack session a session with its id and date, in the
file's order, which is not always chronological. A turn's external id is the official one, `<session id>_<n>` from 1,
counting empty turns. The question, the answer, `answer_session_ids` and `has_answer` are gold and are not read. A
session id that occurs twice in one history becomes `<id>#2`. Only one session is in memory at a time.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, groupby
from typing import Any

from memory.importers.reading.fields import EMPTY_TURN, ROLES, Fields, list_objects
from memory.importers.reading.json_stream import Place, format_place, has_any, stream_values
from memory.importers.reading.source import Record, Source, record_reader
from memory.types import PersonaDraft, SessionDraft, Skip, TurnDraft

NAME = "LongMemEval"
sniff = has_any(("[]", "haystack_sessions"), ("[]", "haystack_dates"))

# The fields that must be known before a session can be handed over; in the official files they come first.
NEEDED = frozenset({"question_id", "haystack_dates", "haystack_session_ids"})
SESSIONS = "haystack_sessions"
Part = tuple[Place, Any]
WEEKDAY = re.compile(r"\(\w+\)")


def read(path: Source) -> Iterator[Record]:
    """Each question's history, session by session."""
    values = stream_values(path, lambda place: len(place) < 2 or place[1:] == (SESSIONS,))
    for step, parts in groupby(values, lambda part: part[0][:1]):
        yield from _read_history(step, parts)


def read_question(index: int, values: Mapping[str, Any]) -> Iterator[Record]:
    """One question's history, from its complete object; `index` is its place in the file."""
    parts: list[Part] = [((index, name), value) for name, value in values.items()]
    sessions = values.get(SESSIONS)
    if isinstance(sessions, list | dict):
        steps = sessions.items() if isinstance(sessions, dict) else enumerate(sessions)
        parts += [((index, SESSIONS, step), session) for step, session in steps]
    return _read_history((index,), parts)


@record_reader
def _read_history(skips: list[Skip], step: Place, parts: Iterable[Part]) -> Iterator[Record | None]:
    """One question's history, from its fields and sessions; sessions wait until the needed fields are known."""
    head: dict[str, Any] = {}
    waiting: list[Part] = []
    parts = iter(parts)
    for place, value in parts:
        if len(place) < 2 or not isinstance(place[0], int):
            yield Skip(format_place(place), "expected a list of questions, each an object")
            return
        if len(place) == 3:
            waiting.append((place, value))
        elif place[1] in NEEDED:
            head[str(place[1])] = value
        if head.keys() >= NEEDED:
            break
    question = Fields(head, format_place(step), skips)
    name = question.text("question_id").strip() or f"question {int(step[0]) + 1}"
    yield PersonaDraft(name=f"{NAME} {name}", external_id=name)
    seen = Counter[str]()
    for place, value in chain(waiting, parts):
        if len(place) == 3 and isinstance(place[2], int):
            yield _read_session(question, place, value, seen)
        elif len(place) == 3:
            yield Skip(format_place(place), "expected a list of sessions, found an object")


def _read_session(question: Fields, place: Place, value: object, seen: Counter[str]) -> SessionDraft | None:
    """A session at its place in the haystack; an id seen before gets a number."""
    index, where = int(place[2]), format_place(place)
    lists = {"id": question.values.get("haystack_session_ids"), "date": question.values.get("haystack_dates")}
    own = {key: found[index] for key, found in lists.items() if isinstance(found, list) and index < len(found)}
    entry = Fields(own, where, question.skips)
    session_id = entry.text("id")
    seen[session_id] += 1
    if session_id and seen[session_id] > 1:
        session_id = f"{session_id}#{seen[session_id]}"
        entry.report("", f"a session id used before in this history; kept as {session_id}")
    turns = _read_turns(value, where, session_id, question.skips)
    return entry.session(turns, "date", session_id)


def _read_turns(value: object, place: str, session_id: str, skips: list[Skip]) -> Iterator[TurnDraft]:
    for number, turn in enumerate(list_objects(value, place, skips), start=1):
        speaker = turn.text("role")
        if text := turn.required_text("content", EMPTY_TURN):
            yield TurnDraft(speaker, ROLES.get(speaker, "other"), text, external_id=f"{session_id}_{number}")


def without_weekday(date: str) -> str:
    """A date as these files write it, without the day of the week in brackets."""
    return " ".join(WEEKDAY.sub(" ", date).split())
