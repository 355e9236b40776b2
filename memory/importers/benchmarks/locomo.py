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

from memory.importers.reading.fields import EMPTY_TURN, Fields, stream_objects
from memory.importers.reading.json_stream import has_any
from memory.importers.reading.source import Record, Source, record_reader
from memory.types import PersonaDraft, Skip, TurnDraft

NAME = "LoCoMo"
SESSION = re.compile(r"session_([0-9]{1,6})\Z")

sniff = has_any(("[]", "conversation", "speaker_a"), ("[]", "qa", "[]", "evidence"))
"""Whether it is a list of conversations, or of the questions that LoCoMo puts before one."""


@record_reader
def read(skips: list[Skip], path: Source) -> Iterator[Record | None]:
    """Each conversation, session by session in their numbered order."""
    for index, sample in stream_objects(path, skips):
        conversation = sample.object("conversation")
        speakers = [name for name in (conversation.text("speaker_a"), conversation.text("speaker_b")) if name]
        if not sample.values or not conversation.values:
            yield Skip(sample.place, "expected a conversation; skipped")
            continue
        sample_id = sample.text("sample_id").strip() or f"conversation {index}"
        yield PersonaDraft(name=" & ".join(speakers).strip() or sample_id, external_id=sample_id)
        names = filter(SESSION.match, conversation.values)
        for name in sorted(names, key=lambda name: int(name.removeprefix("session_"))):
            turns = _read_turns(conversation, name)
            yield conversation.session(turns, f"{name}_date_time", name, turns_name=name)


def _read_turns(conversation: Fields, name: str) -> Iterator[TurnDraft]:
    user = conversation.text("speaker_a")
    for turn in conversation.objects(name):
        speaker, text, caption = turn.text("speaker"), turn.text("text"), turn.text("blip_caption").strip()
        if caption or turn.values.get("img_url"):
            shown = f"[shares a picture: {caption}]" if caption else "[shares a picture]"
            text = f"{text} {shown}" if text.strip() else shown
        if text.strip():
            yield TurnDraft(speaker, "user" if speaker == user else "other", text, external_id=turn.text("dia_id"))
        else:
            turn.report("text", EMPTY_TURN)
