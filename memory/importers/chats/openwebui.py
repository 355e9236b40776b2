"""Open WebUI's export of chats (Settings, Data Controls, Export Chats; or one chat's Download): a JSON list.

    [{"id": "c-1", "user_id": "u-1", "title": "Kayak", "created_at": 1714500000, "chat": {"title": "Kayak",
      "history": {"currentId": "m-2", "messages": {
        "m-1": {"id": "m-1", "parentId": null, "childrenIds": ["m-2"], "role": "user", "content": "Where is it?",
          "timestamp": 1714500001},
        "m-2": {"id": "m-2", "parentId": "m-1", "childrenIds": [], "role": "assistant", "content": "In the shed.",
          "modelName": "Llama", "model": "llama3:8b", "timestamp": 1714500002}}}}}, ...]

Format as written by github.com/open-webui/open-webui (Chat.svelte, and `ChatResponse` in models/chats.py). The oldest
exports have `history` beside the title, or only a list of `messages`, which is read in order.

One history for each user, since administrators export everybody's chats. The path that was shown leads to `currentId`;
of answers by several models side by side, it contains the one the chat continued from. Thoughts and the use of tools,
which Open WebUI writes into the text as `<details type="...">`, are removed from it.
"""

from collections.abc import Iterator
from dataclasses import replace

from memory.importers.chats.conversation import USER, Layout, read_parts, shown_path
from memory.importers.reading.dates import parse_epoch
from memory.importers.reading.fields import Fields, stream_objects
from memory.importers.reading.json_stream import has_any
from memory.importers.reading.source import Record, Source, record_reader
from memory.types import PersonaDraft, SessionDraft, Skip, TurnDraft

NAME = "Open WebUI"
sniff = has_any(*(("[]", "chat", name) for name in ("history", "messages", "models")), ("[]", "history", "currentId"))

LAYOUT = Layout("id", "title", "created_at", "id", "timestamp", "parentId", parse_epoch)
DETAILS, DETAILS_END = '<details type="', "</details>"


@record_reader
def read(skips: list[Skip], path: Source) -> Iterator[Record | None]:
    """Each chat in the order of the file, after the user it belongs to."""
    for _, item in stream_objects(path, skips):
        user = item.text("user_id")
        yield PersonaDraft(NAME, f"openwebui-{user}" if user else "openwebui")
        yield _read_chat(item)


def _read_chat(item: Fields) -> SessionDraft | None:
    chat = item.object("chat") if "chat" in item.values else item
    history = chat.object("history")
    if history.values:
        entries = history.object("messages").entries()
        items = (({**value, "id": key} if isinstance(value, dict) else value, at) for key, value, at in entries)
        messages, parents = LAYOUT.index_messages(items, item.skips)
        shown = shown_path(parents, history.text("currentId"))
    else:
        messages, _ = LAYOUT.index_messages(chat.items("messages"), item.skips)
        shown = list(messages)
    layout = LAYOUT if item.values.get(LAYOUT.start) else replace(LAYOUT, start="timestamp")
    started = (item if layout is LAYOUT else chat).values.get(layout.start)
    title = item.text("title") or chat.text("title")
    completed = replace(item, values={**item.values, "title": title, layout.start: started})
    return layout.read_session(completed, messages, shown, _read_turn)


def _read_turn(message: Fields) -> TurnDraft | None:
    role = message.text("role")
    if role not in ("user", "assistant"):
        message.report("role", f"said by {role or 'nobody'}, not by the user or the assistant")
        return None
    if message.values.get("files"):
        message.report("files", "only text is kept; left out: the files")
    content = message.values.get("content")
    text = read_parts(message, "content") if isinstance(content, list) else message.text("content")
    if role == "user":
        return LAYOUT.make_turn(message, USER, "user", text)
    model = message.text("modelName") or message.text("model") or NAME
    return LAYOUT.make_turn(message, model, "assistant", _without_details(message, text))


def _without_details(message: Fields, text: str) -> str:
    """An answer without the thoughts and tool calls that the page folds away."""
    parts: list[str] = []
    at = 0
    while (start := text.find(DETAILS, at)) >= 0 and (end := text.find(DETAILS_END, start)) >= 0:
        parts.append(text[at:start])
        at = end + len(DETAILS_END)
    if at:
        message.report("content", "only what was said is kept; left out: thoughts or the use of tools")
    return "".join([*parts, text[at:]])
