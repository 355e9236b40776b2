"""`python -m memory`: every command in words and in JSON, and what it says when it cannot."""

import json
import os

import pytest

from memory.__main__ import main
from memory.bank.bank import Bank
from memory.cli import bank_commands

HISTORY = [
    {"memoir": 1, "persona": {"name": "Marlow", "id": "m-1", "description": "Keeps the boathouse."}},
    {
        "session": {
            "id": "s1",
            "title": "Biscuit",
            "started_at": "2024-03-04T10:00:00+00:00",
            "turns": [
                {"speaker": "Tilde", "role": "user", "text": "I adopted a greyhound called Biscuit yesterday."},
                {"speaker": "Marlow", "role": "assistant", "text": "Where did you find Biscuit?", "recallable": False},
                {"speaker": "Tilde", "role": "user", "text": "At the shelter behind the harbour."},
            ],
        }
    },
    {"memory": {"store": "profile", "text": "Occupation: lock keeper", "speaker": "Tilde"}},
    {
        "memory": {
            "store": "event",
            "text": "Tilde won the regatta.",
            "event_start": "2024-02-10",
            "said_at": "2024-03-01",
        }
    },
]


@pytest.fixture
def home(tmp_path, monkeypatch, embedder):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMOIR_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(bank_commands, "Embedder", lambda model: embedder)
    return tmp_path


@pytest.fixture
def file(home):
    path = home / "history.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in HISTORY))
    return path


@pytest.fixture
def run(capsys):
    """Run a command; gives its exit status and what it printed, as read from JSON where JSON was asked for."""

    def run(*words):
        capsys.readouterr()
        status = main([str(word) for word in words])
        printed = capsys.readouterr().out
        return status, json.loads(printed) if "--json" in words else printed

    return run


@pytest.fixture
def held(file, run):
    assert run("import", file)[0] == 0
    return run


def test_other_accounts_can_read_neither_the_bank_nor_a_backup(file, run, home):
    before = os.umask(0o022)
    try:
        assert run("import", file)[0] == run("backup", home / "kept.db")[0] == 0
    finally:
        os.umask(before)
    made = [home / "kept.db", home / "home", *(home / "home").iterdir()]
    assert home / "home" / "bank.db" in made
    assert [path for path in made if path.stat().st_mode & 0o077] == []


def test_a_dry_run_of_import_tells_what_the_file_holds_and_stores_nothing(file, run, home):
    status, told = run("import", file, "--dry-run", "--json")
    assert status == 0
    (found,) = told["histories"]
    assert [found[key] for key in ("name", "sessions", "turns", "memories")] == ["Marlow", 1, 3, 2]
    assert "Marlow: 1 session, 3 turns, 2 memories" in run("import", file, "--dry-run")[1]
    assert run("list", "--json") == (0, [])
    assert "no persona yet" in run("list")[1]


def test_import_tells_what_it_stored_and_adds_nothing_a_second_time(file, run):
    _, first = run("import", file, "--json")
    _, again = run("import", file, "--json")
    assert {k: first["histories"][0]["stored"][k] for k in ("sessions", "turns", "memories")} == {
        "sessions": 1,
        "turns": 3,
        "memories": 4,
    }
    assert {k: again["histories"][0]["stored"][k] for k in ("sessions", "turns", "memories")} == {
        "sessions": 0,
        "turns": 0,
        "memories": 0,
    }
    assert "stored 0 sessions, 0 turns, 0 memories" in run("import", file)[1]


def test_a_file_that_is_missing_or_of_no_format_is_a_fault(home, run, capsys):
    (home / "page.html").write_text("<html>")
    for name in ("nowhere.json", "page.html"):
        assert main(["import", name]) == 1
        assert name in capsys.readouterr().err


def test_list_counts_what_each_persona_knows(held):
    _, (marlow,) = held("list", "--json")
    assert marlow["name"] == "Marlow"
    assert marlow["counts"] == {"sessions": 1, "turns": 3, "dialogue": 2, "event": 1, "profile": 1}
    assert marlow["range"]["start"].startswith("2024-03-01")
    assert "Marlow [m-1]" in held("list")[1]


