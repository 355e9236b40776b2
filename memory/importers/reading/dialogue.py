"""Read written dialogue: split "Speaker: text", tell which speaker is the user, and build sessions line by line."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from memory.importers.reading.fields import EMPTY_SESSION, EMPTY_TURN
from memory.types import Role, SessionDraft, Skip, TurnDraft

# A name or a short description ("Woman in the red dress"); longer ones are sentences that contain a colon.
MAX_NAME_WORDS = 6
# A colon ends the speaker if a space or nothing follows, so that 18:22 and https:// do not; the wide one always does.
UTTERANCE = re.compile(
    r"(?P<speaker>[^\s\d#>*\-(){}\[\]\"'<=|/][^:：{}\[\]\"<>=|/]{0,59}?)\s*(?::(?=\s|$)|：)(?P<text>.*)", re.S
)

ROLE_OF_NAME: dict[str, Role] = {
    **dict.fromkeys(("user", "me", "human", "i"), "user"),
    **dict.fromkeys(("assistant", "ai", "bot", "chatbot", "chatgpt", "model"), "assistant"),
}

# A pause after which people greet each other again.
PAUSE = timedelta(hours=6)

# A session is in memory until it ends; one that never ends is handed over in parts.
MAX_TURNS = 200_000
MAX_CHARACTERS = 1 << 26


def split_utterance(line: str) -> tuple[str, str] | None:
    """The speaker and the text of a line, or None if it names no speaker."""
    match = UTTERANCE.match(line.strip())
    if not match:
        return None
    speaker = match["speaker"].strip()
    if len(speaker.split()) > MAX_NAME_WORDS or not any(letter.isalnum() for letter in speaker):
        return None
    return speaker, match["text"].strip()


def name_in_title(title: str, speakers: Collection[str]) -> str:
    """The one of two speakers whom a chat is named after; empty if it is named after neither or both."""
    named = [speaker for speaker in speakers if title.casefold().endswith(speaker.casefold())]
    return named[0] if len(speakers) == 2 and len(named) == 1 else ""


class RoleAssigner:
    """Assigns roles to speakers: the user is a known name, a name such as "Me", or else the first to speak.

    `users` are names the user may have, `others` names that are not the user's; `guess` is the speaker taken for the
    user only because they spoke first.
    """

    def __init__(self, users: Collection[str] = (), others: Collection[str] = ()) -> None:
        self.roles: dict[str, Role] = {**dict.fromkeys(others, "other"), **dict.fromkeys(users, "user")}
        self.guess = ""
        self._has_known_names = bool(self.roles)

    def role_of(self, speaker: str, name: str = "") -> Role:
        """The role of a speaker, the same at every call; `name` is their name if `speaker` is an id."""
        if speaker not in self.roles:
            role = ROLE_OF_NAME.get(speaker.casefold())
            if role is None and "user" not in self.roles.values():
                role = "user"
                self.guess = "" if self._has_known_names else name or speaker
            self.roles[speaker] = role or "other"
        return self.roles[speaker]

    def guess_at(self, place: str) -> Skip | None:
        """The report of a guess, if there was one."""
        reason = f"does not say who you are; unless you choose, it is {self.guess}, who speaks first"
        return Skip(place, reason) if self.guess else None


@dataclass(slots=True)
class SessionBuilder:
    """A session whose lines are still coming in; each of its turns is kept with its place and its lines so far."""

    started_at: datetime | None = None
    started_text: str = ""
    external_id: str = ""
    title: str = ""
    place: str = ""
    turns: list[tuple[TurnDraft, str, list[str]]] = field(default_factory=list)
    skips: list[Skip] = field(default_factory=list)
    size: int = 0

    def start_turn(self, turn: TurnDraft, place: str) -> None:
        """Begin a turn with its first line."""
        self.turns.append((turn, place, []))
        self.continue_turn(turn.text)

    def continue_turn(self, text: str) -> None:
        """Add a line to the current turn."""
        if text:
            self.turns[-1][2].append(text)
            self.size += len(text)

    def finish(self) -> Iterator[SessionDraft | Skip]:
        """Hand over the skips and then the session; only a skip if nothing was said in it."""
        turns = []
        for turn, place, lines in self.turns:
            if (text := "\n".join(lines)).strip():
                turns.append(replace(turn, text=text))
            elif place:
                self.skips.append(Skip(place, EMPTY_TURN))
        if not turns:
            self.skips.append(Skip(self.place, EMPTY_SESSION))
        yield from self.skips
        if turns:
            yield SessionDraft(tuple(turns), self.started_at, self.started_text, self.external_id, self.title)

    def split(self) -> "SessionBuilder":
        """Begin the next part of a full session; call `finish` on this one then.

        The current turn moves to the next part, unless it fills a part all by itself.
        """
        external_id = f"{self.external_id}, continued" if self.external_id else ""
        following = SessionBuilder(self.started_at, self.started_text, external_id, self.title, self.place)
        following.skips.append(Skip(self.place, "a very long session; stored in parts"))
        following.turns.append(self.turns.pop() if len(self.turns) > 1 else (self.turns[0][0], "", []))
        following.size = sum(map(len, following.turns[0][2]))
        return following


@dataclass(slots=True)
class ChatLog:
    """The current session of a dialogue; with `add`, a session begins after each long pause."""

    session: SessionBuilder | None = None
    last: datetime | None = None

    def add(
        self, turn: TurnDraft, place: str, external_id: str = "", may_pause: bool = True
    ) -> Iterator[SessionDraft | Skip]:
        """Add a turn, before which there `may_pause` be a pause; a session that begins with it gets the external id."""
        if may_pause and self.last and turn.said_at and turn.said_at - self.last > PAUSE:
            yield from self.finish()
        if self.session is None:
            self.session = SessionBuilder(turn.said_at, turn.said_text, external_id, place=place)
        self.last = turn.said_at or self.last
        self.session.start_turn(turn, place)
        yield from self.hand_over_full()

    def hand_over_full(self) -> Iterator[SessionDraft | Skip]:
        """Hand over the current session if it is full, and go on with its next part."""
        session = self.session
        if session and (len(session.turns) > MAX_TURNS or session.size >= MAX_CHARACTERS):
            self.session = session.split()
            yield from session.finish()

    def finish(self) -> Iterator[SessionDraft | Skip]:
        """Hand over the current session."""
        if self.session:
            yield from self.session.finish()
        self.session = self.last = None
