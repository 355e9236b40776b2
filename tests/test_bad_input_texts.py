"""Dates and texts that are unusual: kept as they are, told where they deserve a look, and read back unchanged."""

import codecs

import pytest

from memory.__main__ import main
from memory.ingest import ingest
from memory.types import MemoryDraft, PersonaDraft, SessionDraft, Skip, TurnDraft
from support.bad_input import assert_true_report, assert_unharmed, persona, run, seeded, session, write_lines


@pytest.fixture
def bank(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMOIR_HOME", str(tmp_path / "home"))
    return seeded(tmp_path / "home")


def test_a_missing_date_is_told_and_the_session_kept(bank, tmp_path, capsys):
    undated = session(1)
    del undated["session"]["started_at"]
    path = write_lines(tmp_path / "h.jsonl", persona("Zoe"), undated)
    report = ingest(bank, path)
    skip = Skip("line 2, session.started_at", "no readable date; kept without one")
    assert [h.skips for h in report.histories] == [(skip,)]
    assert_true_report(bank, report)
    (kept,) = bank.sessions(report.histories[0].persona.id)
    assert kept.started_at is None
    assert main(["show", "--persona", "Zoe"]) == 0
    assert "session 2  undated  2 turns" in capsys.readouterr().out


@pytest.mark.parametrize("date", ["2999-01-01T00:00:00+00:00", "9999-12-31T23:59:59.999999+00:00"])
def test_a_date_in_the_future_is_told_and_kept(bank, tmp_path, capsys, date):
    ahead = session(1)
    ahead["session"]["started_at"] = date
    report = ingest(bank, write_lines(tmp_path / "h.jsonl", persona("Zoe"), ahead))
    skip = Skip("line 2, session.started_at", "dated in the future; kept as it is")
    assert [h.skips for h in report.histories] == [(skip,)]
    assert_true_report(bank, report)
    zoe = bank.persona("Zoe")
    assert bank.sessions(zoe.id)[0].started_at.isoformat() == date
    assert main(["list"]) == 0
    assert "Zoe [zoe]: 1 session," in capsys.readouterr().out


@pytest.mark.parametrize(
    ("said_at", "said_text"),
    [
        ("9999-12-31T23:00:00+00:00", "2020-01-01T00:00:00+14:00"),
        ("0001-01-01T00:30:00+00:00", "2020-01-01T00:00:00-12:00"),
        ("0001-01-01", "the first day"),
    ],
)
def test_dates_at_the_ends_of_the_calendar_can_be_read_back(bank, tmp_path, said_at, said_text):
    record = session(1)
    record["session"]["turns"][0] |= {"said_at": said_at, "said_text": said_text}
    report = ingest(bank, write_lines(tmp_path / "h.jsonl", persona("Zoe"), record))
    assert_true_report(bank, report)
    zoe = bank.persona("Zoe")
    assert bank.turns(zoe.id, 2)[0].said_at is not None
    assert len(bank.memories(zoe.id)) == 2
    assert bank.time_range(zoe.id) is not None


OUTSIDE = ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00"]


@pytest.mark.parametrize("date", OUTSIDE)
@pytest.mark.parametrize("field", ["started_at", "said_at", "event_start"])
def test_a_date_that_utc_does_not_have_is_told_and_the_rest_is_kept(bank, tmp_path, field, date):
    record = session(1)
    where = record["session"] if field == "started_at" else record["session"]["turns"][0]
    where[field] = date
    (history,) = (report := ingest(bank, write_lines(tmp_path / "h.jsonl", persona("Zoe"), record))).histories
    assert [skip.reason for skip in history.skips] == ["no readable date; kept without one"]
    assert_true_report(bank, report)
    assert bank.counts(history.persona.id)["turns"] == 2


@pytest.mark.parametrize("date", OUTSIDE)
def test_asking_as_of_a_date_that_utc_does_not_have_is_refused(bank, capsys, date):
    with pytest.raises(SystemExit):
        main(["search", "kayak", "--persona", "Iris", "--as-of", date])
    assert f"'{date}' is not a date" in capsys.readouterr().err


TEXTS = {
    "emoji": "👩‍👩‍👧‍👦 at the sea 🌊🏳️‍🌈",
    "right to left": "שלום, \u200fمرحبا بالعالم, ok?",
    "combining": "Zͫ̑a̸l҉g͓o e\u0301 é ﬁ",
    "astral": "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𠮷野家",
    "controls": "bell\x07 escape\x1b[31m tab\t end",
    "quotes": "'; DROP TABLE turns; -- \" AND * OR NEAR(",
}


@pytest.mark.parametrize("name", TEXTS)
def test_any_text_is_kept_as_it_is_and_found(bank, tmp_path, capsys, name):
    record = session(1)
    record["session"]["turns"][0] |= {"text": TEXTS[name], "speaker": TEXTS[name][:6]}
    report = ingest(bank, write_lines(tmp_path / f"{name} 🌊.jsonl", persona("Zoe 🌊"), record))
    assert [h.skipped for h in report.histories] == [0]
    assert_true_report(bank, report)
    assert bank.turns(report.histories[0].persona.id, 2)[0].text == TEXTS[name]
    assert main(["show", "--persona", "Zoe 🌊", "--session", "2"]) == 0
    assert TEXTS[name].splitlines()[0] in capsys.readouterr().out
    assert_unharmed(bank)


def test_nul_bytes_and_half_surrogates_are_left_out_and_told(bank, tmp_path):
    line = b'{"session": {"id": "s1", "started_at": "2024-01-01", "turns": [{"text": "a\\u0000b \\ud83d c"}]}}'
    report = ingest(bank, write_lines(tmp_path / "h.jsonl", persona("Zoe"), line))
    (skip,) = report.histories[0].skips
    assert skip.place == "line 2, session.turns[0].text"
    assert skip.reason == "1 U+0000 characters removed, 1 unpaired surrogates replaced by U+FFFD"
    assert bank.turns(report.histories[0].persona.id, 2)[0].text == "ab \ufffd c"
    assert_true_report(bank, report)
    assert_unharmed(bank)


def test_a_transcript_with_a_mark_and_nul_bytes_is_kept(bank, tmp_path):
    path = tmp_path / "walk.txt"
    path.write_bytes(codecs.BOM_UTF8 + "# 2024-05-01\nAna: hé\x00llo\nBo: 🌊\n".encode())
    report = ingest(bank, path)
    assert [(s.place, s.reason) for s in report.histories[0].skips] == [("line 2", "1 U+0000 characters removed")]
    assert [t.text for t in bank.turns(report.histories[0].persona.id, 2)] == ["héllo", "🌊"]
    assert_true_report(bank, report)


def test_what_no_importer_has_read_is_cleaned_by_the_bank(bank):
    zoe = bank.create_persona(PersonaDraft("Zo\udce9\x00", traits=("\ud83d",)))
    bank.remember(zoe.id, [SessionDraft((TurnDraft("Zo\udce9", "user", "a\x00 b\udcff"),), title="\udcff")])
    bank.add_memories(zoe.id, [MemoryDraft("world", "c\x00 d\udcff")])
    assert (zoe.name, zoe.traits) == ("Zo\ufffd", ("\ufffd",))
    assert {m.text for m in bank.memories(zoe.id)} == {"a b\ufffd", "c d\ufffd"}
    assert_unharmed(bank)


def test_a_file_whose_name_is_no_utf8_is_imported_and_its_name_shown(bank, tmp_path):
    path = tmp_path / "caf\udce9.txt"
    path.write_text("# 2024-05-01\nAna: hello\nBo: hi\n")
    shown = run("import", path)
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert b"caf\\udce9.txt: transcript" in shown.stdout
    assert bank.persona("caf\ufffd").name == "caf\ufffd"
    assert_unharmed(bank)


def test_a_terminal_that_knows_ascii_only_is_shown_codes(bank, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    write_lines(tmp_path / "h.jsonl", persona("Zoe 🌊"), session(1))
    shown = run("import", tmp_path / "h.jsonl")
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert b"Zoe \\U0001f30a (2): found 1 session," in shown.stdout
