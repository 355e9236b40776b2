"""DialSim: scripts with dated session headers."""

from datetime import UTC, datetime

import pytest

from memory.importers.benchmarks.dialsim import read
from memory.types import PersonaDraft, SessionDraft, Skip

SCRIPT = """A title page

[Date: March 3, 2001, Session #1]
[Scene: The harbour, at dawn.]
Pia: Where is the boat?
   It was here.
Mo: Gone: the rope is cut.
(They look at each other)
Pia:

[Date: March 3, 2001, Session #2]
Woman in the red coat: Is this your rope?
"""


def records_of(tmp_path, text):
    path = tmp_path / "harbour.txt"
    path.write_text(text, encoding="utf-8")
    return list(read(path))


@pytest.fixture
def records(tmp_path):
    return records_of(tmp_path, SCRIPT)


def sessions_in(records):
    return [record for record in records if isinstance(record, SessionDraft)]


def test_the_history_is_named_after_the_file(records):
    assert records[0] == PersonaDraft("harbour", external_id="harbour")


def test_a_header_begins_a_session_on_its_day(records):
    first, second = sessions_in(records)
    assert (first.external_id, second.external_id) == ("2001-03-03#1", "2001-03-03#2")
    assert (first.started_at, first.started_text) == (datetime(2001, 3, 3, tzinfo=UTC), "March 3, 2001")


def test_continuation_lines_and_scene_notes_are_kept(records):
    assert [(turn.speaker, turn.role, turn.text) for turn in sessions_in(records)[0].turns] == [
        ("Scene", "other", "The harbour, at dawn."),
        ("Pia", "other", "Where is the boat?\nIt was here."),
        ("Mo", "other", "Gone: the rope is cut."),
        ("Scene", "other", "They look at each other"),
    ]


def test_what_is_lost_is_noted(records):
    assert [record for record in records if isinstance(record, Skip)] == [
        Skip("line 1", "text before the first session"),
        Skip("line 9", "empty turn"),
    ]


def test_a_header_whose_date_cannot_be_read_still_begins_a_session(tmp_path):
    _, note, session = records_of(tmp_path, "[Date: the day after, Session #4]\nPia: Hi.")
    assert (session.started_at, session.started_text, session.external_id) == (None, "the day after", "the day after#4")
    assert note == Skip("line 1", "no readable date; kept without one")


def test_an_empty_session_is_noted(tmp_path):
    assert records_of(tmp_path, "[Date: March 3, 2001, Session #1]\n")[1:] == [Skip("line 1", "session without turns")]
