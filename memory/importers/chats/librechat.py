"""LibreChat's export of one conversation (Export, as JSON), with or without branches, recursive or not.

    {"conversationId": "c-1", "endpoint": "openAI", "title": "Kayak", "exportAt": "10:00:00 GMT+0000",
     "branches": true, "recursive": false, "messages": [
        {"messageId": "m-1", "parentMessageId": "00000000-0000-0000-0000-000000000000", "sender": "User",
         "isCreatedByUser": true, "text": "Where is it?", "createdAt": "2024-05-01T08:00:01.000Z"},
        {"messageId": "m-2", "parentMessageId": "m-1", "sender": "GPT-4", "isCreatedByUser": false, "text": "",
         "content": [{"type": "text", "text": "In the shed."}], "createdAt": "2024-05-01T08:00:02.000Z"}]}

A recursive export has `messagesTree` (older ones `messages`) whose messages contain their `children`. Format as written
by github.com/danny-avila/LibreChat (useExportConversation.ts, useBuildMessageTree.ts).

One history, "LibreChat"; the conversation is a session identified by its id. An export with branches does not say which
of them was shown; the latest is read, which is what LibreChat shows. One without branches contains what was shown.
"""

from collections.abc import Iterator
from typing import Any

from memory.importers.chats.conversation import USER, Layout, read_parts, shown_path
from memory.importers.reading.fields import Fields
from memory.importers.reading.json_stream import has_any, stream_values
from memory.importers.reading.source import Record, Source, record_reader
from memory.types import PersonaDraft, Skip, TurnDraft

NAME = "LibreChat"
# `exportAt` is the time of day of the export; the first message says when the conversation began.
LAYOUT = Layout("conversationId", "title", "createdAt", "messageId", "createdAt", "parentMessageId")
MAX_TREE_DEPTH = 20_000
"""Levels of a recursive export: each message is two below the one it answers, an object in a list."""

sniff = has_any(
    *((name, "[]", field) for name in ("messages", "messagesTree") for field in ("messageId", "parentMessageId"))
)


@record_reader
def read(skips: list[Skip], path: Source) -> Iterator[Record | None]:
    """The one conversation of the file."""
    yield PersonaDraft(NAME, "librechat")
    values = {str(place[0]): value for place, value in stream_values(path, max_depth=MAX_TREE_DEPTH) if place}
    conversation = Fields(values, "conversation", skips)
    items = _flatten(conversation.items("messagesTree" if "messagesTree" in values else "messages"))
    messages, parents = LAYOUT.index_messages(items, skips)
    shown = shown_path(parents, "") if values.get("branches") else list(messages)
    yield LAYOUT.read_session(conversation, messages, shown, _read_turn)


def _flatten(items: Iterator[tuple[Any, str]]) -> Iterator[tuple[Any, str]]:
    """Each message before its children, which get it as their parent; with a stack, because trees are deep."""
    waiting = [items]
    while waiting:
        value, place = next(waiting[-1], (None, ""))
        if not place:
            waiting.pop()
            continue
        yield value, place
        children = value.get("children") if isinstance(value, dict) else None
        if isinstance(value, dict) and isinstance(children, list):
            parent = {"parentMessageId": value.get("messageId")}
            adopted = [{**child, **parent} if isinstance(child, dict) else child for child in children]
            waiting.append(iter([(child, f"{place}.children[{n}]") for n, child in enumerate(adopted)]))


def _read_turn(message: Fields) -> TurnDraft | None:
    if message.values.get("error"):
        message.report("", "an error message")
        return None
    text = read_parts(message, "content") or message.text("text")
    if message.values.get("files"):
        message.report("files", "only text is kept; left out: the files")
    if message.values.get("isCreatedByUser"):
        return LAYOUT.make_turn(message, USER, "user", text)
    speaker = message.text("sender") or message.text("model") or NAME
    return LAYOUT.make_turn(message, speaker, "assistant", text)
