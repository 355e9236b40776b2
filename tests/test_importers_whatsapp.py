"""WhatsApp's text export: dates of any phone, messages of several lines, and what nobody wrote."""

from datetime import UTC, datetime

import pytest

from memory.bank.bank import Bank
from memory.importers.chats import whatsapp
from memory.importers.chats.whatsapp import find_order, read_message_time
from memory.importers.detect import unpack
from memory.importers.generic import transcript
from memory.importers.reading.dialogue import PAUSE
from memory.importers.reading.source import HEAD_BYTES
from memory.ingest import ingest
from memory.types import PersonaDraft
from support.export_files import EXPORTS, personas, read_all, said, sessions, skips, turns, write_zip


def written(tmp_path, text, name="WhatsApp Chat with Bo.txt"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def at(*parts):
    return datetime(*parts, tzinfo=UTC)


@pytest.mark.parametrize(
    ("line", "moment"),
    [
        ("[13/05/24, 18:00:05] Ana: hi", at(2024, 5, 13, 18, 0, 5)),
        ("\u200e[13/05/2024, 6:00:05\u202fPM] Ana: hi", at(2024, 5, 13, 18, 0, 5)),
        ("13/05/2024, 18:00 - Ana: hi", at(2024, 5, 13, 18)),
        ("5/13/24, 6:00 PM - Ana: hi", at(2024, 5, 13, 18)),
        ("5/13/24, 12:30 AM - Ana: hi", at(2024, 5, 13, 0, 30)),
        ("13.05.24, 18:00 - Ana: hi", at(2024, 5, 13, 18)),
        ("[13.5.2024 klo 18.00.05] Ana: hi", at(2024, 5, 13, 18, 0, 5)),
        ("13/5/24 6:00 p.\u00a0m. - Ana: hi", at(2024, 5, 13, 18)),
        ("13/05/2024 à 18:00 - Ana: hi", at(2024, 5, 13, 18)),
        ("[2024/5/13 下午6:00:05] Ana: hi", at(2024, 5, 13, 18, 0, 5)),
        ("[2024. 5. 13. 오후 6:00:05] Ana: hi", at(2024, 5, 13, 18, 0, 5)),
        ("2024-05-13, 18:00 - Ana: hi", at(2024, 5, 13, 18)),
        ("\u200f13\u200f/5\u200f/2024، 6:00 م - Ana: hi", at(2024, 5, 13, 18)),
        ("١٣/٠٥/٢٠٢٤، ٦:٠٠ م - Ana: hi", at(2024, 5, 13, 18)),
        ("१३/०५/२४, १८:०० - Ana: hi", at(2024, 5, 13, 18)),
    ],
)
def test_a_stamp_is_read_in_the_spelling_of_the_phone(tmp_path, line, moment):
    (turn,) = turns(read_all(written(tmp_path, line)))
    assert (turn.speaker, turn.text, turn.said_at) == ("Ana", "hi", moment)
    assert turn.said_text in line


@pytest.mark.parametrize("line", ["Ana: hi", "13/05/24 was a Monday", "13/05/24, 25:00 - Ana: hi", "[x] Ana: hi", ""])
def test_a_line_without_a_stamp_goes_on_with_the_message(line):
    assert read_message_time(line) is None


def test_a_date_that_is_yet_to_come_is_kept_with_a_note(tmp_path):
    """A phone set to the Buddhist calendar writes 2567 for 2024."""
    records = read_all(written(tmp_path, "13/5/2567 18:00 - Ana: hi\n"))
    assert [turn.said_at for turn in turns(records)] == [at(2567, 5, 13, 18)]
    assert ("line 1", "dated in the future; kept as it is") in skips(records)


def test_day_and_month_are_told_apart_by_the_whole_file(tmp_path):
    text = "05/04/24, 10:00 - Ana: a\n05/13/24, 10:00 - Bo: b\n"
    assert [t.said_at for t in turns(read_all(written(tmp_path, text)))] == [at(2024, 5, 4, 10), at(2024, 5, 13, 10)]
    assert not any("day from month" in reason for _, reason in skips(read_all(written(tmp_path, text))))


def test_time_that_runs_backwards_tells_them_apart_too(tmp_path):
    # Read as day/month these would jump from July back to February.
    text = "01/07/24, 10:00 - Ana: a\n02/02/24, 10:00 - Ana: b\n02/07/24, 10:00 - Ana: c\n"
    assert [t.said_at.month for t in turns(read_all(written(tmp_path, text)))] == [1, 2, 2]


def test_where_nothing_tells_them_apart_a_note_says_how_they_are_read(tmp_path):
    records = read_all(written(tmp_path, "05/05/24, 10:00 - Ana: a\n06/07/24, 10:00 - Bo: b\n"))
    assert turns(records)[1].said_at == at(2024, 7, 6, 10)
    doubt = "day and month cannot be told apart; 06/07/24, 10:00 and all other dates are read as day/month/year"
    assert ("line 2", doubt) in skips(records)


def test_years_of_two_digits_may_come_first():
    lines = ("24-05-13, 10:00 - A: a", "24-05-30, 10:00 - A: b")
    assert find_order([("line 1", read_message_time(line)) for line in lines]) == ("year/month/day", None)


def test_an_iphones_export_is_read_without_what_whatsapp_says(tmp_path):
    records = read_all(EXPORTS / "whatsapp-iphone.txt")
    assert said(records) == [
        ("Ana", "user", "Who has the key of the boathouse?\nIt was on the hook."),
        ("Bo", "other", "This hook?"),
        ("Cy", "other", "שלום \u200fAna, I have it."),
    ]
    assert [s.started_at for s in sessions(records)] == [at(2024, 5, 1, 8, 0, 5), at(2024, 5, 13, 18)]
    assert [place for place, _ in skips(records)] == ["line 1", "line 4", "line 5", "line 7"]


def test_a_caption_below_what_whatsapp_says_is_kept(tmp_path):
    text = "[13/05/24, 10:00:00] Bo: \u200eimage omitted\nour boat\n[13/05/24, 10:01:00] Bo: \u200eno mark of theirs\n"
    assert [text for _, _, text in said(read_all(written(tmp_path, text)))] == ["our boat"]


def test_a_chat_that_breaks_off_is_kept_up_to_its_last_whole_session(tmp_path):
    path = tmp_path / "chat.txt"
    whole = b"13/05/24, 10:00 - Ana: a\n14/05/24, 10:00 - Bo: " + b"b" * HEAD_BYTES
    path.write_bytes(whole + b"\n15/05/24, 10:00 - Bo: c\n16/05/24, 10:00 - Bo: \xff\n")
    report = ingest(Bank(tmp_path / "bank.db"), path)
    assert "chat.txt is not UTF-8 text: byte 0xff at offset" in report.fault
    assert (report.histories[0].stored.sessions, report.histories[0].stored.turns) == (1, 1)


def test_an_androids_export_is_read_with_captions_but_without_media():
    records = read_all(EXPORTS / "whatsapp-android.txt")
    assert [text for _, _, text in said(records)] == [
        "Kommst du heute?",
        "Ja: um acht\nund mit Kuchen",
        "der Kuchen vom letzten Mal",
    ]
    assert skips(records) == [
        ("line 1", "a line by WhatsApp itself"),
        ("line 5", "only text is kept; left out: <Medien ausgeschlossen>"),
        ("line 6", "only text is kept; left out: IMG-20240513-WA0001.jpg"),
        ("line 8", "a line by WhatsApp itself"),
        ("line 9", "empty message"),
        ("the file", "does not say who you are; unless you choose, it is Bo, who speaks first"),
    ]


def test_in_a_chat_of_two_the_user_is_not_the_one_it_is_named_after(tmp_path):
    records = read_all(written(tmp_path, "13/05/24, 10:00 - Bo: a\n13/05/24, 10:01 - Ana: b\n"))
    assert personas(records) == [PersonaDraft("WhatsApp Chat with Bo")]
    assert [(who, role) for who, role, _ in said(records)] == [("Bo", "other"), ("Ana", "user")]
    assert skips(records) == []


def test_who_deleted_a_message_as_you_is_the_user(tmp_path):
    text = "13/05/24, 10:00 - Bo: a\n13/05/24, 10:01 - Cy: b\n13/05/24, 10:02 - Cy: You deleted this message\n"
    assert [role for _, role, _ in said(read_all(written(tmp_path, text)))] == ["other", "user"]


def test_the_archive_of_an_iphone_names_the_chat(tmp_path):
    chat = (EXPORTS / "whatsapp-iphone.txt").read_bytes()
    zipped = write_zip(tmp_path / "WhatsApp Chat - Bo.zip", {"_chat.txt": chat, "00000005-PHOTO.jpg": b"\xff\xd8\xff"})
    records = read_all(zipped)
    assert unpack(zipped).importer is whatsapp
    assert personas(records) == [PersonaDraft("WhatsApp Chat - Bo")]
    assert skips(records)[-1] == (
        "00000005-PHOTO.jpg",
        "not text; only .json, .jsonl, .txt files are read from an archive",
    )


def test_a_further_download_of_a_file_is_the_same_history(tmp_path):
    records = read_all(written(tmp_path, "13/05/24, 10:00 - Bo: a\n", "WhatsApp Chat with Bo (2).txt"))
    assert personas(records) == [PersonaDraft("WhatsApp Chat with Bo")]


def test_a_pause_begins_a_session(tmp_path):
    hours = int(PAUSE.total_seconds() // 3600)
    text = f"13/05/24, 10:00 - Bo: a\n13/05/24, 11:00 - Bo: b\n13/05/24, {11 + hours}:01 - Bo: c\n"
    assert [len(s.turns) for s in sessions(read_all(written(tmp_path, text)))] == [2, 1]


@pytest.mark.parametrize("text", ["[2024-05-13 18:00] Ana: hi\nBo: hello\n", "2024-05-13 18:00 - Ana: hi\n"])
def test_what_people_write_down_themselves_stays_a_transcript(tmp_path, text):
    assert unpack(written(tmp_path, text)).importer is transcript


@pytest.mark.parametrize(
    "line",
    [
        "13/05/24, 10:00 - " + "a" * 100_000,
        "13/05/24, 10:00 - Ana: " + "<a " * 50_000,
        "13/05/24, 10:00 - Ana: " + "\u200e" * 100_000,
        "13/05/24, 10:00 - Ana: " + "x.jpg (" * 20_000,
        "1" * 100_000,
        "[" * 100_000,
        "13/05/24, " + "p" * 100_000,
        "13/05/24, 10:00 - Ana: a" + " " * 100_000 + "<b",
    ],
)
def test_a_line_of_a_hundred_thousand_characters_ends(tmp_path, line):
    list(whatsapp.read(written(tmp_path, f"13/05/24, 10:00 - Bo: a\n{line}\n{line}\n")))


def test_a_message_without_end_is_kept_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(whatsapp, "MAX_CHARACTERS", 50)
    text = "13/05/24, 10:00 - Ana: a\n" + "0123456789\n" * 20
    said_of_ana = turns(read_all(written(tmp_path, text)))
    assert len(said_of_ana) == 4
    assert "".join(t.text for t in said_of_ana).count("0123456789") == 20
