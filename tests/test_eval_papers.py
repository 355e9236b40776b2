"""The table that maps the papers' tables to commands stays true."""

import re
import shlex
from pathlib import Path

import pytest

from eval.__main__ import COMMANDS as PROGRAM
from eval.benchmarks import BENCHMARKS, PRESETS
from eval.runs.experiment import Experiment, combinations, with_settings

TEXT = (Path(__file__).parents[1] / "eval" / "PAPERS.md").read_text("utf-8")
SECTIONS = {part.partition(" (")[0]: part for part in TEXT.split("\n## ")[1:]}
COMMANDS = [code for code in re.findall(r"`([^`]+)`", TEXT) if "NAME" not in code]

NUMBERS = {
    ("LongMemEval", "table"): {1, 2, 3, 4, 6, 7, 8, 9, 10, 11},
    ("LongMemEval", "figure"): {1, 5, 6, 7, 9, 12, 13},
    ("PerLTQA", "table"): set(range(1, 8)),
    ("PerLTQA", "figure"): set(range(1, 9)),
    ("MADial-Bench", "table"): {1, 4, 5, 6, 8, 9, 10, 11},
    ("MADial-Bench", "figure"): {2},
    ("DialSim", "table"): set(range(1, 15)),
    ("DialSim", "figure"): set(range(1, 10)),
}
"""The tables and figures that our copies of the papers have, or that presets are named after."""


def numbers(section: str, kind: str) -> set[int]:
    """The numbers in the first column after "table", "tables 5 to 7", "Tables 9 and 10"."""
    found = set[int]()
    for line in re.findall(r"^\| ([^|]+) \|", section, re.MULTILINE):
        for first, word, last in re.findall(rf"{kind}s? (\d+)(?: (and|to) (\d+))?", line, re.IGNORECASE):
            found |= {int(first)} | (set(range(int(first), int(last) + 1)) if word == "to" else set())
            found |= {int(last)} if last else set()
    return found


def test_every_preset_is_in_the_table_and_every_preset_in_it_exists():
    assert set(re.findall(r"--preset ([\w-]+)", TEXT)) == set(PRESETS)


@pytest.mark.parametrize(("paper", "kind"), NUMBERS)
def test_every_table_and_figure_of_a_paper_has_a_line(paper, kind):
    assert numbers(SECTIONS[paper], kind) == NUMBERS[paper, kind]


@pytest.mark.parametrize("command", sorted({c for c in COMMANDS if c.startswith("run ")}))
def test_a_run_can_be_asked_for_as_written(command):
    asked = PROGRAM.parser.parse_args(shlex.split(command))
    base = with_settings(Experiment(), asked.settings)
    assert list(combinations(base, asked.sweep))
    assert asked.benchmark in BENCHMARKS
    assert asked.preset is None or PRESETS[asked.preset].benchmark == asked.benchmark


def test_the_other_commands_exist():
    named = {command.removeprefix("python -m eval ") for command in COMMANDS if command.startswith("python -m eval ")}
    usage = PROGRAM.parser.format_help()
    assert named
    assert all(re.search(rf"^\s+{name.split()[0]}\b", usage, re.MULTILINE) for name in named)


def test_the_guide_lists_every_benchmark():
    guide = (Path(__file__).parents[1] / "eval" / "README.md").read_text("utf-8")
    assert re.findall(r"(?m)^\| ([a-z-]+) \|", guide.partition("| name |")[2].partition("\n\n")[0]) == list(BENCHMARKS)
