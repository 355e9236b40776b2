"""Telegram's export: one chat or an account, texts in pieces, and who the user is."""

import json
from datetime import UTC, datetime

import pytest

from memory.importers.reading import json_stream as jsonstream
from memory.types import PersonaDraft
from support.export_files import EXPORTS, personas, read_all, said, sessions, skips, turns, write_json

ONE = EXPORTS / "telegram.json"


def test_one_chat_is_read_with_its_pieces_put_together():
    records = read_all(ONE)
    assert personas(records) == [PersonaDraft("Bo", "telegram-22")]
    assert said(records) == [
        ("Bo", "other", "Look: example.org is back"),
        ("Ana", "user", "My new canoe"),
        ("Ana", "user", "[forwarded from Harbour news] The lock is closed."),
    ]
    assert [(s.external_id, len(s.turns)) for s in sessions(records)] == [("2", 2), ("5", 1)]


def test_the_exact_time_is_kept_and_the_local_one_as_it_was_written():
    turn = turns(read_all(ONE))[0]
    assert (turn.said_at, turn.said_text) == (datetime(2024, 5, 1, 8, 0, 5, tzinfo=UTC), "2024-05-01T10:00:05")


def test_each_message_without_text_has_one_reason():
    assert skips(read_all(ONE)) == [
        ("messages[0]", "not a written message but service (phone call)"),
        ("messages[2]", "only text is kept; left out: photo"),
        ("messages[3]", "only text is kept; left out: voice message"),
        ("messages[5]", "not a written message but unsupported"),
    ]


def test_an_account_names_the_user_of_all_its_chats():
    records = read_all(EXPORTS / "telegram-account.json")
    assert [(p.name, p.external_id) for p in personas(records)] == [
        ("Rowing club", "telegram-33"),
        ("Saved messages", "telegram-11"),
        ("Old group", "telegram-77"),
    ]
    assert said(records) == [
        ("Cy", "other", "Who has the key?"),
        ("Ana", "user", "I have it."),
        ("Deleted account", "other", "Thanks"),
        ("Ana", "user", "Locker 14."),
        ("Dee", "other", "Bye"),
    ]
    assert skips(records) == [("chats.list[2]", "a chat without messages")]


def test_a_group_alone_is_told_by_who_speaks_first_and_says_so(tmp_path):
    account = json.loads((EXPORTS / "telegram-account.json").read_text())
    records = read_all(write_json(tmp_path / "result.json", account["chats"]["list"][0]))
    assert [role for _, role, _ in said(records)] == ["user", "other", "other"]
    assert skips(records) == [("the start", "does not say who you are; unless you choose, it is Cy, who speaks first")]


@pytest.mark.parametrize(("number", "writer"), [(11, 11 + 2**32), (7_000_000_011, "user7000000011")])
def test_saved_messages_alone_are_the_users(tmp_path, number, writer):
    chat = json.loads((EXPORTS / "telegram-account.json").read_text())["chats"]["list"][1] | {"id": number}
    chat["messages"][0]["from_id"] = writer
    records = read_all(write_json(tmp_path / "result.json", chat))
    assert said(records) == [("Ana", "user", "Locker 14.")]
    assert skips(records) == []


def test_a_chat_of_two_exported_before_2021_tells_the_user_by_the_chats_number(tmp_path):
    chat = json.loads(ONE.read_text()) | {"id": 22 + 2**32}
    for message in chat["messages"]:
        message["from_id"] = {"user22": 22 + 2**32, "user11": 11 + 2**32}.get(message.get("from_id"))
    assert [role for _, role, _ in said(read_all(write_json(tmp_path / "r.json", chat)))] == ["other", "user", "user"]


def test_a_chat_of_two_with_one_of_todays_long_numbers_does_so_too(tmp_path):
    text = ONE.read_text().replace("user22", "user7000000022").replace('"id": 22', '"id": 7000000022')
    (tmp_path / "r.json").write_text(text)
    assert [role for _, role, _ in said(read_all(tmp_path / "r.json"))] == ["other", "user", "user"]


def test_a_name_that_comes_after_the_messages_does_not_lose_them(tmp_path):
    chat = json.loads(ONE.read_text())
    records = read_all(write_json(tmp_path / "result.json", {"messages": chat["messages"], "name": "Bo"}))
    assert len(turns(records)) == 3
    assert personas(records) == [PersonaDraft("Telegram chat")]


def test_what_is_no_message_is_named(tmp_path):
    chat = {"id": 1, "messages": [7, {}, {"type": "message", "from_id": "user1", "text": [3, {"text": "a"}]}]}
    assert [place for place, _ in skips(read_all(write_json(tmp_path / "r.json", chat)))][:3] == [
        "messages[0]",
        "messages[1]",
        "messages[2].text[0]",
    ]


def test_a_chat_is_read_message_by_message(tmp_path, monkeypatch):
    monkeypatch.setattr(jsonstream, "MAX_VALUE_BYTES", 1 << 19)
    message = {"type": "message", "from": "Bo", "from_id": "user22", "date_unixtime": "1714550405", "text": "x" * 1000}
    messages = [message | {"id": n} for n in range(2000)]
    path = write_json(tmp_path / "result.json", {"type": "personal_chat", "id": 22, "messages": messages})
    assert len(turns(read_all(path))) == 2000
