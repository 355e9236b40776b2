"""SillyTavern's chats: the answers that were shown, with their times."""

from memory.types import PersonaDraft
from support.export_files import EXPORTS, personas, read_all, said, sessions, skips

FILE = EXPORTS / "sillytavern.jsonl"


def test_a_chat_is_read_with_its_roles_and_times():
    records = read_all(FILE)
    assert personas(records) == [PersonaDraft("Iris", "sillytavern-Iris")]
    assert said(records) == [
        ("Iris", "assistant", "Good morning."),
        ("Ana", "user", "I lost my smoker."),
        ("Iris", "assistant", "Look in the shed."),
    ]
    assert [s.started_at.isoformat() for s in sessions(records)] == [
        "2024-05-01T08:00:00+00:00",
        "2024-05-02T08:00:00+00:00",
    ]


def test_what_is_left_out_has_its_line_and_reason():
    assert skips(read_all(FILE)) == [
        ("line 2, swipes", "only the answer that was shown is kept; left out: 1 others"),
        ("line 4", "a system message, or one hidden from the character"),
    ]


def test_a_line_that_is_no_message_costs_only_itself(tmp_path):
    path = tmp_path / "chat.jsonl"
    path.write_text(FILE.read_text() + '{"other": 1}\n{broken\n')
    records = read_all(path)
    assert len(said(records)) == 3
    assert [place for place, _ in skips(records)][-2:] == ["line 6", "line 7"]


def test_dates_are_read_in_every_spelling(tmp_path):
    path = tmp_path / "chat.jsonl"
    path.write_text('{"is_user": true, "name": "A", "mes": "a", "send_date": "2024-5-1 @08h 02m 00s 120ms"}\n')
    assert sessions(read_all(path))[0].started_at.isoformat() == "2024-05-01T08:02:00+00:00"


def test_a_newer_file_names_the_character_only_in_what_is_said(tmp_path):
    path = tmp_path / "chat.jsonl"
    head = '{"chat_metadata": {"integrity": "x"}, "user_name": "unused", "character_name": "unused"}\n'
    path.write_text(head + "\n".join(reversed(FILE.read_text().splitlines()[1:])))
    assert personas(read_all(path)) == [PersonaDraft("Iris", "sillytavern-Iris")]
    path.write_text(head + '{"name": "Ana", "is_user": true, "mes": "Anybody?", "send_date": 1714550400000}\n')
    assert personas(read_all(path)) == [PersonaDraft("chat", "sillytavern-chat")]
