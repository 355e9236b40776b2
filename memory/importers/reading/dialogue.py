"""Read written dialogue: split "Speaker: text", tell which speaker is the user, and build sessions line by line."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from memory.importers.reading.fields import EMPTY_SESSION, EMPTY_TURN, date_problem
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
class ChatLog:
    """The current session of a dialogue whose lines are coming in; with `add`, one begins after each long pause.

    Each turn is kept with its place and its lines so far. What is left out goes to `skips`; with `reports_dates`, so do
    the starts of sessions that are missing or in the future.
    """

    skips: list[Skip]
    reports_dates: bool = False
    session: SessionDraft | None = None
    place: str = ""
    turns: list[tuple[TurnDraft, str, list[str]]] = field(default_factory=list)
    size: int = 0
    last: datetime | None = None

    def begin(self, session: SessionDraft, place: str) -> None:
        """Begin a session, which has no turns yet."""
        self.session, self.place, self.turns, self.size = session, place, [], 0

    def add(self, turn: TurnDraft, place: str, may_pause: bool = True) -> Iterator[SessionDraft]:
        """Add a turn, before which there `may_pause` be a pause; a session that begins with it gets its external id."""
        if may_pause and self.last and turn.said_at and turn.said_at - self.last > PAUSE:
            yield from self.finish()
        if self.session is None:
            self.begin(SessionDraft((), turn.said_at, turn.said_text, turn.external_id), place)
        self.last = turn.said_at or self.last
        self.turns.append((turn, place, []))
        yield from self.continue_turn(turn.text)

    def continue_turn(self, text: str) -> Iterator[SessionDraft]:
        """Add a line to the current turn; a session that is full is handed over, and goes on with its next part.

        The current turn moves to the next part, unless it fills a part all by itself.
        """
        if text:
            self.turns[-1][2].append(text)
            self.size += len(text)
        if self.session is None or (len(self.turns) <= MAX_TURNS and self.size < MAX_CHARACTERS):
            return
        session, last = self.session, self.last
        turn = self.turns.pop() if len(self.turns) > 1 else (self.turns[0][0], "", [])
        yield from self.finish()
        external_id = f"{session.external_id}, continued" if session.external_id else ""
        self.begin(replace(session, external_id=external_id), self.place)
        self.skips.append(Skip(self.place, "a very long session; stored in parts"))
        self.turns, self.size, self.last = [turn], sum(map(len, turn[2])), last

    def finish(self) -> Iterator[SessionDraft]:
        """Hand over the current session, if anything was said in it."""
        turns = [(replace(turn, text="\n".join(lines)), place) for turn, place, lines in self.turns]
        spoken = tuple(turn for turn, _ in turns if turn.text.strip())
        session, self.session, self.turns, self.last = self.session, None, [], None
        if self.reports_dates and session and spoken and (fault := date_problem(session.started_at)):
            self.skips.append(Skip(self.place, fault))
        self.skips += [Skip(place, EMPTY_TURN) for turn, place in turns if place and not turn.text.strip()]
        if session and spoken:
            yield replace(session, turns=spoken)
        elif session:
            self.skips.append(Skip(self.place, EMPTY_SESSION))
