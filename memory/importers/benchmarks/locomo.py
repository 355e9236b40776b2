"""LoCoMo (Maharana et al., ACL 2024, github.com/snap-research/locomo; CC BY-NC 4.0): one history a conversation.

    [{"sample_id": "conv-26", "qa": [...], "conversation": {"speaker_a": "...", "speaker_b": "...",
      "session_1_date_time": "1:56 pm on 8 May, 2023",
      "session_1": [{"speaker": "...", "dia_id": "D1:1", "text": "...", "blip_caption": "..."}, ...], ...}}, ...]

A conversation becomes a persona "<speaker a> & <speaker b>" identified by its sample_id; `session_1` a session of that
id; a turn keeps its dia_id; speaker a is the user, everybody else has the role `other`. A picture becomes its caption
in the turn's text. Questions, observations and summaries are derived from the dialogue and are not read.
"""

import re
from collections.abc import Iterator

from memory.importers.reading.dates import parse_moment
from memory.importers.reading.fields import EMPTY_SESSION, EMPTY_TURN, Fields, pop_skips
from memory.importers.reading.json_stream import format_place, has_any, stream_values
from memory.importers.reading.source import Record, Source, count_records
from memory.types import PersonaDraft, Role, SessionDraft, Skip, TurnDraft

NAME = "LoCoMo"
SESSION = re.compile(r"session_([0-9]{1,6})\Z")

sniff = has_any(("[]", "conversation", "speaker_a"), ("[]", "qa", "[]", "evidence"))
"""Whether it is a list of conversations, or of the questions that LoCoMo puts before one."""


@count_records
def read(path: Source) -> Iterator[Record]:
    """Each conversation, session by session in their numbered order."""
    skips: list[Skip] = []
    for place, value in stream_values(path):
        sample = Fields.of(value, format_place(place), skips)
        conversation = sample.object("conversation")
        speakers = [name for name in (conversation.text("speaker_a"), conversation.text("speaker_b")) if name]
        if not sample.values or not conversation.values:
            yield from pop_skips(skips)
            yield Skip(format_place(place), "expected a conversation; skipped")
            continue
        sample_id = sample.text("sample_id").strip() or f"conversation {place[0]}"
        yield PersonaDraft(name=" & ".join(speakers).strip() or sample_id, external_id=sample_id)
        names = filter(SESSION.match, conversation.values)
        for name in sorted(names, key=lambda name: int(name.removeprefix("session_"))):
            draft = _read_session(conversation, name)
            yield from pop_skips(skips, draft)


def _read_session(conversation: Fields, name: str) -> SessionDraft | None:
    user = conversation.text("speaker_a")
    turns = []
    for turn in conversation.objects(name):
        speaker, text = turn.text("speaker"), _with_picture(turn)
        if text:
            role: Role = "user" if speaker == user else "other"
            turns.append(TurnDraft(speaker, role, text, external_id=turn.text("dia_id")))
        elif turn.values:
            turn.report("text", EMPTY_TURN)
    if not turns:
        conversation.report(name, EMPTY_SESSION)
        return None
    date = f"{name}_date_time"
    started_at = conversation.moment(date, lambda text: parse_moment(text, "%I:%M %p on %d %B, %Y"))
    return SessionDraft(tuple(turns), started_at, conversation.text(date), external_id=name)


def _with_picture(turn: Fields) -> str:
    caption = turn.text("blip_caption").strip()
    shown = f"[shares a picture: {caption}]" if caption else "[shares a picture]"
    has_picture = bool(caption or turn.values.get("img_url"))
    return " ".join(part for part in (turn.text("text"), shown if has_picture else "") if part.strip())
