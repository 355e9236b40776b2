"""Tell which speaker of a chat the user is, and name the persona after the other.

WhatsApp, Telegram and transcripts give the names of those who speak, but often not whose the file is.
"""

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from memory.importers import Importer
from memory.importers.chats import telegram, whatsapp
from memory.importers.generic import transcript
from memory.importers.history_file import History, HistoryFile
from memory.importers.reading.dialogue import ROLE_OF_NAME, name_in_title
from memory.progress import Progress
from memory.types import PersonaDraft, SessionDraft

MAX_SPEAKERS = 20
"""Speakers to choose from; those who speak most."""

_TITLE = re.compile(r"WhatsApp[ -]Chat\W+(?:(?:with|mit|con|avec|com|met)\W+)?", re.IGNORECASE)
"""How WhatsApp begins the name of an export; the rest names the other person, or the group."""


def speakers_to_ask(importer: Importer, histories: Collection[History]) -> tuple[str, ...]:
    """The speakers of whom the user may be one, who speaks most first; none where the file says who the user is."""
    if importer not in (whatsapp, telegram, transcript):
        return ()
    turns = Counter[str]()
    for history in histories:
        if not history.has_assistant:
            turns.update(history.speakers)
    ranked = tuple(speaker for speaker, _ in turns.most_common(MAX_SPEAKERS))
    return ranked if len(ranked) > 1 else ()


def likely_user(histories: Collection[History]) -> str:
    """The speaker who is surely the user: called "Me", or not the one whom a chat of two is named after."""
    for history in histories:
        for speaker in history.speakers:
            if ROLE_OF_NAME.get(speaker.casefold()) == "user":
                return speaker
        if other := name_in_title(history.header.name, history.speakers):
            return next(speaker for speaker in history.speakers if speaker != other)
    return ""


class Participants:
    """Who speaks in each history of a file, and which of them is the user; of no effect without a user."""

    def __init__(self, path: Path, user: str, progress: Progress) -> None:
        """Read the file to its end: only all of it shows who speaks in it."""
        self._user = user
        self._speakers: dict[str, Collection[str]] = {}
        if user:
            file = HistoryFile(path, progress)
            file.read_to_end()
            self._speakers = {key: history.speakers for key, history in file.histories.items()}

    def persona(self, header: PersonaDraft) -> PersonaDraft:
        """The persona of a history: in a chat of two called like the other, and known by the name of the source."""
        speakers = self._speakers_of(header)
        if self._user not in speakers:
            return header
        others = [speaker for speaker in speakers if speaker != self._user]
        name = others[0] if len(others) == 1 else _TITLE.sub("", header.name, count=1) or header.name
        return replace(header, name=name, external_id=header.external_id or header.name)

    def session(self, header: PersonaDraft, session: SessionDraft) -> SessionDraft:
        """A session of the history with the user in their role."""
        if self._user not in self._speakers_of(header):
            return session
        turns = (
            replace(turn, role="user" if turn.speaker == self._user else "other" if turn.role == "user" else turn.role)
            for turn in session.turns
        )
        return replace(session, turns=tuple(turns))

    def _speakers_of(self, header: PersonaDraft) -> Collection[str]:
        return self._speakers.get(header.external_id or header.name, ())
