"""Transcripts: dialogues as people write them down."""

from datetime import UTC, datetime

import pytest

from memory.importers.detect import unpack
from memory.importers.generic import transcript
from memory.importers.generic.transcript import read, read_heading, read_line_time, sniff
from memory.importers.reading import dialogue
from memory.importers.reading.dialogue import split_utterance
from memory.types import PersonaDraft, SessionDraft, Skip


def records_of(tmp_path, text):
    path = tmp_path / "holiday.txt"
    path.write_text(text, encoding="utf-8")
    return list(read(path))


def sessions_of(tmp_path, text):
    return [record for record in records_of(tmp_path, text) if isinstance(record, SessionDraft)]


def skips_of(tmp_path, text):
    return [(r.place, r.reason) for r in records_of(tmp_path, text) if isinstance(r, Skip)]


def at(*parts):
    return datetime(*parts, tzinfo=UTC)


def test_the_history_is_named_after_the_file(tmp_path):
    assert records_of(tmp_path, "Anna: hi")[0] == PersonaDraft("holiday")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Anna: hi", ("Anna", "hi")),
        ("小明：你好", ("小明", "你好")),
        ("דנה: שלום", ("דנה", "שלום")),
        ("🌊 Mia: hi", ("🌊 Mia", "hi")),
        ("Anna: it is 10:30: late", ("Anna", "it is 10:30: late")),
        ("Anna:", ("Anna", "")),
        ("10:30 is fine", None),
        ("see https://example.org", None),
        ("I said this at once and to everybody: no", None),
        ('{"Anna": "hi"}', None),
        ("- item: one", None),
    ],
)
def test_a_speaker_is_told_from_a_sentence(line, expected):
    assert split_utterance(line) == expected


@pytest.mark.parametrize(
    ("line", "moment"),
    [
        ("2024-05-01 18:22 Anna: hi", at(2024, 5, 1, 18, 22)),
        ("[2024-05-01 18:22] Anna: hi", at(2024, 5, 1, 18, 22)),
        ("[2024/05/01, 18:22:05] Anna: hi", at(2024, 5, 1, 18, 22, 5)),
        ("2024-05-01T18:22:05+02:00 - Anna: hi", at(2024, 5, 1, 16, 22, 5)),
        ("2024.5.1 6:22 pm Anna: hi", at(2024, 5, 1, 18, 22)),
        ("2024-05-01 Anna: hi", at(2024, 5, 1)),
        ("18:22 Anna: hi", at(2024, 5, 9, 18, 22)),
        ("[18:22] Anna: hi", at(2024, 5, 9, 18, 22)),
        ("2024-13-01 18:22 Anna: hi", None),
        ("Anna: hi", None),
    ],
)
def test_a_line_may_begin_with_its_time(line, moment):
    stamp = read_line_time(line, at(2024, 5, 9))
    assert (stamp.moment, stamp.rest) == (moment, "Anna: hi")


def test_headings_that_are_dates_begin_sessions(tmp_path):
    first, second, third = sessions_of(tmp_path, "# 2024-05-01\nAnna: a\n2024-05-02\nBen: b\n## May 3, 2024\nAnna: c\n")
    assert [session.started_at for session in (first, second, third)] == [at(2024, 5, day) for day in (1, 2, 3)]
    assert third.started_text == "May 3, 2024"
    assert read_heading("# Not a date") == ("Not a date", None)


def test_a_title_before_anybody_speaks_is_the_sessions(tmp_path):
    (session,) = sessions_of(tmp_path, "# By the sea\nAnna: a\n")
    assert session.title == "By the sea"


def test_an_hour_alone_is_of_the_sessions_day(tmp_path):
    (session,) = sessions_of(tmp_path, "2024-05-01\n18:22 Anna: hi\n18:23 Ben: hello\n")
    assert [(turn.said_at, turn.said_text) for turn in session.turns] == [
        (at(2024, 5, 1, 18, 22), "18:22"),
        (at(2024, 5, 1, 18, 23), "18:23"),
    ]


