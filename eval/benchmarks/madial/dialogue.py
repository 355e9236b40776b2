"""The dialogues of MADial-Bench as turns: markers, quotation marks and missing speakers sorted out."""

from __future__ import annotations

import re
from dataclasses import dataclass

from memory.importers.reading.fields import Fields
from memory.types import Role, TurnDraft

ASSISTANT = "Assistant"

MARKER = re.compile(r"<\s*/?\s*(?:BOD|EOD)\s*>?", re.IGNORECASE)
END = re.compile(r"\s*<\s*/?\s*EOD\s*>?\s*$", re.IGNORECASE)
UTTERANCE = re.compile(r"[\"“”]?<(?P<speaker>[^<>:：\"“”]{1,40})>\s*[:：](?P<text>.*)", re.DOTALL)
MARKS = '"“”'


@dataclass(frozen=True, slots=True)
class Said:
    """A turn, and its index in the file's list, which counts markers and blank entries too."""

    index: int
    turn: TurnDraft


def read_dialogue(line: Fields, user: str) -> list[Said]:
    """The turns of a dialogue; `user` is the name of the user, any speaker but the assistant if it is empty.

    Without a name for the user, all but the assistant have the role "other".
    """
    said: list[Said] = []
    for index, (value, place) in enumerate(line.items("dialogue")):
        entry = Fields({"text": value}, place, line.skips).text("text").strip()
        if not entry or MARKER.fullmatch(entry):
            continue
        match = UTTERANCE.match(entry)
        speaker = match["speaker"].strip() if match else _other(said, user)
        text = unquote(match["text"] if match else entry)
        if text:
            said.append(Said(index, TurnDraft(speaker, _role(speaker, user), text)))
    return said


def unquote(text: str) -> str:
    """What was said, without the marks around it; a mark that has lost its twin goes too, any other within stays."""
    text = END.sub("", text).strip()
    if text.startswith("<") and text.endswith(">"):
        text = text[1:-1].strip()
    is_odd = sum(text.count(mark) for mark in MARKS) % 2 == 1
    opens, closes = text[:1] in MARKS and bool(text), text[-1:] in MARKS and bool(text)
    if len(text) > 1 and opens and closes and not is_odd:
        return text[1:-1].strip()
    if is_odd and (opens or closes):
        return (text[1:] if opens else text[:-1]).strip()
    return text


def _other(said: list[Said], user: str) -> str:
    """Who speaks next where nobody is named."""
    if said and said[-1].turn.speaker != ASSISTANT:
        return ASSISTANT
    return user or next((s.turn.speaker for s in said if s.turn.speaker != ASSISTANT), ASSISTANT)


def _role(speaker: str, user: str) -> Role:
    if speaker == ASSISTANT:
        return "assistant"
    return "user" if speaker == user else "other"
