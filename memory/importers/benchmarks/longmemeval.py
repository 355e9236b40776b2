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
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from memory.importers.reading.dates import parse_moment
from memory.importers.reading.fields import EMPTY_SESSION, EMPTY_TURN, ROLES, Fields, list_items, pop_skips
from memory.importers.reading.json_stream import Place, format_place, has_any, stream_values
from memory.importers.reading.source import Record, Source, count_records
from memory.types import PersonaDraft, SessionDraft, Skip, TurnDraft

NAME = "LongMemEval"
sniff = has_any(("[]", "haystack_sessions"), ("[]", "haystack_dates"))

# The fields that must be known before a session can be handed over; in the official files they come first.
NEEDED = frozenset({"question_id", "haystack_dates", "haystack_session_ids"})
SESSIONS = "haystack_sessions"
WEEKDAY = re.compile(r"\(\w+\)")


@count_records
def read(path: Source) -> Iterator[Record]:
    """Each question's history, session by session."""
    question: _Question | None = None
    for place, value in stream_values(path, _is_opened):
        if len(place) < 2 or not isinstance(place[0], int):
            yield Skip(format_place(place), "expected a list of questions, each an object")
            continue
        if question is None or place[0] != question.index:
            if question:
                yield from question.release()
            question = _Question(place[0])
        yield from question.take(place, value)
    if question:
        yield from question.release()


def read_question(index: int, values: Mapping[str, Any]) -> Iterator[Record]:
    """One question's history, from its complete object; `index` is its place in the file."""
    question = _Question(index)
    for name, value in values.items():
        if name == SESSIONS and isinstance(value, list | dict):
            for key, session in value.items() if isinstance(value, dict) else enumerate(value):
                yield from question.take((index, name, key), session)
        else:
            yield from question.take((index, name), value)
    yield from question.release()


def _is_opened(place: Place) -> bool:
    return len(place) < 2 or (len(place) == 2 and place[1] == SESSIONS)


class _Question:
    """A question whose fields are still coming in; sessions wait until the needed fields are known."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.fields: dict[str, Any] = {}
        self.waiting: list[tuple[Place, Any]] = []
        self.seen: Counter[str] = Counter()
        self.is_named = False

    def take(self, place: Place, value: object) -> Iterator[Record]:
        """Take a field or a session of the question."""
        if len(place) == 3 and isinstance(place[2], int):
            self.waiting.append((place, value))
        elif len(place) == 3:
            yield Skip(format_place(place), "expected a list of sessions, found an object")
        elif place[1] in NEEDED:
            self.fields[str(place[1])] = value
        if self.fields.keys() >= NEEDED:
            yield from self.release()

    def release(self) -> Iterator[Record]:
        """Hand over the history's persona, once, and the sessions that wait."""
        skips: list[Skip] = []
        fields = Fields(self.fields, f"[{self.index}]", skips)
        if not self.is_named:
            name = fields.text("question_id").strip() or f"question {self.index + 1}"
            yield PersonaDraft(name=f"{NAME} {name}", external_id=name)
            self.is_named = True
        for place, value in self.waiting:
            draft = self._read_session(fields, place, value)
            yield from pop_skips(skips, draft)
        self.waiting.clear()

    def _read_session(self, fields: Fields, place: Place, value: object) -> SessionDraft | None:
        index, where = int(place[2]), format_place(place)
        names = {"id": "haystack_session_ids", "date": "haystack_dates"}
        entry = Fields({key: _element(fields, name, index) for key, name in names.items()}, where, fields.skips)
        session_id = self._disambiguate(entry)
        turns = tuple(_read_turns(value, where, session_id, fields.skips))
        if not turns:
            entry.report("", EMPTY_SESSION)
            return None
        return SessionDraft(
            turns, entry.moment("date", _read_date), started_text=entry.text("date"), external_id=session_id
        )

    def _disambiguate(self, entry: Fields) -> str:
        session_id = entry.text("id")
        self.seen[session_id] += 1
        if not session_id or self.seen[session_id] == 1:
            return session_id
        renamed = f"{session_id}#{self.seen[session_id]}"
        entry.report("", f"a session id used before in this history; kept as {renamed}")
        return renamed


def _read_turns(value: object, place: str, session_id: str, skips: list[Skip]) -> Iterator[TurnDraft]:
    for number, (turn, where) in enumerate(list_items(value, place, skips), start=1):
        fields = Fields.of(turn, where, skips)
        text, speaker = fields.text("content"), fields.text("role")
        if text.strip():
            yield TurnDraft(speaker, ROLES.get(speaker, "other"), text, external_id=f"{session_id}_{number}")
        elif fields.values:
            fields.report("content", EMPTY_TURN)


def _element(fields: Fields, name: str, index: int) -> object:
    values = fields.values.get(name)
    return values[index] if isinstance(values, list) and index < len(values) else None


def _read_date(text: str) -> datetime | None:
    return parse_moment(without_weekday(text), "%Y/%m/%d %H:%M", "%Y/%m/%d")


def without_weekday(date: str) -> str:
    """A date as these files write it, without the day of the week in brackets."""
    return " ".join(WEEKDAY.sub(" ", date).split())
