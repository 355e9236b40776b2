"""The exports of assistants: where to find each, a sample, and what becomes of it.

One history for each program, or for each of its accounts; a conversation is a session and a message a turn, identified
by their ids. Only text between the user and the assistant is kept; what is left out is reported.

ChatGPT (Settings, Data controls, Export data): a zip, or its conversations.json alone. Newer archives hold
conversations-000.json, -001.json and so on. Format as described by github.com/mitkury/chatgpt-export-parser
(docs/chatgpt-data-export-format.md) and read by github.com/danny-avila/LibreChat (importers.js). A turn is identified
by its node. Left out are hidden messages, messages by or to tools, and what is not text (thoughts, executed code).

    [{"conversation_id": "c-1", "title": "Kayak", "create_time": 1714500000.5, "current_node": "n-3", "mapping": {
        "n-1": {"id": "n-1", "parent": null, "children": ["n-2"], "message": null},
        "n-2": {"id": "n-2", "parent": "n-1", "children": ["n-3"], "message": {
            "author": {"role": "user", "name": null}, "create_time": 1714500001.0, "recipient": "all",
            "content": {"content_type": "text", "parts": ["Where do I keep it?"]}, "metadata": {}}}, ...}}, ...]

Claude (Settings, Privacy, Export data): a zip, or its conversations.json alone. Format as described by
github.com/Sinity/polylogue (docs/providers/claude-ai.md), with the parents that exports since 2025 have, as seen in
published ones; without parents, all messages were shown. Thoughts and the use of tools are left out. An attached file
is named in the message, its text is left out.

    [{"uuid": "c-1", "name": "Kayak", "created_at": "2024-05-01T08:00:00.000000Z", "account": {"uuid": "a-1"},
      "chat_messages": [{"uuid": "m-1", "sender": "human", "text": "Where do I keep it?",
        "content": [{"type": "text", "text": "Where do I keep it?"}], "created_at": "2024-05-01T08:00:01.000000Z",
        "parent_message_uuid": "00000000-0000-4000-8000-000000000000",
        "attachments": [{"file_name": "plan.txt", "extracted_content": "..."}], "files": [{"file_name": "map.png"}]},
        {"uuid": "m-2", "sender": "assistant", ...}]}, ...]

Open WebUI (Settings, Data Controls, Export Chats; or one chat's Download). Format as written by
github.com/open-webui/open-webui (Chat.svelte, and `ChatResponse` in models/chats.py). The oldest exports have `history`
beside the title, or only a list of `messages`, which is read in order. Administrators export everybody's chats. Of
answers by several models side by side, the one the chat continued from was shown. Thoughts and the use of tools, which
are in the text as `<details type="...">`, are removed from it.

    [{"id": "c-1", "user_id": "u-1", "title": "Kayak", "created_at": 1714500000, "chat": {"title": "Kayak",
      "history": {"currentId": "m-2", "messages": {
        "m-1": {"id": "m-1", "parentId": null, "childrenIds": ["m-2"], "role": "user", "content": "Where is it?",
          "timestamp": 1714500001},
        "m-2": {"id": "m-2", "parentId": "m-1", "childrenIds": [], "role": "assistant", "content": "In the shed.",
          "modelName": "Llama", "model": "llama3:8b", "timestamp": 1714500002}}}}}, ...]

LibreChat (Export, as JSON): one conversation, with or without branches, recursive or not. Format as written by
github.com/danny-avila/LibreChat (useExportConversation.ts, useBuildMessageTree.ts). A recursive export has
`messagesTree` (older ones `messages`) whose messages contain their `children`. An export with branches does not say
which was shown; the latest is read, which is what LibreChat shows. One without branches contains what was shown.
`exportAt` is the time of day of the export.

    {"conversationId": "c-1", "endpoint": "openAI", "title": "Kayak", "exportAt": "10:00:00 GMT+0000",
     "branches": true, "recursive": false, "messages": [
        {"messageId": "m-1", "parentMessageId": "00000000-0000-0000-0000-000000000000", "sender": "User",
         "isCreatedByUser": true, "text": "Where is it?", "createdAt": "2024-05-01T08:00:01.000Z"},
        {"messageId": "m-2", "parentMessageId": "m-1", "sender": "GPT-4", "isCreatedByUser": false, "text": "",
         "content": [{"type": "text", "text": "In the shed."}], "createdAt": "2024-05-01T08:00:02.000Z"}]}
"""

