"""Speakers of written dialogue: split "Speaker: text", and tell which speaker is the user."""

import re
from collections.abc import Collection

from memory.types import Role

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


def split_utterance(line: str) -> tuple[str, str] | None:
    """The speaker and the text of a line, or None if it names no speaker."""
    match = UTTERANCE.match(line.strip())
    if not match:
        return None
    speaker = match["speaker"].strip()
    if len(speaker.split()) > MAX_NAME_WORDS or not any(letter.isalnum() for letter in speaker):
        return None
    return speaker, match["text"].strip()


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
