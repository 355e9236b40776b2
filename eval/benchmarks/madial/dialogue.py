"""Read MADial-Bench's dialogues as turns, without markers and quotation marks, with missing speakers filled in."""

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
class IndexedTurn:
    """A turn, and its index in the file's list, which also counts markers and blank entries."""

    index: int
    turn: TurnDraft


def read_dialogue(line: Fields, user: str) -> list[IndexedTurn]:
    """Read the turns of a dialogue. `user` is the user's name.

    Without it, everybody but the assistant has the role "other".
    """
    turns: list[IndexedTurn] = []
    for index, (value, place) in enumerate(line.items("dialogue")):
        entry = Fields({"text": value}, place, line.skips).text("text").strip()
        if not entry or MARKER.fullmatch(entry):
            continue
        match = UTTERANCE.match(entry)
        speaker = match["speaker"].strip() if match else _other(turns, user)
        text = unquote(match["text"] if match else entry)
        if text:
            turns.append(IndexedTurn(index, TurnDraft(speaker, _role(speaker, user), text)))
    return turns


def unquote(text: str) -> str:
    """Remove the quotation marks around an utterance, also a single one; marks inside it stay."""
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


def _other(turns: list[IndexedTurn], user: str) -> str:
    """Who speaks an entry without a speaker: the other one than before."""
    if turns and turns[-1].turn.speaker != ASSISTANT:
        return ASSISTANT
    return user or next((s.turn.speaker for s in turns if s.turn.speaker != ASSISTANT), ASSISTANT)


def _role(speaker: str, user: str) -> Role:
    if speaker == ASSISTANT:
        return "assistant"
    return "user" if speaker == user else "other"
