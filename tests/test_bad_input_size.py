"""Files, sessions, lines and questions that are far too long: read in bounded memory, told, or simply answered."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from graph.__main__ import services
from graph.assistant import Assistant
from graph.settings import Settings
from graph.state import Ask
from memory.errors import UnreadableFile
from memory.ingest import BATCH_TURNS, ingest
from support.bad_input import ROOT, assert_true_report, assert_unharmed, persona, seeded, session, write_lines

pytestmark = pytest.mark.slow

GIGABYTE = 1 << 30

# Imports a file and prints, in kilobytes, the peak of memory before and after; `ru_maxrss` would be the parent's, too.
# The file is read in this process, whatever its size.
MEASURE = """
import re, sys
from pathlib import Path
from memory.__main__ import main
from memory.importers import child_process
child_process.LARGE_BYTES = 1 << 40
def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
before = peak()
status = main(["import", *sys.argv[1:]])
print(before, peak())
sys.exit(status)
"""


@pytest.fixture
def bank(tmp_path, monkeypatch):
    monkeypatch.setenv("MEMOIR_HOME", str(tmp_path / "home"))
    return seeded(tmp_path / "home")


def measured(path, *options):
    """The exit status, what was printed, what went wrong, and the megabytes that importing took beyond the program."""
    if not Path("/proc/self/status").exists():
        pytest.skip("the peak of a process's memory is read from /proc")
    command = [sys.executable, "-c", MEASURE, str(path), *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    *printed, figures = done.stdout.splitlines()
    before, after = map(int, figures.split())
    return done.returncode, "\n".join(printed), done.stderr, (after - before) / 1024


def stretched(path, start, end=b""):
    """A file of a gigabyte on one line."""
    with path.open("wb") as file:
        file.write(start)
        for _ in range(GIGABYTE >> 20):
            file.write(b"a" * (1 << 20))
        file.write(end)
    return path


def test_a_line_of_a_gigabyte_is_passed_over_by_number_in_bounded_memory(bank, tmp_path):
    before = b"".join(json.dumps(r).encode() + b"\n" for r in (persona("Zoe"), session(1)))
    after = b'"}]}}\n' + json.dumps(session(2)).encode() + b"\n"
    path = stretched(tmp_path / "long.jsonl", before + b'{"session": {"turns": [{"text": "', after)
    status, printed, wrong, megabytes = measured(path)
    path.unlink()
    assert (status, wrong) == (0, "")
    assert "found 2 sessions, 4 turns" in printed
    assert "line 3: longer than 33,554,432 bytes; skipped" in printed
    assert megabytes < 200
    assert bank.counts(bank.persona("Zoe").id) == {"sessions": 2, "turns": 4, "dialogue": 4}
    assert_unharmed(bank)


def test_one_json_text_of_a_gigabyte_breaks_the_file_off_at_its_place(bank, tmp_path):
    start = json.dumps([{"question_id": "q", "haystack_dates": ["2023/05/01"], "haystack_session_ids": ["a"]}])[:-2]
    start += ', "haystack_sessions": [[{"role": "user", "content": "hello"}], [{"role": "user", "content": "'
    path = stretched(tmp_path / "long.json", start.encode())
    status, printed, wrong, megabytes = measured(path)
    path.unlink()
    assert status == 1
    assert "long.json: one value at [0].haystack_sessions[1] is over 33,554,432 bytes long." in wrong
    assert "found 1 session, 1 turn" in printed
    assert megabytes < 400
    assert_unharmed(bank)


def test_a_sparse_gigabyte_of_nothing_is_refused_at_once(bank, tmp_path):
    path = tmp_path / "holes.txt"
    with path.open("wb") as file:
        file.truncate(GIGABYTE)
    with pytest.raises(UnreadableFile, match=r"holes\.txt cannot be imported: it is binary"):
        ingest(bank, path)
    assert_unharmed(bank)


def test_twenty_thousand_turns_in_a_session_are_one_write(bank, tmp_path):
    path = write_lines(tmp_path / "long.jsonl", persona("Zoe"), session(1, turns=20_000))
    before = revision(bank)
    report = ingest(bank, path)
    assert revision(bank) - before == 2  # the persona, the session
    assert [(h.found_sessions, h.found_turns) for h in report.histories] == [(1, 20_000)]
    assert_true_report(bank, report)
    zoe = bank.persona("Zoe")
    turns = bank.turns(zoe.id, 2)
    assert [t.position for t in turns] == list(range(20_000))
    assert turns[-1].text == "We counted gulls 1-19999."
    assert_unharmed(bank)


def test_many_short_sessions_are_few_writes(bank, tmp_path):
    path = write_lines(tmp_path / "many.jsonl", persona("Zoe"), *(session(n, turns=2) for n in range(2500)))
    before = revision(bank)
    report = ingest(bank, path)
    assert revision(bank) - before <= 1 + 5000 / BATCH_TURNS + 1
    assert_true_report(bank, report)


def test_long_turns_are_stored_as_they_come(bank, tmp_path):
    long = [session(n, turns=1, words="gulls " * 170_000) for n in range(12)]
    before = revision(bank)
    assert_true_report(bank, ingest(bank, write_lines(tmp_path / "long.jsonl", persona("Zoe"), *long)))
    assert revision(bank) - before >= 3


def test_a_longmemeval_file_takes_little_memory_however_long_it_is(bank, tmp_path):
    path = longmemeval(tmp_path / "haystacks.json", questions=80)
    assert path.stat().st_size > 40 << 20
    wanted = [f"--only=q{n}" for n in range(60, 80)]  # reading is what could take memory; storing all takes long
    status, printed, wrong, megabytes = measured(path, *wanted)
    assert (status, wrong) == (0, "")
    assert printed.count("found 40 sessions, 400 turns, 0 memories; stored 40 sessions, 400 turns") == 20
    assert megabytes < 120
    assert len(bank.personas()) == 21
    assert_unharmed(bank)


def test_a_question_of_fifty_thousand_characters_is_answered(bank, embedder):
    held = services(Settings())
    iris = bank.persona("Iris")
    for text in (
        "What did I buy? " * 3125,
        "kayak " * 8333,
        "x" * 50_000,
        "🌊" * 50_000,
        "什么时候" * 12_500,
        "1" * 50_000,
    ):
        answer = Assistant(held).ask(Ask(iris, text, bank.sessions(iris.id)[0].started_at.replace(year=2024), "long"))
        assert answer.reading.answer
    assert bank.persona("Iris") == iris


def longmemeval(path, questions):
    """A file in LongMemEval's shape, of our own words; half a megabyte a question."""
    words = "We walked along the harbour and counted gulls while the ferry came in over the grey water. " * 14
    with path.open("w", encoding="utf-8") as file:
        for q in range(questions):
            sessions = [
                [{"role": ("user", "assistant")[n % 2], "content": f"{q}-{s}-{n}: {words}"} for n in range(10)]
                for s in range(40)
            ]
            question = {
                "question_id": f"q{q}",
                "question": "How many gulls?",
                "haystack_dates": [f"2023/05/{1 + s % 28:02} (Mon) 11:16" for s in range(40)],
                "haystack_session_ids": [f"s{s}" for s in range(40)],
                "haystack_sessions": sessions,
            }
            file.write(("[" if q == 0 else ",") + json.dumps(question))
        file.write("]")
    return path


def revision(bank):
    """How many times the bank has been written to."""
    with bank.reading() as db:
        return db.conn.execute("SELECT value FROM revision").fetchone()[0]