def test_a_long_pause_begins_a_session(tmp_path):
    text = "2024-05-01 23:50 Anna: hi\n2024-05-02 00:10 Ben: late!\n2024-05-02 09:00 Anna: morning\n"
    first, second = sessions_of(tmp_path, text)
    assert (len(first.turns), first.started_text) == (2, "2024-05-01 23:50")
    assert second.started_at == at(2024, 5, 2, 9)


def test_further_lines_go_on_with_the_utterance(tmp_path):
    (session,) = sessions_of(tmp_path, "Anna: one\n  two\n\nthree\nBen: four\n")
    assert [turn.text for turn in session.turns] == ["one\ntwo\nthree", "four"]


def test_among_dated_lines_an_unknown_speaker_without_a_date_is_text(tmp_path):
    text = "2024-05-01 18:22 Anna: buy\nMilk: two bottles\n2024-05-01 18:23 Ben: ok\nAnna: thanks\n"
    (session,) = sessions_of(tmp_path, text)
    assert [(turn.speaker, turn.text) for turn in session.turns] == [
        ("Anna", "buy\nMilk: two bottles"),
        ("Ben", "ok"),
        ("Anna", "thanks"),
    ]


def test_roles_come_from_names_or_from_who_speaks_first(tmp_path):
    def roles(text):
        return [turn.role for turn in sessions_of(tmp_path, text)[0].turns]

    assert roles("User: a\nAssistant: b\n") == ["user", "assistant"]
    assert roles("AI: a\nAnna: b\nBen: c\n") == ["assistant", "user", "other"]
    assert roles("Anna: a\nBen: b\nAnna: c\n") == ["user", "other", "user"]


def test_what_is_undated_to_come_empty_or_nobodys_is_noted(tmp_path):
    assert skips_of(tmp_path, "prose\nAnna: hi\nBen:\n") == [
        ("line 1", "text before the first speaker"),
        ("line 2", "no readable date; kept without one"),
        ("line 3", "empty turn"),
    ]
    assert ("line 1", "dated in the future; kept as it is") in skips_of(tmp_path, "# 2999-01-01\nAnna: hi\n")
    assert ("line 1", "1 U+0000 characters removed") in skips_of(tmp_path, "Anna: h\x00i\n")


def test_a_session_without_end_is_kept_in_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(dialogue, "MAX_TURNS", 2)
    sessions = sessions_of(tmp_path, "# 2024-05-01\n" + "Anna: x\ny\nBen: z\n" * 3)
    assert [turn.text for session in sessions for turn in session.turns] == ["x\ny", "z"] * 3
    assert len(sessions) > 1
    assert {session.started_at for session in sessions} == {at(2024, 5, 1)}


def test_a_hundred_thousand_turns_are_read(tmp_path):
    lines = [f"2024-05-01 10:{n % 60:02d} {'Anna' if n % 2 else 'Ben'}: line {n}" for n in range(100_000)]
    (session,) = sessions_of(tmp_path, "\n".join(lines))
    assert len(session.turns) == 100_000


@pytest.mark.parametrize(
    ("text", "is_transcript"),
    [
        ("Anna: hi", True),
        ("# 2024-05-01\n\n[18:22] Anna: hi\n", True),
        ("# Chat\nAnna: hi\nthere\nBen: hello\n", True),
        ("Some prose first.\nAnna: hi\n", False),
        ("a: 1\nb: 2\nc: 3\nd: 4\ne: 5\n", False),
        ('{"a": 1}', False),
        ("", False),
    ],
)
def test_a_transcript_is_told_from_other_text(text, is_transcript):
    assert sniff(text.encode()) is is_transcript


def test_emoji_and_right_to_left_text_pass_unchanged(tmp_path):
    (session,) = sessions_of(tmp_path, "דנה: שלום 👩‍👩‍👧\nBen: \u200fمرحبا\n")
    assert [turn.text for turn in session.turns] == ["שלום 👩‍👩‍👧", "\u200fمرحبا"]


def test_a_utf16_transcript_is_read(tmp_path):
    path = tmp_path / "wide.txt"
    path.write_text("Anna: héllo\nBen: hi\n", encoding="utf-16")
    assert unpack(path).importer is transcript
    assert [turn.text for record in read(path) if isinstance(record, SessionDraft) for turn in record.turns] == [
        "héllo",
        "hi",
    ]
