"""Dialogues as plain lines: "Speaker: what was said", each further line the same speaker going on."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from memory.importers.reading.fields import EMPTY_SESSION, EMPTY_TURN
from memory.types import Role, SessionDraft, Skip, TurnDraft

# A name or a short description ("Woman in the red dress"); longer ones are sentences that happen to hold a colon.
MOST_WORDS = 6
# A colon ends the speaker if a space or nothing follows, so that 18:22 and https:// do not; the wide one always does.
UTTERANCE = re.compile(
    r"(?P<speaker>[^\s\d#>*\-(){}\[\]\"'<=|/][^:：{}\[\]\"<>=|/]{0,59}?)\s*(?::(?=\s|$)|：)(?P<text>.*)", re.S
)

# A pause after which people greet each other anew.
PAUSE = timedelta(hours=6)

# A session is held in memory until it ends; one that never ends is handed over in parts.
MOST_TURNS = 200_000
MOST_CHARACTERS = 1 << 26


def split_utterance(line: str) -> tuple[str, str] | None:
    """The speaker and the text of a line, or None if it names no speaker."""
    match = UTTERANCE.match(line.strip())
    if not match:
        return None
    speaker = match["speaker"].strip()
    if len(speaker.split()) > MOST_WORDS or not any(letter.isalnum() for letter in speaker):
        return None
    return speaker, match["text"].strip()


@dataclass(slots=True)
class OpenSession:
    """A session whose lines are still coming in."""

    started_at: datetime | None = None
    started_text: str = ""
    external_id: str = ""
    title: str = ""
    place: str = ""
    turns: list[TurnDraft] = field(default_factory=list)
    notes: list[Skip] = field(default_factory=list)
    size: int = 0
    _said: TurnDraft | None = None
    _said_place: str = ""
    _lines: list[str] = field(default_factory=list)

    def say(self, turn: TurnDraft, place: str) -> None:
        """A new utterance begins."""
        self._finish_turn()
        self._said, self._said_place = turn, place
        self.go_on(turn.text)

    def go_on(self, text: str) -> None:
        """The utterance goes on, on a further line."""
        if text:
            self._lines.append(text)
            self.size += len(text)

    @property
    def has_begun(self) -> bool:
        """Whether anybody has spoken."""
        return self._said is not None

    @property
    def is_full(self) -> bool:
        """Whether it is to be handed over before its end."""
        return len(self.turns) >= MOST_TURNS or self.size >= MOST_CHARACTERS

    def release(self) -> Iterator[SessionDraft | Skip]:
        """The session after the notes on it; only a note if nothing was said in it."""
        self._finish_turn()
        if not self.turns:
            self.notes.append(Skip(self.place, EMPTY_SESSION))
        yield from self.notes
        if self.turns:
            yield SessionDraft(tuple(self.turns), self.started_at, self.started_text, self.external_id, self.title)

    def split(self) -> OpenSession:
        """The session that takes up this one, which is to be released before its end.

        The utterance in progress goes on there whole, unless it has filled a session all by itself.
        """
        external_id = f"{self.external_id}, continued" if self.external_id else ""
        following = OpenSession(self.started_at, self.started_text, external_id, self.title, self.place)
        following.notes.append(Skip(self.place, "a very long session; kept in parts"))
        following._said = self._said
        if self.turns:
            following._said_place, following._lines = self._said_place, self._lines
            following.size = sum(map(len, self._lines))
            self._said = None
        return following

    def _finish_turn(self) -> None:
        if self._said is None:
            return
        said, text = self._said, "\n".join(self._lines)
        self._lines = []
        if text.strip():
            self.turns.append(TurnDraft(said.speaker, said.role, text, said.said_at, said.said_text, said.external_id))
        elif self._said_place:
            self.notes.append(Skip(self._said_place, EMPTY_TURN))


@dataclass(slots=True)
class ChatLog:
    """A chat between people as it goes on: a long pause begins a session."""

    title: str = ""
    session: OpenSession | None = None
    last: datetime | None = None

    def hear(self, turn: TurnDraft, place: str, external_id: str = "") -> Iterator[SessionDraft | Skip]:
        """Somebody says something; a session that this begins is found by the id, if one is given."""
        if self.last and turn.said_at and turn.said_at - self.last > PAUSE:
            yield from self.finish()
        if self.session is None:
            self.session = OpenSession(turn.said_at, turn.said_text, external_id, self.title, place)
        self.last = turn.said_at or self.last
        self.session.say(turn, place)
        yield from self._release_full()

    def go_on(self, text: str) -> Iterator[SessionDraft | Skip]:
        """What was said last goes on, on a further line."""
        if self.session:
            self.session.go_on(text)
            yield from self._release_full()

    def finish(self) -> Iterator[SessionDraft | Skip]:
        """Hand over the session that is open."""
        if self.session:
            yield from self.session.release()
        self.session = self.last = None

    def _release_full(self) -> Iterator[SessionDraft | Skip]:
        if self.session and self.session.is_full:
            full, self.session = self.session, self.session.split()
            yield from full.release()


class Cast:
    """Who of the speakers is the user: who is known to be, or bears such a name, or else who speaks first.

    `users` are what the user may be called, `others` are known not to be the user; `guess` is who was taken for the
    user only for speaking first.
    """

    def __init__(self, users: Collection[str] = (), others: Collection[str] = ()) -> None:
        self.roles: dict[str, Role] = {**dict.fromkeys(others, "other"), **dict.fromkeys(users, "user")}
        self.guess = ""
        self._is_told = bool(self.roles)

    def role(self, speaker: str, called: str = "") -> Role:
        """The role of one speaker, always the same; `called` is their name, where they are told apart by an id."""
        if speaker not in self.roles:
            role = role_of(speaker)
            if role is None and "user" not in self.roles.values():
                role = "user"
                self.guess = "" if self._is_told else called or speaker
            self.roles[speaker] = role or "other"
        return self.roles[speaker]


def role_of(speaker: str) -> Role | None:
    """The role that a speaker's name gives away, as chat programs write it."""
    name = speaker.casefold()
    if name in {"user", "me", "human", "i"}:
        return "user"
    return "assistant" if name in {"assistant", "ai", "bot", "chatbot", "chatgpt", "model"} else None
