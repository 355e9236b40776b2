"""Claude's export of all conversations (Settings, Privacy, Export data): a zip, or its conversations.json alone.

    [{"uuid": "c-1", "name": "Kayak", "created_at": "2024-05-01T08:00:00.000000Z", "account": {"uuid": "a-1"},
      "chat_messages": [{"uuid": "m-1", "sender": "human", "text": "Where do I keep it?",
        "content": [{"type": "text", "text": "Where do I keep it?"}], "created_at": "2024-05-01T08:00:01.000000Z",
        "parent_message_uuid": "00000000-0000-4000-8000-000000000000",
        "attachments": [{"file_name": "plan.txt", "extracted_content": "..."}], "files": [{"file_name": "map.png"}]},
        {"uuid": "m-2", "sender": "assistant", ...}]}, ...]

Format as described by github.com/Sinity/polylogue (docs/providers/claude-ai.md), with the parents that exports since
2025 have, as seen in published ones.

One history for each account; a conversation is a session identified by its uuid. Where messages name their parents, the
path to `current_leaf_message_uuid`, or else to the latest message, was shown; without parents all were. Thoughts and
the use of tools are left out. An attached file is named in the message; its text is left out with a skip.
"""

from collections.abc import Iterator

from memory.importers.chats.conversation import USER, Layout, read_parts, shown_path
from memory.importers.reading.fields import Fields, stream_objects
from memory.importers.reading.json_stream import has_any
from memory.importers.reading.source import Record, Source, record_reader
from memory.types import PersonaDraft, Role, SessionDraft, Skip, TurnDraft

NAME = "Claude"
sniff = has_any(("[]", "chat_messages"))

LAYOUT = Layout("uuid", "name", "created_at", "uuid", "created_at", "parent_message_uuid")
SPEAKERS: dict[str, tuple[str, Role]] = {"human": (USER, "user"), "assistant": (NAME, "assistant")}


@record_reader
def read(skips: list[Skip], path: Source) -> Iterator[Record | None]:
    """Each conversation in the order of the file, after the account it belongs to."""
    for _, conversation in stream_objects(path, skips):
        account = conversation.object("account").text("uuid")
        yield PersonaDraft(NAME, f"claude-{account}" if account else "claude")
        yield _read_conversation(conversation)


def _read_conversation(conversation: Fields) -> SessionDraft | None:
    messages, parents = LAYOUT.index_messages(conversation.items("chat_messages"), conversation.skips)
    shown = list(messages)
    if any(parents.values()):
        leaf = conversation.text("current_leaf_message_uuid")
        shown = shown_path(parents, leaf if leaf in parents else shown[-1])
    return LAYOUT.read_session(conversation, messages, shown, _read_turn)


def _read_turn(message: Fields) -> TurnDraft | None:
    sender = message.text("sender")
    if sender not in SPEAKERS:
        message.report("sender", f"said by {sender or 'nobody'}, not by human or assistant")
        return None
    text = read_parts(message, "content") or message.text("text").strip()
    text = "\n".join(part for part in (text, *_read_attachments(message)) if part)
    return LAYOUT.make_turn(message, *SPEAKERS[sender], text)


def _read_attachments(message: Fields) -> Iterator[str]:
    for name in ("attachments", "files"):
        for attached in message.objects(name):
            if attached.text("extracted_content"):
                attached.report("extracted_content", "the text of an attached file; left out")
            if file_name := attached.text("file_name").strip():
                yield f"[attaches {file_name}]"
