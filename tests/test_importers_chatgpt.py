"""ChatGPT's export: branches resolved to what was shown, and a reason for each message that is not kept."""

import json
from datetime import UTC, datetime

from memory.importers.chats.assistants import chatgpt
from memory.importers.detect import unpack
from memory.types import PersonaDraft
from support.export_files import EXPORTS, personas, read_all, said, sessions, skips, turns, write_json, write_zip

FILE = EXPORTS / "chatgpt.json"


def message(role="user", text="Hello", **more):
    content = {"content_type": "text", "parts": [text]}
    return {"author": {"role": role}, "create_time": 1714550401.0, "content": content, "recipient": "all", **more}


def conversation(*messages, **more):
    """A conversation of messages that follow each other."""
    nodes = {f"n{n}": {"parent": f"n{n - 1}" if n else None, "message": m} for n, m in enumerate(messages)}
    return {"id": "c", "title": "t", "create_time": 1714550400.0, "mapping": nodes, **more}


def test_the_branch_that_was_shown_is_kept_with_its_times_and_title():
    records = read_all(FILE)
    assert personas(records) == [PersonaDraft("ChatGPT", "chatgpt")]
    assert said(records) == [
        ("You", "user", "This is my shed. Where would you keep a red kayak?"),
        ("ChatGPT", "assistant", "Hang it from the beams."),
    ]
    (session,) = sessions(records)
    assert (session.external_id, session.title) == ("c-kayak", "Where the kayak is")
    assert session.started_at == datetime(2024, 5, 1, 8, 0, 0, 250_000, UTC)
    assert [(t.external_id, t.said_at.second) for t in turns(records)] == [("n-question", 1), ("n-answer-2", 20)]


def test_every_message_that_is_not_kept_has_its_place_and_reason():
    left_out = {place.removeprefix("[0].mapping."): reason for place, reason in skips(read_all(FILE))}
    assert left_out == {
        "n-answer-1.message": "on a branch that was not shown",
        "n-system.message": "said by system, not by the user or the assistant",
        "n-about.message": "hidden from the conversation",
        "n-question.message.content.parts": "only text is kept; left out: image_asset_pointer",
        "n-search.message": "said to a tool (web)",
        "n-found.message": "said by a tool (web)",
        "n-thought.message": "not text but thoughts",
        "[1]": "session without turns",
    }


def test_an_archive_is_read_whole_however_its_conversations_are_split(tmp_path):
    first, second = json.loads(FILE.read_text())
    zipped = write_zip(
        tmp_path / "export.zip",
        {
            "user.json": '{"id": "user-1"}',
            "conversations-000.json": json.dumps([first]),
            "conversations-001.json": json.dumps([second, conversation(message(text="I row."))]),
            "chat.html": "<html></html>",
            "file-shed.jpg": b"\xff\xd8\xff",
        },
    )
    records = read_all(zipped)
    assert unpack(zipped).importer is chatgpt
    assert [text for _, _, text in said(records)][-1] == "I row."
    assert {"user.json", "chat.html", "file-shed.jpg"} <= {place for place, _ in skips(records)}


def test_without_a_current_node_the_latest_branch_is_read(tmp_path):
    broken = conversation(message(text="a"), message("assistant", "b"), current_node=None)
    broken["mapping"]["other"] = {"parent": "n0", "message": message("assistant", "c")}
    records = read_all(write_json(tmp_path / "c.json", [broken]))
    assert [text for _, _, text in said(records)] == ["a", "c"]


def test_a_spoken_message_is_kept_as_its_transcription(tmp_path):
    parts = [{"content_type": "audio_transcription", "text": "Good morning"}, {"content_type": "audio_asset_pointer"}]
    spoken = message(content={"content_type": "multimodal_text", "parts": parts})
    records = read_all(write_json(tmp_path / "c.json", [conversation(spoken, current_node="n0")]))
    assert said(records) == [("You", "user", "Good morning")]
    assert skips(records) == [
        ("[0].mapping.n0.message.content.parts", "only text is kept; left out: audio_asset_pointer")
    ]


def test_a_time_that_is_none_is_noted_and_the_message_kept(tmp_path):
    strange = conversation(message(create_time="soon"), create_time=None, current_node="n0")
    records = read_all(write_json(tmp_path / "c.json", [strange]))
    assert said(records) == [("You", "user", "Hello")]
    assert skips(records) == [
        ("[0].mapping.n0.message.create_time", "no readable date; kept without one"),
        ("[0].create_time", "no readable date; kept without one"),
    ]
