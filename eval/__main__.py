"""Measure from the command line: python -m eval run|results|ablate|compare|report|list|presets|fetch|judge|bench|..."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from eval import cli as commands
from eval.benchmarks import BENCHMARKS, PRESETS
from eval.evaluator import Evaluator
from eval.fetching.fetch import SOURCES
from eval.settings import EvalSettings
from eval.speed.worlds import Size
from memory.cli.arguments import positive_number
from memory.cli.errors import run_command

Command = Callable[[argparse.Namespace, Evaluator], int]


def main(argv: list[str] | None = None) -> int:
    """Run one command; 0 if it did what was asked, 1 if it could not, 2 for wrong arguments, 130 if it was stopped."""
    arguments = _parser().parse_args(argv)
    command: Command = arguments.command
    return run_command(
        lambda: command(arguments, Evaluator(EvalSettings())),
        "Interrupted. Answers so far are kept; run the same command again to continue.",
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m eval", description="How good it is, on published benchmarks.")
    offered = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, command: Command, text: str) -> argparse.ArgumentParser:
        sub = offered.add_parser(name, help=text, description=text)
        sub.set_defaults(command=command)
        sub.add_argument("--json", action="store_true", help="print one JSON object")
        return sub

    sub = add("run", commands.replay, "Replay a benchmark and score it; a broken-off run goes on where it stopped.")
    sub.add_argument("benchmark", choices=list(BENCHMARKS), help="which one")
    sub.add_argument("--data", type=Path, metavar="FILE", help="its file or folder, if not in Memoir's own")
    sub.add_argument("--limit", type=positive_number, metavar="N", help="ask the first N probes only")
    sub.add_argument("--only", action="append", default=[], metavar="HISTORY", help="play this history only")
    sub.add_argument("--reader", metavar="READER", help="who reads; none measures classification and retrieval alone")
    sub.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", dest="settings", help="change a setting"
    )
    sub.add_argument("--sweep", action="append", default=[], metavar="NAME=V,V", help="run every combination")
    sub.add_argument("--preset", choices=list(PRESETS), metavar="NAME", help="run the rows of a paper's table")
    sub.add_argument(
        "--jobs", type=positive_number, default=1, metavar="N", help="processes; results do not depend on it"
    )
    sub.add_argument("--judge", metavar="MODEL", help="let this chat model judge the answers")
    sub.add_argument("--afresh", action="store_true", help="do not go on with a broken-off run")
    sub.add_argument("--cold", action="store_true", help="use no cached embeddings")
    sub = add("report", commands.show_report, "Show a run's report.")
    sub.add_argument("run", nargs="?", default="last", help="its name or the beginning of it; the newest by default")
    sub.add_argument("--csv", action="store_true", help="print a row a figure")
    sub = add(
        "results", commands.measure_all, "Run every benchmark whose files are here, and print the README's table."
    )
    sub.add_argument(
        "--jobs", type=positive_number, default=1, metavar="N", help="processes; results do not depend on it"
    )
    sub.add_argument("--write", type=Path, metavar="FILE", help="put the table between its marks in this file")
    sub = add(
        "ablate", commands.ablate, "Run every benchmark with each factor of recall off, and print what each is worth."
    )
    sub.add_argument(
        "--jobs", type=positive_number, default=1, metavar="N", help="processes; results do not depend on it"
    )
    sub.add_argument("--write", type=Path, metavar="FILE", help="put the table between its marks in this file")
    sub.add_argument("--limit", type=positive_number, metavar="N", help="the first so many probes of each")
    sub = add("compare", commands.compare, "Compare two runs, probe by probe.")
    sub.add_argument("first")
    sub.add_argument("second")
    add("list", commands.list_runs, "List the runs, the newest first.")
    add("presets", commands.list_presets, "List the papers' tables that can be run by name.")
    sub = add("fetch", commands.fetch_files, "Download a benchmark's official files.")
    sub.add_argument("benchmark", choices=list(SOURCES))
    sub = add(
        "judge", commands.judge, "Let a chat model judge a run's answers, or take the verdicts of LongMemEval's script."
    )
    sub.add_argument("run")
    sub.add_argument("model", nargs="?", help="as openai:gpt-4o-mini, or http://127.0.0.1:8000/v1#name")
    sub.add_argument("--labels", type=Path, metavar="FILE", help="what LongMemEval's evaluate_qa.py wrote")
    sub = add("export", commands.export, "Write a run's answers as LongMemEval's own judge script reads them.")
    sub.add_argument("run")
    sub.add_argument("file", type=Path)
    sub = add("delete", commands.delete, "Delete a run.")
    sub.add_argument("run")
    sub = add(
        "bench",
        commands.measure_speed,
        "Measure speed, memory and exactness at growing sizes, beside plain ways to search.",
    )
    sub.add_argument("--sizes", type=_sizes, default=(10_000, 100_000, 1_000_000), metavar="N,N", help="memories")
    sub.add_argument("--personas", type=_size, default=Size(1000, 1000), metavar="PxN", help="personas x memories each")
    sub.add_argument("--questions", type=positive_number, default=100, metavar="N", help="asked at each size")
    sub.add_argument("--seed", type=int, default=0, help="of the made-up life")
    sub.add_argument("--folder", type=Path, help="keep the banks here, and take those that are there as they are")
    sub = add("bench-turn", commands.measure_turn, "Measure a chat turn, the app's start and its idle memory.")
    sub.add_argument("--memories", type=positive_number, default=10_000, metavar="N", help="memories in the bank")
    sub.add_argument("--turns", type=positive_number, default=100, metavar="N", help="turns to measure")
    sub.add_argument("--no-app", action="store_true", help="leave the app out")
    return parser


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(positive_number(part.strip()) for part in text.split(","))


def _size(text: str) -> Size:
    personas, _, memories = text.partition("x")
    return Size(positive_number(personas), positive_number(memories))


if __name__ == "__main__":
    sys.exit(main())
