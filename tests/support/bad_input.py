"""What all tests of bad input share: a bank that holds something before, files, and what must be true afterwards."""

import json
import os
import subprocess
import sys
from dataclasses import astuple
from datetime import UTC, datetime
from pathlib import Path

from memory.bank import maintenance as upkeep
from memory.bank.bank import Bank
from memory.types import MemoryDraft, PersonaDraft, SessionDraft, TurnDraft, WriteCounts

MAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
ROOT = Path(__file__).resolve().parents[2]
HELD = ("I bought a kayak.", "It is red.")


def seeded(home):
    """A bank in which Iris has a session and a fact already."""
    bank = Bank(home / "bank.db")
    iris = bank.create_persona(PersonaDraft("Iris", "iris"))
    bank.remember(iris.id, [SessionDraft(tuple(TurnDraft("Ana", "user", t) for t in HELD), MAY, external_id="held")])
    bank.add_memories(iris.id, [MemoryDraft("profile", "Ana lives in Porto", said_at=MAY)])
    return bank


def assert_unharmed(bank):
    """What was in the bank before is there still, and all that it holds agrees."""
    iris = bank.persona("iris")
    (session,) = bank.sessions(iris.id)
    assert tuple(t.text for t in bank.turns(iris.id, session.id)) == HELD
    assert bank.counts(iris.id) == {"sessions": 1, "turns": 2, "dialogue": 2, "profile": 1}
    assert upkeep.verify(bank, "any") == []


def assert_true_report(bank, report):
    """What the report of a first import says was stored is what the bank holds, and all that was found is stored."""
    for h in report.histories:
        counts = bank.counts(h.persona.id)
        memories = sum(n for name, n in counts.items() if name not in ("sessions", "turns"))
        assert h.stored == WriteCounts(counts["sessions"], counts["turns"], memories, *astuple(h.stored)[3:])
        assert h.found_sessions >= h.stored.sessions
        assert h.found_turns == h.stored.turns + h.stored.known_turns
        dialogue = counts.get("dialogue", 0)
        assert h.found_memories == memories - dialogue + h.stored.known_memories


def persona(name):
    return {"memoir": 1, "persona": {"name": name, "id": name.casefold()}}


def session(number, turns=2, words="We counted gulls"):
    said = [{"speaker": "Bo", "text": f"{words} {number}-{n}."} for n in range(turns)]
    return {"session": {"id": f"s{number}", "started_at": "2024-01-01T10:00:00+00:00", "turns": said}}


def write_lines(path, *records):
    """A file of Memoir's own format; a record that is bytes already stands as it is."""
    lines = [r if isinstance(r, bytes) else json.dumps(r, ensure_ascii=False).encode() for r in records]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def history(path, sessions, name="Zoe"):
    """A file of Memoir's own format with one history of that many sessions of twenty turns."""
    return write_lines(path, persona(name), *(session(n, turns=20) for n in range(sessions)))


def start(*arguments, home=None):
    """A `python -m memory` of its own, in the bank's folder if given, else where MEMOIR_HOME says."""
    where = {"MEMOIR_HOME": str(home)} if home else {}
    command = [sys.executable, "-m", "memory", *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=ROOT, env=os.environ | where, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=False
    )


def run(*arguments, home=None):
    """The same to its end."""
    process = start(*arguments, home=home)
    out, err = process.communicate(timeout=120)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)
