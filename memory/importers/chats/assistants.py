"""Read the exports of assistants: conversations that are trees of messages, of which the program showed one path.

assistants.toml describes each program's format, with a sample. One history for each program, or for each of its
accounts; a conversation is a session and a message a turn, identified by their ids. Only text between the user and the
assistant is kept; what is left out is reported.

Editing a message or asking for another answer begins a branch. The path that was shown leads from the first message to
the one that the program names as current; the messages on other branches come as skips.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from memory import read_table
from memory.bank.relations import YOU
from memory.importers.reading.fields import EMPTY_SESSION, EMPTY_TURN, Fields, date_problem, parse_epoch, parse_moment
from memory.importers.reading.json_stream import MAX_DEPTH, format_place, outline, stream_values
from memory.importers.reading.source import Record, Source, record_reader
from memory.types import PersonaDraft, Role, SessionDraft, Skip, TurnDraft

ROLES: dict[str, Role] = {"user": "user", "human": "user", "assistant": "assistant"}
SPOKEN = frozenset({"text", "audio_transcription"})
NOT_SHOWN = "on a branch that was not shown"
HIDDEN = ("is_visually_hidden_from_conversation", "is_user_system_message")
TEXT_KINDS = frozenset({"text", "multimodal_text"})
# For a footnote of the page, ChatGPT's text contains its source between two private-use characters.
FOOTNOTE = re.compile("\ue200[^\ue200\ue201]*\ue201")
DETAILS_END = "</details>"
DETAILS = re.compile(f'<details type=".*?{DETAILS_END}', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Assistant:
    """The importer of one program's exports; a history is called `NAME` and identified by that and its owner.

    `conversation` and `message` are the program's names for our fields (see `Fields.renamed`); `wrapper` is the field
    of a node that contains its message. In `roles`, "" stands for any other role. `find_obstacle` says why a message is
    not part of the conversation, `edit` changes its text. In a file that `is_chronological`, the last message was shown
    unless the file says which was.
    """

    NAME: str
    signs: Sequence[str]
    conversation: Mapping[str, str]
    message: Mapping[str, str]
    wrapper: str = ""
    roles: Mapping[str, Role] = field(default_factory=lambda: ROLES)
    find_obstacle: Callable[[Fields], str] = lambda message: ""
    edit: Callable[[Fields, str], str] = lambda message, text: text
    is_chronological: bool = False
    max_depth: int = MAX_DEPTH

    def sniff(self, head: bytes) -> bool:
        """Whether the start of a file has one of the signs."""
        return not outline(head).isdisjoint(tuple(sign.split(".")) for sign in self.signs)

    def read(self, path: Source) -> Iterator[Record]:
        """Each conversation in the order of the file, after the account it belongs to."""
        return _read(self, path)


@record_reader
def _read(skips: list[Skip], program: Assistant, path: Source) -> Iterator[Record | None]:
    key, current = program.NAME.lower().replace(" ", ""), None
    for item in _stream_conversations(path, skips, program.max_depth):
        conversation = item.renamed(program.conversation)
        owner = conversation.text("owner")
        persona = PersonaDraft(program.NAME, f"{key}-{owner}" if owner else key)
        if persona != current:
            yield (current := persona)
        yield _read_session(program, conversation)


def _stream_conversations(path: Source, skips: list[Skip], max_depth: int) -> Iterator[Fields]:
    """Each conversation of a list, or the one that is the whole file."""
    values: dict[str, Any] = {}
    for place, value in stream_values(path, max_depth=max_depth):
        if place and isinstance(place[0], str):
            values[place[0]] = value
        else:
            yield Fields.of(value, format_place(place), skips)
    if values:
        yield Fields(values, "conversation", skips)


def _read_session(program: Assistant, conversation: Fields) -> SessionDraft | None:
    """A conversation as a session of what was shown, from its start or else its first dated message.

    Without turns, it is None, which is reported.
    """
    messages, parents = _index_messages(program, conversation)
    shown = dict.fromkeys(_find_shown(program, conversation, parents))
    for key, message in messages.items():
        if key not in shown:
            message.report("", NOT_SHOWN)
    turns = tuple(turn for key in shown if key in messages and (turn := _read_turn(program, messages[key])))
    if not turns:
        conversation.report("", EMPTY_SESSION)
        return None
    started_at = conversation.optional_moment("start", _read_time)
    started_at = started_at or next((turn.said_at for turn in turns if turn.said_at), None)
    if (fault := date_problem(started_at)) and not conversation.values.get("start"):
        conversation.report("start", fault)
    wording, title = _wording(conversation, "start"), conversation.text("title").strip()
    return SessionDraft(turns, started_at, wording, conversation.text("id"), title)


def _index_messages(program: Assistant, conversation: Fields) -> tuple[dict[str, Fields], dict[str, str]]:
    """The messages by id, and the parent of each; a missing or repeated id is replaced by the place."""
    messages: dict[str, Fields] = {}
    parents: dict[str, str] = {}
    for key, value, place in _list_nodes(program, conversation):
        node = Fields.of(value, place, conversation.skips)
        if not isinstance(value, dict):
            continue
        own = key or node.text(program.message["id"])
        own = own if own and own not in parents else place
        parents[own] = node.text(program.message["parent"])
        if program.wrapper and value.get(program.wrapper) is None:
            continue
        message = (node.object(program.wrapper) if program.wrapper else node).renamed(program.message)
        # Where messages are named, the name is the id: old exports have no other.
        messages[own] = replace(message, values={**message.values, "id": key}) if key else message
    return messages, parents


def _list_nodes(program: Assistant, conversation: Fields) -> Iterator[tuple[str, Any, str]]:
    """The name, value and place of each message; in a list, without a name, each comes before its children.

    Children get it as their parent. With a stack, because trees are deep.
    """
    if isinstance(conversation.values["messages"], dict):
        yield from conversation.object("messages").entries()
        return
    waiting = list(conversation.items("messages"))[::-1]
    while waiting:
        value, place = waiting.pop()
        yield "", value, place
        if isinstance(value, dict) and isinstance(children := value.get("children"), list):
            parent = {program.message["parent"]: value.get(program.message["id"])}
            adopted = [{**child, **parent} if isinstance(child, dict) else child for child in children]
            waiting += reversed([(child, f"{place}.children[{n}]") for n, child in enumerate(adopted)])


def _find_shown(program: Assistant, conversation: Fields, parents: Mapping[str, str]) -> list[str]:
    """The ids of the messages that were shown, in order; all of a list without branches."""
    is_list = isinstance(conversation.values["messages"], list)
    if not conversation.values["branches"] or (is_list and not any(parents.values())):
        return list(parents)
    leaf = conversation.text("leaf")
    if program.is_chronological and leaf not in parents:
        leaf = next(reversed([*parents]), "")
    return shown_path(parents, leaf)


def shown_path(parents: Mapping[str, str], leaf: str) -> list[str]:
    """The ids of the messages from the first to a leaf, given each one's parent; stops where parents form a circle.

    If the leaf is not among the messages, the last one is used: at every branch the latest child.
    """
    if leaf not in parents:
        last_child = {parent if parent in parents else "": message for message, parent in parents.items()}
        # Without a first message the parents form a circle, which may be entered anywhere.
        leaf = _follow(last_child, last_child.get("", next(iter(parents), "")))[-1]
    return [message for message in reversed(_follow(parents, leaf)) if message in parents]


def _follow(links: Mapping[str, str], first: str) -> list[str]:
    """What the links lead to, from the first; the last has no link, or one to what was passed."""
    path = {first: None}
    while (step := links.get(next(reversed(path)))) is not None and step not in path:
        path[step] = None
    return list(path)


def _read_turn(program: Assistant, message: Fields) -> TurnDraft | None:
    """A message as a turn; None if it is not part of the conversation or has no text, which is reported."""
    if obstacle := program.find_obstacle(message):
        message.report("", obstacle)
        return None
    said_by = message.text("role")
    if (role := program.roles.get(said_by, program.roles.get(""))) is None:
        message.report("role", f"said by {said_by or 'nobody'}, not by the user or the assistant")
        return None
    if message.values["attached"]:
        message.report("attached", "only text is kept; left out: the files")
    text = program.edit(message, _read_content(message) or message.text("text")).strip()
    if not text:
        message.report("", EMPTY_TURN)
        return None
    speaker = YOU if role == "user" else message.text("speaker") or program.NAME
    said_at = message.optional_moment("said_at", _read_time)
    return TurnDraft(speaker, role, text, said_at, _wording(message, "said_at"), message.text("id"))


def _read_content(message: Fields) -> str:
    """The text of a message, which may consist of parts; the types of parts other than text are reported once."""
    texts: list[str] = []
    others: dict[str, None] = {}
    for part in message.pieces("content"):
        if isinstance(part, str):
            texts.append(part)
            continue
        kind = part.text("content_type") or part.text("type") or "a part of unknown type"
        if kind not in SPOKEN:
            others[kind] = None
        elif isinstance(part.values.get("text"), dict):
            texts.append(part.object("text").text("value"))
        else:
            texts.append(part.text("text"))
    if others:
        message.report("content", f"only text is kept; left out: {', '.join(others)}")
    return "\n\n".join(text for text in texts if text.strip())


def _read_time(text: str) -> datetime | None:
    return parse_epoch(text) or parse_moment(text)


def _wording(fields: Fields, name: str) -> str:
    """The source's wording of a time; a number has none worth keeping."""
    return fields.text(name) if isinstance(fields.values[name], str) else ""


