"""Read conversations with an assistant: a tree of messages, of which the program showed one path.

Editing a message or asking for another answer begins a branch. The path that was shown leads from the first message to
the one that the program names as current; the messages on other branches come as skips.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memory.importers.reading.dates import date_problem, parse_moment
from memory.importers.reading.fields import EMPTY_SESSION, EMPTY_TURN, Fields, clean_text
from memory.types import Role, SessionDraft, Skip, TurnDraft

USER = "You"
"""The user's name if the program gives none, as in Memoir's own chat."""

NOT_SHOWN = "on a branch that was not shown"


@dataclass(frozen=True, slots=True)
class Layout:
    """The names of a program's fields: of a conversation, and, from `message_id` on, of a message.

    `read_time` parses the times of both; a time in another form than text has no wording worth keeping.
    """

    id: str
    title: str
    start: str
    message_id: str
    said_at: str
    parent: str = ""
    read_time: Callable[[str], datetime | None] = parse_moment

    def index_messages(
        self, values: Iterable[tuple[Any, str]], skips: list[Skip]
    ) -> tuple[dict[str, Fields], dict[str, str]]:
        """The messages of a list by id, and the parent of each; a missing or repeated id is replaced by the place."""
        messages: dict[str, Fields] = {}
        parents: dict[str, str] = {}
        for value, place in values:
            message = Fields.of(value, place, skips)
            if isinstance(value, dict):
                own = message.text(self.message_id)
                key = own if own and own not in messages else place
                messages[key], parents[key] = message, message.text(self.parent)
        return messages, parents

    def read_session(
        self,
        conversation: Fields,
        messages: Mapping[str, Fields],
        shown: Sequence[str],
        read_turn: Callable[[Fields], TurnDraft | None],
    ) -> SessionDraft | None:
        """A conversation as a session of the messages `shown`, ids in order; without turns, None, which is reported.

        Without a start, the time of the first dated message is used. Of all `messages` by id, those that were not shown
        are reported. `read_turn` gives None, after a report, for a message without a turn.
        """
        path = set(shown)
        for key, message in messages.items():
            if key not in path:
                message.report("", NOT_SHOWN)
        turns = tuple(turn for key in shown if key in messages and (turn := read_turn(messages[key])))
        if not turns:
            conversation.report("", EMPTY_SESSION)
            return None
        started_at = conversation.optional_moment(self.start, self.read_time)
        started_at = started_at or next((turn.said_at for turn in turns if turn.said_at), None)
        if (fault := date_problem(started_at)) and not conversation.values.get(self.start):
            conversation.report(self.start, fault)
        wording, title = self._wording(conversation, self.start), conversation.text(self.title).strip()
        return SessionDraft(turns, started_at, wording, conversation.text(self.id), title)

    def make_turn(self, message: Fields, speaker: str, role: Role, text: str) -> TurnDraft | None:
        """A message as a turn; None if it has no text, which is reported."""
        if not text.strip():
            message.report("", EMPTY_TURN)
            return None
        said_at = message.optional_moment(self.said_at, self.read_time)
        wording = self._wording(message, self.said_at)
        return TurnDraft(speaker, role, text.strip(), said_at, wording, message.text(self.message_id))

    def _wording(self, fields: Fields, name: str) -> str:
        return fields.text(name) if self.read_time is parse_moment else ""


def shown_path(parents: Mapping[str, str], leaf: str) -> list[str]:
    """The ids of the messages from the first to a leaf, given each one's parent; stops where parents form a circle.

    If the leaf is not among the messages, the last one is used: at every branch the latest child.
    """
    current = leaf if leaf in parents else _last_leaf(parents)
    path: dict[str, None] = {}
    while current in parents and current not in path:
        path[current] = None
        current = parents[current]
    return list(reversed(path))


def _last_leaf(parents: Mapping[str, str]) -> str:
    last_child = {parent if parent in parents else "": message for message, parent in parents.items()}
    # Without a first message the parents form a circle, which may be entered anywhere.
    leaf = last_child.get("", next(iter(parents), ""))
    passed: set[str] = set()
    while leaf in last_child and leaf not in passed:
        passed.add(leaf)
        leaf = last_child[leaf]
    return leaf


def read_parts(
    fields: Fields, name: str, kind_name: str = "type", spoken: Collection[str] = frozenset({"text"})
) -> str:
    """The text of a message that consists of parts; the types of parts other than `spoken` are reported once."""
    texts: list[str] = []
    others: dict[str, None] = {}
    for value, place in fields.items(name):
        if isinstance(value, str):
            texts.append(clean_text(value, place, fields.skips))
            continue
        part = Fields.of(value, place, fields.skips)
        kind = part.text(kind_name) or "a part of unknown type"
        if kind not in spoken:
            others[kind] = None
        elif isinstance(part.values.get("text"), dict):
            texts.append(part.object("text").text("value"))
        else:
            texts.append(part.text("text"))
    if others:
        fields.report(name, f"only text is kept; left out: {', '.join(others)}")
    return "\n\n".join(text for text in texts if text.strip())
