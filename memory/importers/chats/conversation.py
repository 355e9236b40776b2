"""Read conversations with an assistant: a tree of messages, of which the program showed one path.

Editing a message or asking for another answer begins a branch. The path that was shown leads from the first message to
the one that the program names as current; the messages on other branches come as skips.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from memory.importers.reading.dates import date_problem, parse_moment
from memory.importers.reading.fields import EMPTY_SESSION, EMPTY_TURN, Fields, clean_text, pop_skips
from memory.importers.reading.json_stream import format_place, stream_values
from memory.importers.reading.source import Record, Source
from memory.types import PersonaDraft, Role, SessionDraft, Skip, TurnDraft

ReadTime = Callable[[str], datetime | None]
ReadTurn = Callable[[Fields], TurnDraft | None]

USER = "You"
"""The user's name if the program gives none, as in Memoir's own chat."""

NOT_SHOWN = "on a branch that was not shown"


def read_conversations(
    path: Source, persona_of: Callable[[Fields], PersonaDraft], read: Callable[[Fields], SessionDraft | None]
) -> Iterator[Record]:
    """The conversations of a file that is a JSON list of them, each after the persona it belongs to."""
    skips: list[Skip] = []
    for place, value in stream_values(path):
        conversation = Fields.of(value, format_place(place), skips)
        yield persona_of(conversation)
        draft = read(conversation)
        yield from pop_skips(skips, draft)


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


def index_messages(
    values: Iterable[tuple[Any, str]], conversation: Fields, id_name: str, parent_name: str
) -> tuple[dict[str, Fields], dict[str, str]]:
    """The messages of a list by id, and the parent of each; a missing or repeated id is replaced by the place."""
    messages: dict[str, Fields] = {}
    parents: dict[str, str] = {}
    for value, place in values:
        message = Fields.of(value, place, conversation.skips)
        if isinstance(value, dict):
            own = message.text(id_name)
            key = own if own and own not in messages else place
            messages[key], parents[key] = message, message.text(parent_name)
    return messages, parents


def read_session(
    conversation: Fields,
    names: tuple[str, str, str],
    messages: Mapping[str, Fields],
    shown: Sequence[str],
    read_turn: ReadTurn,
    read_time: ReadTime = parse_moment,
) -> SessionDraft | None:
    """A conversation as a session of the messages `shown`, ids in order; None if it has no turns, which is reported.

    `names` are its fields for id, title and start; without a start, the time of the first dated message is used. Of
    all `messages` by id, those that were not shown are reported. `read_turn` gives None, after a report, for a message
    without a turn; `read_time` parses the start.
    """
    path = set(shown)
    for key, message in messages.items():
        if key not in path:
            message.report("", NOT_SHOWN)
    turns = tuple(turn for key in shown if key in messages and (turn := read_turn(messages[key])))
    if not turns:
        conversation.report("", EMPTY_SESSION)
        return None
    name, title, start = names
    started_at = conversation.optional_moment(start, read_time) or next((t.said_at for t in turns if t.said_at), None)
    if (fault := date_problem(started_at)) and not conversation.values.get(start):
        conversation.report(start, fault)
    said_text = conversation.text(start) if read_time is parse_moment else ""
    return SessionDraft(turns, started_at, said_text, conversation.text(name), conversation.text(title).strip())


def make_turn(
    message: Fields,
    speaker: tuple[str, Role],
    text: str,
    names: tuple[str, str],
    read_time: ReadTime = parse_moment,
) -> TurnDraft | None:
    """A message as a turn, given the names of its fields for id and time; None if it has no text, which is reported."""
    if not text.strip():
        message.report("", EMPTY_TURN)
        return None
    name, time = names
    said_text = message.text(time) if read_time is parse_moment else ""
    return TurnDraft(*speaker, text.strip(), message.optional_moment(time, read_time), said_text, message.text(name))


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
