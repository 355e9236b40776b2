"""The examples that put other memory systems behind HTTP: they parse, and their server keeps the protocol."""

import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

import eval.play.systems
from eval.play.systems.contract import Found, MeteredChat, Session, Turn
from eval.play.systems.registry import HttpSystem
from eval.types import Costs
from memory.errors import MemoirError

README = Path(eval.play.systems.__file__).with_name("README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
MEMORY = """
from serve import serve

class Memory:
    def __init__(self):
        self.turns = []

    def remember(self, session):
        self.turns += session["turns"]

    def search(self, question, as_of, k):
        return [{"text": t["text"], "score": -n, "turns": [t["id"]]} for n, t in enumerate(self.turns[:k])]

serve(Memory, port=0)
"""


def test_every_example_is_python_and_serves_a_memory_that_remembers_and_searches():
    server, *examples = BLOCKS
    compile(server, "serve.py", "exec")
    assert len(examples) == 4
    for example in examples:
        compile(example, "example.py", "exec")
        for part in ("class Memory:", "def remember(self, session):", "def search(self, question, as_of, k):"):
            assert part in example
        assert example.endswith("    serve(Memory)\n")


@pytest.fixture
def address(tmp_path):
    """Where the README's server listens, with a small memory behind it."""
    (tmp_path / "serve.py").write_text(BLOCKS[0])
    command = [sys.executable, "-c", MEMORY]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        yield process.stdout.readline().strip()
        process.kill()


def test_what_is_remembered_is_found_until_the_next_history_is_opened(address):
    now = datetime(2024, 5, 1, tzinfo=UTC)
    session = Session("s1", now, (Turn("t1", "Ann", "I moved to Lisbon.", now), Turn("t2", "", "It rained.", None)))
    system = HttpSystem(address, MeteredChat(None, Costs()))
    system.remember(session)
    found = system.search("Where did Ann move?", now, 1)
    assert found == (Found("I moved to Lisbon.", 0, ("t1",)),)
    assert system.answer("Where did Ann move?", now) is None
    assert HttpSystem(address, MeteredChat(None, Costs())).search("Where did Ann move?", now, 5) == ()


def test_a_fault_of_the_memory_is_told_with_the_address(address):
    system = HttpSystem(address, MeteredChat(None, Costs()))
    with pytest.raises(MemoirError, match=re.escape(f"{address}/search")):
        system.search("Where?", datetime(2024, 5, 1, tzinfo=UTC), "many")