def test_show_gives_the_persona_a_session_or_a_memory_with_its_source(held):
    _, persona = held("show", "--persona", "Marlow", "--json")
    assert persona["persona"]["description"] == "Keeps the boathouse."
    _, session = held("show", "--persona", "m-1", "--session", 1, "--json")
    assert [t["speaker"] for t in session["turns"]] == ["Tilde", "Marlow", "Tilde"]
    _, memory = held("show", "--persona", "1", 1, "--json")
    assert memory["memory"]["text"] == memory["sources"][0]["text"]
    assert "Keeps the boathouse." in held("show", "--persona", "Marlow")[1]
    assert "0  Tilde: I adopted" in held("show", "--persona", "Marlow", "--session", 1)[1]
    assert "from session 1, turn 0" in held("show", "--persona", "Marlow", 1)[1]


def test_search_finds_by_words_and_meaning_and_knows_nothing_of_later(held):
    _, hits = held("search", "Which dog did I get?", "--persona", "Marlow", "--json")
    assert "greyhound" in hits[0]["memory"]["text"]
    assert hits[0]["score"] >= hits[-1]["score"]
    assert "greyhound" in held("search", "greyhound", "--persona", "Marlow", "--limit", 1)[1]
    _, early = held("search", "greyhound", "--persona", "Marlow", "--as-of", "2024-03-03", "--json")
    assert not [hit for hit in early if "greyhound" in hit["memory"]["text"]]


def test_a_dry_run_of_forget_removes_nothing(held):
    before = held("list", "--json")
    for what in (["1"], ["--session", "1"], ["--everything"]):
        status, gone = held("forget", "--persona", "Marlow", *what, "--dry-run", "--json")
        assert status == 0
        assert gone["memories"] > 0
    assert held("list", "--json") == before


def test_forget_removes_a_memory_a_session_a_persona_and_leaves_no_trace(held, home):
    _, gone = held("forget", "--persona", "Marlow", 1, "--json")
    # The reply to it, which was not to be recalled, goes with it.
    assert (gone["memories"], gone["turns"], gone["residue"]) == (1, 2, 0)
    assert b"greyhound" not in (home / "home" / "bank.db").read_bytes()
    _, gone = held("forget", "--persona", "Marlow", "--session", 1, "--json")
    assert (gone["turns"], gone["sessions"]) == (1, 1)
    assert "no traces left" in held("forget", "--persona", "Marlow", "--everything")[1]
    assert held("list", "--json") == (0, [])


def test_export_and_import_into_another_bank_give_equal_memories(held, home, monkeypatch):
    _, printed = held("export", "--persona", "Marlow")
    _, told = held("export", "--persona", "Marlow", "--output", home / "out.jsonl", "--json")
    assert (home / "out.jsonl").read_text() == printed
    assert told["lines"] == len(printed.splitlines())
    monkeypatch.setenv("MEMOIR_HOME", str(home / "second"))
    held("import", home / "out.jsonl")
    first, second = (
        [
            (m.store, m.text, m.key, m.speaker, m.event, m.said_at, m.valid_from)
            for m in Bank(home / name / "bank.db").memories(1)
        ]
        for name in ("home", "second")
    )
    assert sorted(first, key=str) == sorted(second, key=str)


def test_export_to_a_folder_that_is_not_there_is_a_fault(held, home, capsys):
    assert main(["export", "--persona", "Marlow", "--output", str(home / "none" / "out.jsonl")]) == 1
    assert "out.jsonl" in capsys.readouterr().err


def test_verify_finds_what_disagrees_and_rebuild_mends_it(held, home):
    held("search", "greyhound", "--persona", "Marlow")
    assert held("verify", "--json") == (0, {"faults": [], "waiting": 0})
    with Bank(home / "home" / "bank.db").writing() as db:
        db.conn.execute("UPDATE memories SET key = 'something else' WHERE id = 1")
    status, told = held("verify", "--json")
    assert status == 1
    assert "memory 1" in told["faults"][0]
    assert held("rebuild", "--json") == (0, {"embedded": 4})
    assert held("verify")[0] == 0


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["show", "--persona", "Zoe"], 1, "known: Marlow"),
        (["show", "--persona", "Marlow", "99"], 1, "no memory 99"),
        (["show", "--persona", "Marlow", "--session", "99"], 1, "no session 99"),
        (["forget", "--persona", "Marlow", "99"], 1, "no memory 99"),
        (["search", "x", "--persona", "Marlow", "--as-of", "soonish"], 2, "'soonish' is not a date"),
        (["show"], 2, "--persona"),
        (["guess"], 2, "invalid choice"),
    ],
)
def test_what_cannot_be_done_is_said_on_stderr(held, capsys, words, status, said):
    try:
        ended = main(words)
    except SystemExit as stopped:
        ended = stopped.code
    assert ended == status
    assert said in capsys.readouterr().err