import re

from memory.importers.chats.conversation import ROLES, Assistant
from memory.importers.reading.fields import Fields
from memory.importers.reading.json_stream import has_any

# Our fields, and the programs' names for them: ChatGPT, Claude, Open WebUI, LibreChat.
CONVERSATION = {
    "owner": ("", "account.uuid", "user_id", ""),
    "id": ("conversation_id id", "uuid", "id", "conversationId"),
    "title": ("title", "name", "title chat.title", "title"),
    "start": ("create_time", "created_at", "created_at chat.timestamp timestamp", "createdAt"),
    "messages": (
        "mapping",
        "chat_messages",
        "chat.history.messages history.messages chat.messages messages",
        "messagesTree messages",
    ),
    # A conversation may have branches if this field has a value; without branches, all messages were shown.
    "branches": ("mapping", "chat_messages", "chat.history history", "branches"),
    "leaf": ("current_node", "current_leaf_message_uuid", "chat.history.currentId history.currentId", ""),
}
MESSAGE = {
    "id": ("id", "uuid", "id", "messageId"),
    "parent": ("parent", "parent_message_uuid", "parentId", "parentMessageId"),
    "role": ("author.role", "sender", "role", "isCreatedByUser"),
    "speaker": ("", "", "modelName model", "sender model"),
    "said_at": ("create_time", "created_at", "timestamp", "createdAt"),
    "content": ("content.parts", "content", "content", "content"),
    "text": ("", "text", "", "text"),
    "attached": ("", "", "files", "files"),
}

HIDDEN = ("is_visually_hidden_from_conversation", "is_user_system_message")
TEXT_KINDS = frozenset({"text", "multimodal_text"})
# For a footnote of the page, ChatGPT's text contains its source between two private-use characters.
FOOTNOTE = re.compile("\ue200[^\ue200\ue201]*\ue201")
DETAILS, DETAILS_END = '<details type="', "</details>"


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
    parts: list[str] = []
    at = 0
    while message.text("role") == "assistant" and (start := text.find(DETAILS, at)) >= 0:
        if (end := text.find(DETAILS_END, start)) < 0:
            break
        parts.append(text[at:start])
        at = end + len(DETAILS_END)
    if at:
        message.report("content", "only what was said is kept; left out: thoughts or the use of tools")
    return "".join([*parts, text[at:]])


def _names(program: int) -> tuple[dict[str, str], dict[str, str]]:
    """One column of the two tables."""
    conversation, message = ({ours: theirs[program] for ours, theirs in t.items()} for t in (CONVERSATION, MESSAGE))
    return conversation, message


chatgpt = Assistant(
    "ChatGPT",
    has_any(("[]", "mapping")),
    *_names(0),
    wrapper="message",
    find_obstacle=_find_obstacle,
    edit=lambda message, text: FOOTNOTE.sub("", text),
)
claude = Assistant(
    "Claude", has_any(("[]", "chat_messages")), *_names(1), edit=_name_attachments, is_chronological=True
)
openwebui = Assistant(
    "Open WebUI",
    has_any(*(("[]", "chat", name) for name in ("history", "messages", "models")), ("[]", "history", "currentId")),
    *_names(2),
    edit=_remove_details,
)
librechat = Assistant(
    "LibreChat",
    has_any(
        *((name, "[]", sign) for name in ("messages", "messagesTree") for sign in ("messageId", "parentMessageId"))
    ),
    *_names(3),
    roles={"True": "user", "": "assistant"},
    find_obstacle=lambda message: "an error message" if message.values.get("error") else "",
    # Where messages contain their answers, each is two levels below the one it answers, an object in a list.
    max_depth=20_000,
)
