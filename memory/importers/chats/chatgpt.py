"""ChatGPT's export of all conversations (Settings, Data controls, Export data): a zip, or its conversations.json alone.

    [{"conversation_id": "c-1", "title": "Kayak", "create_time": 1714500000.5, "current_node": "n-3", "mapping": {
        "n-1": {"id": "n-1", "parent": null, "children": ["n-2"], "message": null},
        "n-2": {"id": "n-2", "parent": "n-1", "children": ["n-3"], "message": {
            "author": {"role": "user", "name": null}, "create_time": 1714500001.0, "recipient": "all",
            "content": {"content_type": "text", "parts": ["Where do I keep it?"]}, "metadata": {}}}, ...}}, ...]

Newer archives hold conversations-000.json, -001.json and so on. Format as described by
github.com/mitkury/chatgpt-export-parser (docs/chatgpt-data-export-format.md) and read by
github.com/danny-avila/LibreChat (importers.js).

One history, "ChatGPT"; a conversation is a session identified by its id, a message a turn identified by its node. The
path that was shown leads from the root to `current_node`. Only messages between the user and the assistant are kept,
not hidden ones, messages by or to tools, or what is not text (thoughts, executed code). Pictures are reported.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from memory.importers.chats.conversation import USER, Layout, read_parts, shown_path
from memory.importers.reading.dates import parse_epoch
from memory.importers.reading.fields import Fields, stream_objects
from memory.importers.reading.json_stream import has_any
from memory.importers.reading.source import Record, Source, record_reader
from memory.types import PersonaDraft, Role, SessionDraft, Skip, TurnDraft

NAME = "ChatGPT"
sniff = has_any(("[]", "mapping"))

LAYOUT = Layout("conversation_id", "title", "create_time", "id", "create_time", read_time=parse_epoch)
SPEAKERS: dict[str, tuple[str, Role]] = {"user": (USER, "user"), "assistant": (NAME, "assistant")}
TEXT_KINDS = frozenset({"text", "multimodal_text"})
SPOKEN = frozenset({"text", "audio_transcription"})
HIDDEN = ("is_visually_hidden_from_conversation", "is_user_system_message")

# For a footnote of the page, the text contains its source between two private-use characters.
FOOTNOTE = re.compile("\ue200[^\ue200\ue201]*\ue201")


@record_reader
def read(skips: list[Skip], path: Source) -> Iterator[Record | None]:
    """Each conversation in the order of the file."""
    yield PersonaDraft(NAME, "chatgpt")
    for _, conversation in stream_objects(path, skips):
        yield _read_conversation(conversation)


def _read_conversation(conversation: Fields) -> SessionDraft | None:
    messages: dict[str, Fields] = {}
    parents: dict[str, str] = {}
    for key, node in conversation.object("mapping").object_entries():
        parents[key] = node.text("parent")
        if node.values.get("message") is not None:
            # The node's id, because old exports have no message id.
            message = node.object("message")
            messages[key] = replace(message, values={**message.values, "id": key})
    shown = shown_path(parents, conversation.text("current_node"))
    layout = LAYOUT if conversation.values.get(LAYOUT.id) else replace(LAYOUT, id="id")
    return layout.read_session(conversation, messages, shown, _read_turn)


def _read_turn(message: Fields) -> TurnDraft | None:
    author, content = message.object("author"), message.object("content")
    role, kind = author.text("role"), content.text("content_type")
    if reason := _find_obstacle(message, role, author.text("name"), kind):
        message.report("", reason)
        return None
    text = FOOTNOTE.sub("", read_parts(content, "parts", "content_type", SPOKEN))
    return LAYOUT.make_turn(message, *SPEAKERS[role], text)


def _find_obstacle(message: Fields, role: str, name: str, kind: str) -> str:
    """Why a message is not part of the conversation; empty if it is."""
    metadata = message.values.get("metadata")
    recipient = message.text("recipient")
    if role == "tool":
        return f"said by a tool ({name or 'unnamed'})"
    if role not in SPEAKERS:
        return f"said by {role or 'nobody'}, not by the user or the assistant"
    if isinstance(metadata, dict) and any(metadata.get(flag) for flag in HIDDEN):
        return "hidden from the conversation"
    if recipient not in ("", "all"):
        return f"said to a tool ({recipient})"
    if message.text("channel") == "analysis":
        return "a thought, not part of the conversation"
    return "" if kind in TEXT_KINDS else f"not text but {kind or 'of unknown type'}"