def _find_obstacle(message: Fields) -> str:
    """Why a message of ChatGPT is not part of the conversation; empty if it is."""
    metadata, role = message.values.get("metadata"), message.text("role")
    recipient, kind = message.text("recipient"), message.text("content.content_type")
    if role == "tool":
        return f"said by a tool ({message.text('author.name') or 'unnamed'})"
    if role not in ROLES:
        return f"said by {role or 'nobody'}, not by the user or the assistant"
    if isinstance(metadata, dict) and any(metadata.get(flag) for flag in HIDDEN):
        return "hidden from the conversation"
    if recipient not in ("", "all"):
        return f"said to a tool ({recipient})"
    if message.text("channel") == "analysis":
        return "a thought, not part of the conversation"
    return "" if kind in TEXT_KINDS else f"not text but {kind or 'of unknown type'}"


def _name_attachments(message: Fields, text: str) -> str:
    """A message to Claude with the names of the files that are attached to it."""
    parts = [text]
    for name in ("attachments", "files"):
        for attached in message.objects(name):
            if attached.text("extracted_content"):
                attached.report("extracted_content", "the text of an attached file; left out")
            if file_name := attached.text("file_name").strip():
                parts.append(f"[attaches {file_name}]")
    return "\n".join(part for part in parts if part)


def _remove_details(message: Fields, text: str) -> str:
    """An answer in Open WebUI without the thoughts and tool calls that the page folds away."""
    if message.text("role") != "assistant":
        return text
    closed, end, rest = text.rpartition(DETAILS_END)  # behind the last end, each beginning would search for one
    said, count = DETAILS.subn("", closed + end)
    if count:
        message.report("content", "only what was said is kept; left out: thoughts or the use of tools")
    return said + rest


_FORMATS = read_table(__file__)

chatgpt = Assistant(
    **_FORMATS["chatgpt"], find_obstacle=_find_obstacle, edit=lambda message, text: FOOTNOTE.sub("", text)
)
claude = Assistant(**_FORMATS["claude"], edit=_name_attachments)
openwebui = Assistant(**_FORMATS["openwebui"], edit=_remove_details)
librechat = Assistant(
    **_FORMATS["librechat"], find_obstacle=lambda message: "an error message" if message.values.get("error") else ""
)
