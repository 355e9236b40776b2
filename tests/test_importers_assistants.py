"""The exports of Claude, Open WebUI and LibreChat: what was shown, who said it when, and why the rest is not kept."""

import json

import pytest

from memory.errors import UnreadableFile
from memory.importers.chats.assistants import claude
from memory.importers.detect import unpack
from memory.types import PersonaDraft
from support.export_files import EXPORTS, personas, read_all, said, sessions, skips, turns, write_json, write_zip


def test_claude_keeps_the_latest_branch_and_names_attached_files():
    records = read_all(EXPORTS / "claude.json")
    assert personas(records) == [PersonaDraft("Claude", "claude-a-1")]
    assert said(records) == [
        ("You", "user", "Where did I put the second hive?\n[attaches plan.txt]\n[attaches map.png]"),
        ("Claude", "assistant", "Behind the church."),
        ("You", "user", "I sold my bicycle."),
    ]
    assert [(s.external_id, s.title, s.started_text[:10]) for s in sessions(records)] == [
        ("c-hives", "The hives", "2025-05-01"),
        ("c-old", "", "2023-08-01"),
    ]
    assert skips(records) == [
        ("[0].chat_messages[1]", "on a branch that was not shown"),
        (
            "[0].chat_messages[0].attachments[0].extracted_content",
            "the text of an attached file; left out",
        ),
        ("[1].chat_messages[1]", "empty turn"),
    ]


def test_claude_follows_the_leaf_that_the_export_names(tmp_path):
    (conversation, _) = json.loads((EXPORTS / "claude.json").read_text())
    conversation["current_leaf_message_uuid"] = "m-2"
    records = read_all(write_json(tmp_path / "c.json", [conversation]))
    assert said(records)[-1] == ("Claude", "assistant", "By the oak.")
    assert ("[0].chat_messages[1].content", "only text is kept; left out: thinking, tool_use") in skips(records)


def test_claude_keeps_accounts_apart(tmp_path):
    def conversation(account):
        message = {"uuid": "m", "sender": "human", "text": f"I am {account}", "created_at": "2024-05-01T08:00:00Z"}
        return {"uuid": "c", "account": {"uuid": account}, "chat_messages": [message]}

    records = read_all(write_json(tmp_path / "c.json", [conversation("a"), conversation("b")]))
    assert [p.external_id for p in personas(records)] == ["claude-a", "claude-b"]


def test_claudes_archive_is_known_and_its_other_files_are_named(tmp_path):
    members = {"conversations.json": (EXPORTS / "claude.json").read_text(), "users.json": "[]", "projects.json": "[]"}
    zipped = write_zip(tmp_path / "data.zip", members)
    assert unpack(zipped).importer is claude
    assert [place for place, _ in skips(read_all(zipped))][-2:] == ["users.json", "projects.json"]


def test_two_messages_of_one_id_are_both_kept(tmp_path):
    message = {"uuid": "m", "sender": "human", "created_at": "2024-05-01T08:00:00Z"}
    conversation = {"uuid": "c", "chat_messages": [{**message, "text": "one"}, {**message, "text": "two"}]}
    assert [t.text for t in turns(read_all(write_json(tmp_path / "c.json", [conversation])))] == ["one", "two"]


def test_openwebui_keeps_what_was_shown_to_each_user():
    records = read_all(EXPORTS / "openwebui.json")
    assert personas(records) == [
        PersonaDraft("Open WebUI", "openwebui-u-1"),
        PersonaDraft("Open WebUI", "openwebui-u-2"),
    ]
    assert said(records) == [
        ("You", "user", "My boat is called Heron."),
        ("Qwen", "assistant", "Like the bird."),
        ("You", "user", "I keep goats."),
    ]
    assert [(s.title, s.started_at.isoformat()) for s in sessions(records)] == [
        ("Boat names", "2024-05-01T08:00:00+00:00"),
        ("Somebody else", "2024-05-01T08:00:00+00:00"),
    ]
    assert skips(records) == [
        ("[0].chat.history.messages.m-2", "on a branch that was not shown"),
        (
            "[0].chat.history.messages.m-3.content",
            "only what was said is kept; left out: thoughts or the use of tools",
        ),
        ("[1].chat.history.messages.x-1.files", "only text is kept; left out: the files"),
        ("[1].chat.history.messages.x-1.content", "only text is kept; left out: image_url"),
    ]


def test_openwebui_reads_the_oldest_exports_too(tmp_path):
    messages = [{"id": "a", "role": "user", "content": "Hi"}, {"id": "b", "role": "assistant", "content": "Hello"}]
    old = {"id": "c", "title": "Old", "chat": {"messages": messages, "timestamp": 1714550400123}}
    records = read_all(write_json(tmp_path / "c.json", [old]))
    assert said(records) == [("You", "user", "Hi"), ("Open WebUI", "assistant", "Hello")]
    assert sessions(records)[0].started_at.isoformat() == "2024-05-01T08:00:00.123000+00:00"


def test_librechat_keeps_the_latest_branch():
    records = read_all(EXPORTS / "librechat.json")
    assert personas(records) == [PersonaDraft("LibreChat", "librechat")]
    assert said(records) == [
        ("You", "user", "I lent the ladder to Petra."),
        ("GPT-4", "assistant", "Petra has it."),
    ]
    assert sessions(records)[0].started_at.isoformat() == "2024-05-01T08:00:01+00:00"
    assert skips(records) == [
        ("conversation.messages[1]", "on a branch that was not shown"),
        ("conversation.messages[2].content", "only text is kept; left out: think"),
        ("conversation.messages[3]", "an error message"),
    ]


def test_librechat_reads_a_recursive_export_alike():
    records = read_all(EXPORTS / "librechat-recursive.json")
    assert [turn.external_id for turn in turns(records)] == ["m-1", "m-3", "m-4"]
    assert skips(records) == [("conversation.messagesTree[0].children[0]", "on a branch that was not shown")]


def test_librechat_without_branches_holds_only_what_was_shown(tmp_path):
    export = json.loads((EXPORTS / "librechat.json").read_text()) | {"branches": False}
    assert len(turns(read_all(write_json(tmp_path / "c.json", export)))) == 3


def write_recursive_export(path, depth):
    text = "".join(
        f'{{"messageId": "{n}", "isCreatedByUser": true, "text": "t{n}", "children": [' for n in range(depth)
    )
    path.write_text(f'{{"conversationId": "c", "branches": true, "messagesTree": [{text}{"]}" * depth}]}}')
    return path


def test_a_recursive_export_may_be_deep(tmp_path):
    path = write_recursive_export(tmp_path / "deep.json", 5_000)
    assert len(turns(read_all(path))) == 5_000


def test_a_recursive_export_deeper_than_any_chat_is_refused(tmp_path):
    path = write_recursive_export(tmp_path / "deeper.json", 11_000)
    with pytest.raises(UnreadableFile, match=r"deeper\.json: the value at messagesTree is nested over 20,000 levels"):
        read_all(path)
