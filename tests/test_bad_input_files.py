"""Files that are wrong: each is refused or kept up to the fault, with a message that names the file and the place."""

import json

import pytest

from memory.__main__ import main
from memory.errors import MemoirError, UnreadableFile
from memory.ingest import ingest, summarize
from support.bad_input import assert_true_report, assert_unharmed, persona, seeded, session, write_lines


@pytest.fixture
def bank(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMOIR_HOME", str(tmp_path / "home"))
    return seeded(tmp_path / "home")


def longmemeval(sessions, **more):
    turns = [[{"role": "user", "content": f"I saw {n} gulls."}] for n in range(sessions)]
    ids, dates = [f"s{n}" for n in range(sessions)], ["2023/05/01 (Mon) 11:16"] * sessions
    question = {"question_id": "q1", "haystack_dates": dates, "haystack_session_ids": ids, "haystack_sessions": turns}
    return json.dumps([question | more])


REFUSED = {
    "empty.json": (b"", "it is empty (0 bytes)"),
    "blank.jsonl": (b"\n \n\t\n", "it contains only white space"),
    "latin.txt": ("Ana: café\nBo: hi\n".encode("latin-1"), "not UTF-8 text (byte 0xe9 at offset 8); save it as UTF-8"),
    "wide.txt": ("Ana: hi\nBo: hi\n".encode("utf-16-le"), "UTF-16 text without a byte-order mark; save it as UTF-8"),
    "photo.json": (b"\xff\xd8\xff\xe0\x00\x10", "it looks like a picture"),
    "other.json": (b'{"rows": [1, 2], "total": 2}', "it looks like JSON with the keys rows, total"),
    "nulls.txt": (b"\x00" * 4096, "it is binary"),
    "cut.json": (b'[{"question_id": "q1", "haystack_dates": ["2023/05/01', "ends unexpectedly at byte 53"),
    "hollow.jsonl": (
        b'{"memoir": 1, "persona": {"name": "Zoe"}}\n{"session": 7}\n',
        "line 2, session: expected an object",
    ),
    "silent.txt": (b"Ana:\nBo:\n", "has nothing to store. line 1: empty turn"),
    "later.jsonl": (b'{"memoir": 9, "persona": {"name": "Zoe"}}\n', "version 9 of Memoir's format; this Memoir reads"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_with_nothing_in_it_is_refused_and_changes_nothing(bank, tmp_path, capsys, name):
    content, reason = REFUSED[name]
    (tmp_path / name).write_bytes(content)
    for read in (summarize, lambda path: ingest(bank, path), lambda path: ingest(bank, path, persona="Zoe")):
        with pytest.raises(UnreadableFile) as refusal:
            read(tmp_path / name)
        assert name in str(refusal.value)
        assert reason in str(refusal.value)
    assert main(["import", str(tmp_path / name)]) == 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"memoir: {name}")
    assert [p.name for p in bank.personas()] == ["Iris"]
    assert_unharmed(bank)


@pytest.mark.parametrize("name", ["nowhere.json", "folder"])
def test_what_is_no_file_is_refused_by_name(bank, tmp_path, capsys, name):
    (tmp_path / "folder").mkdir()
    assert main(["import", str(tmp_path / name)]) == 1
    assert f"memoir: {name} cannot be opened: " in capsys.readouterr().err


def test_truncated_json_is_kept_up_to_the_last_complete_session(bank, tmp_path, capsys):
    path = tmp_path / "cut.json"
    path.write_text(longmemeval(5)[:-60])
    report = ingest(bank, path)
    assert report.fault.startswith("cut.json ends unexpectedly at byte ")
    assert "in [0].haystack_sessions[3]" in report.fault
    assert "Readable up to that point: 3 complete sessions" in report.fault
    assert [(h.found_sessions, h.found_turns) for h in report.histories] == [(3, 3)]
    assert_true_report(bank, report)
    assert_unharmed(bank)
    assert main(["import", str(path)]) == 1
    shown = capsys.readouterr()
    assert "memoir: cut.json ends unexpectedly at byte" in shown.err
    assert "already known: 3" in shown.out


def test_a_truncated_file_is_completed_by_importing_the_whole_one(bank, tmp_path):
    path = tmp_path / "history.json"
    path.write_text(longmemeval(5)[:-60])
    ingest(bank, path)
    path.write_text(longmemeval(5))
    (history,) = ingest(bank, path).histories
    assert (history.stored.sessions, history.stored.turns, history.stored.known_turns) == (2, 2, 3)
    assert bank.counts(history.persona.id) == {"sessions": 5, "turns": 5, "dialogue": 5}


def test_a_truncated_last_line_is_named_and_all_before_it_kept(bank, tmp_path):
    path = write_lines(tmp_path / "cut.jsonl", persona("Zoe"), session(1), session(2))
    path.write_bytes(path.read_bytes()[:-40])
    report = ingest(bank, path)
    assert "cut.jsonl ends unexpectedly in line 3: expected the rest of an object" in report.fault
    assert [h.found_sessions for h in report.histories] == [1]
    assert_true_report(bank, report)
    assert_unharmed(bank)


def test_a_wrong_byte_far_into_a_file_is_named_and_all_before_it_kept(bank, tmp_path):
    records = [session(n, words="We counted gulls over the water and went home " * 20) for n in range(400)]
    path = write_lines(tmp_path / "mixed.jsonl", persona("Zoe"), *records)
    offset = path.stat().st_size - 700
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(b"\xff")
    report = ingest(bank, path)
    assert f"mixed.jsonl is not UTF-8 text: byte 0xff at offset {offset:,}" in report.fault
    assert [h.found_sessions for h in report.histories] == [399]
    assert_true_report(bank, report)
    assert_unharmed(bank)


def test_a_broken_line_costs_only_itself(bank, tmp_path, capsys):
    path = write_lines(tmp_path / "h.jsonl", persona("Zoe"), session(1), b'{"session": {"turns": [}}', session(2))
    assert main(["import", str(path)]) == 0
    out = capsys.readouterr().out
    assert "found 2 sessions, 4 turns, 0 memories; stored 2 sessions, 4 turns, 4 memories" in out
    assert "line 3: invalid JSON at character 24: " in out
    assert_unharmed(bank)


def test_what_is_broken_before_the_first_persona_is_told_too(bank, tmp_path):
    path = write_lines(tmp_path / "h.jsonl", b'{"memoir": 1}', b"{broken", persona("Zoe"), session(1))
    report = ingest(bank, path)
    assert [s.place for s in report.histories[0].skips] == ["line 2"]
    assert summarize(path).skips == report.histories[0].skips
    assert_true_report(bank, report)


def test_a_persona_taken_up_again_in_the_file_has_one_report(bank, tmp_path):
    path = write_lines(
        tmp_path / "h.jsonl", persona("Zoe"), session(1), persona("Max"), session(1), persona("Zoe"), session(2)
    )
    report = ingest(bank, path)
    assert [(h.persona.name, h.found_sessions) for h in report.histories] == [("Zoe", 2), ("Max", 1)]
    assert [(f.name, f.sessions) for f in summarize(path).histories] == [("Zoe", 2), ("Max", 1)]
    assert_true_report(bank, report)


def test_histories_that_go_to_one_persona_have_one_report(bank, tmp_path):
    path = write_lines(tmp_path / "h.jsonl", persona("Zoe"), session(1), persona("Max"), session(2))
    report = ingest(bank, path, persona="Both")
    assert [(h.persona.name, h.found_sessions) for h in report.histories] == [("Both", 2)]
    assert_true_report(bank, report)


def test_progress_never_goes_back_and_ends_at_one(bank, tmp_path):
    records = [persona("Zoe"), *(session(n) for n in range(50)), b"{broken"]
    told = []
    ingest(bank, write_lines(tmp_path / "h.jsonl", *records), progress=told.append)
    assert told == sorted(told)
    assert (told[0] >= 0, told[-1], max(told[:-1]) < 1) == (True, 1.0, True)


def test_a_choice_that_the_file_lacks_is_named(bank, tmp_path, capsys):
    path = write_lines(tmp_path / "h.jsonl", persona("Zoe"), session(1), persona("Max"), session(2))
    assert main(["import", str(path), "--only", "nobody"]) == 1
    assert "h.jsonl, read as Memoir, has no history nobody; it has zoe, max. Nothing" in capsys.readouterr().err
    assert main(["import", str(path), "--only", "zoe", "--only", "nobody"]) == 1
    assert "has no history nobody" in capsys.readouterr().err
    assert [p.name for p in bank.personas()] == ["Iris", "Zoe"]


def test_a_history_chosen_behind_a_fault_is_not_made_up(bank, tmp_path):
    path = write_lines(tmp_path / "h.jsonl", persona("Zoe"), session(1), persona("Max"), session(2))
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(UnreadableFile, match="ends unexpectedly in line 4: expected"):
        ingest(bank, path, choose=["max"])
    assert [p.name for p in bank.personas()] == ["Iris"]


@pytest.mark.parametrize(
    "command",
    [["show"], ["search", "kayak"], ["forget", "1"], ["export"]],
    ids=lambda command: command[0],
)
def test_an_unknown_persona_is_told_with_those_known(bank, capsys, command):
    assert main([*command, "--persona", "Nobody"]) == 1
    assert "memoir: no persona 'Nobody' in" in (message := capsys.readouterr().err)
    assert "known: Iris" in message
    with pytest.raises(MemoirError):
        bank.remember(99, [])
    assert_unharmed(bank)


@pytest.mark.parametrize("number", ["0", "-1", "99999999999999999999", "²", "one"])
def test_a_number_that_cannot_be_is_a_wrong_argument(bank, capsys, number):
    with pytest.raises(SystemExit) as stop:
        main(["show", "--persona", "Iris", "--session", number])
    assert stop.value.code == 2
    assert "argument --session" in capsys.readouterr().err


@pytest.mark.parametrize("target", [["1"], ["--session", "1"], ["--everything"]])
def test_a_dry_run_of_forget_removes_nothing(bank, capsys, target):
    assert main(["forget", "--persona", "Iris", "--dry-run", *target]) == 0
    assert "would forget" in capsys.readouterr().out
    assert_unharmed(bank)
