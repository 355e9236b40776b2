"""Measure from the command line: python -m eval run|results|ablate|compare|report|list|presets|fetch|judge|bench|..."""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pydantic import ValidationError
from tabulate import tabulate
from tqdm import tqdm

from eval import ablation, render, results
from eval.bench import Bench, Order
from eval.benchmarks import BENCHMARKS
from eval.compare import compare_runs
from eval.execute import Progress
from eval.experiment import Experiment, grid, varied
from eval.fetching.fetch import SOURCES, fetch
from eval.judging.hypotheses import read_labels, write_hypotheses
from eval.presets import PRESETS
from eval.report import Report, report
from eval.runs import Run
from eval.scale import measure, table
from eval.scale.worlds import Size
from eval.settings import EvalSettings
from graph.models import chat_model
from memory.as_json import plain
from memory.embedder import Embedder
from memory.errors import MemoirError

STOPPED = 130
"""The exit status of a command ended by Ctrl-C, as shells give it."""

Command = Callable[[argparse.Namespace, Bench], int]


def main(argv: list[str] | None = None) -> int:
    """Run one command; 0 if it did what was asked, 1 if it could not, 2 for wrong arguments, 130 if it was stopped."""
    arguments = _parser().parse_args(argv)
    try:
        command: Command = arguments.command
        return command(arguments, Bench(EvalSettings()))
    except ValidationError as fault:
        for error in fault.errors():
            print(f"memoir: MEMOIR_{str(error['loc'][0]).upper()}: {error['msg']}", file=sys.stderr)
    except KeyboardInterrupt:
        print("memoir: stopped; what was answered is kept, and the same command goes on from there", file=sys.stderr)
        return STOPPED
    except BrokenPipeError:
        # The reader of a pipe ("| head") has seen enough; Python would complain again when it closes the stream.
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115
    except (MemoirError, OSError, sqlite3.Error) as fault:  # a full disk or a folder without leave is no fault of ours
        print(f"memoir: {fault}", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m eval", description="How good it is, on published benchmarks.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, command: Command, text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(command=command)
        sub.add_argument("--json", action="store_true", help="print one JSON object")
        return sub

    sub = add("run", _run, "Replay a benchmark and score it; a broken-off run goes on where it stopped.")
    sub.add_argument("benchmark", choices=list(BENCHMARKS), help="which one")
    sub.add_argument("--data", type=Path, metavar="FILE", help="its file or folder, if not in Memoir's own")
    sub.add_argument("--limit", type=_positive, metavar="N", help="ask the first N probes only")
    sub.add_argument("--only", action="append", default=[], metavar="HISTORY", help="play this history only")
    sub.add_argument("--reader", metavar="READER", help="who reads; none measures classification and retrieval alone")
    sub.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", dest="settings", help="change a setting"
    )
    sub.add_argument("--sweep", action="append", default=[], metavar="NAME=V,V", help="run every combination")
    sub.add_argument("--preset", choices=list(PRESETS), metavar="NAME", help="run the rows of a paper's table")
    sub.add_argument("--jobs", type=_positive, default=1, metavar="N", help="processes; results do not depend on it")
    sub.add_argument("--judge", metavar="MODEL", help="let this chat model judge the answers")
    sub.add_argument("--afresh", action="store_true", help="do not go on with a broken-off run")
    sub.add_argument("--cold", action="store_true", help="use no cached embeddings")
    sub = add("report", _report, "Show a run's report.")
    sub.add_argument("run", nargs="?", default="last", help="its name or the beginning of it; the newest by default")
    sub.add_argument("--csv", action="store_true", help="print a row a figure")
    sub = add("results", _results, "Run every benchmark whose files are here, and print the README's table.")
    sub.add_argument("--jobs", type=_positive, default=1, metavar="N", help="processes; results do not depend on it")
    sub.add_argument("--write", type=Path, metavar="FILE", help="put the table between its marks in this file")
    sub = add("ablate", _ablate, "Run every benchmark with each factor of recall off, and print what each is worth.")
    sub.add_argument("--jobs", type=_positive, default=1, metavar="N", help="processes; results do not depend on it")
    sub.add_argument("--write", type=Path, metavar="FILE", help="put the table between its marks in this file")
    sub.add_argument("--limit", type=_positive, metavar="N", help="the first so many probes of each")
    sub = add("compare", _compare, "Compare two runs, probe by probe.")
    sub.add_argument("first")
    sub.add_argument("second")
    add("list", _list, "List the runs, the newest first.")
    add("presets", _presets, "List the papers' tables that can be run by name.")
    sub = add("fetch", _fetch, "Download a benchmark's official files.")
    sub.add_argument("benchmark", choices=list(SOURCES))
    sub = add("judge", _judge, "Let a chat model judge a run's answers, or take the verdicts of LongMemEval's script.")
    sub.add_argument("run")
    sub.add_argument("model", nargs="?", help="as openai:gpt-4o-mini, or http://127.0.0.1:8000/v1#name")
    sub.add_argument("--labels", type=Path, metavar="FILE", help="what LongMemEval's evaluate_qa.py wrote")
    sub = add("export", _export, "Write a run's answers as LongMemEval's own judge script reads them.")
    sub.add_argument("run")
    sub.add_argument("file", type=Path)
    sub = add("delete", _delete, "Delete a run.")
    sub.add_argument("run")
    sub = add("bench", _bench, "Measure speed, memory and exactness at growing sizes, beside plain ways to search.")
    sub.add_argument("--sizes", type=_sizes, default=(10_000, 100_000, 1_000_000), metavar="N,N", help="memories")
    sub.add_argument("--personas", type=_size, default=Size(1000, 1000), metavar="PxN", help="personas x memories each")
    sub.add_argument("--questions", type=_positive, default=100, metavar="N", help="asked at each size")
    sub.add_argument("--seed", type=int, default=0, help="of the made-up life")
    sub.add_argument("--folder", type=Path, help="keep the banks here, and take those that are there as they are")
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 on")
    return int(text)


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(_positive(part.strip()) for part in text.split(","))


def _size(text: str) -> Size:
    personas, _, memories = text.partition("x")
    return Size(_positive(personas), _positive(memories))


# --- run


def _run(arguments: argparse.Namespace, bench: Bench) -> int:
    settings = [*arguments.settings, *([f"reader={arguments.reader}"] if arguments.reader else [])]
    base = varied(bench.experiment, settings)
    if judge := _judge_of(arguments, bench):
        chat_model(judge)  # a name that is none must not come to light when all has been answered
    if not arguments.preset and not arguments.sweep:
        return _show(_one(arguments, bench, base), arguments)
    rows = _of_preset(arguments, base) if arguments.preset else list(grid(base, arguments.sweep))
    done = {label: _one(arguments, bench, experiment, label) for label, experiment in rows}
    if arguments.json:
        print(json.dumps({"rows": {label: render.as_json(held) for label, held in done.items()}}, ensure_ascii=False))
        return 0
    preset = PRESETS.get(arguments.preset or "")
    header, table = render.sweep_rows(done, preset.metrics if preset else None, preset.ability if preset else "")
    print(tabulate(table, header, tablefmt="github", disable_numparse=True))
    return 0


def _of_preset(arguments: argparse.Namespace, base: Experiment) -> list[tuple[str, Experiment]]:
    preset = PRESETS[arguments.preset]
    if preset.benchmark != arguments.benchmark:
        raise MemoirError(f"{preset.name} is a table of {preset.benchmark}, not of {arguments.benchmark}")
    for row in preset.rows:
        if not row.runs_with(base.pipeline.model):
            print(f"memoir: left out: {row.label}; it needs {row.needs}", file=sys.stderr)
    return [(row.label, varied(base, list(row.settings))) for row in preset.rows if row.runs_with(base.pipeline.model)]


def _one(arguments: argparse.Namespace, bench: Bench, experiment: Experiment, label: str = "") -> Report:
    order = Order(
        arguments.benchmark,
        arguments.data,
        experiment,
        arguments.limit,
        tuple(arguments.only),
        arguments.jobs,
        arguments.afresh,
        arguments.cold,
    )
    begun = bench.begin(order)
    with tqdm(total=begun[1], unit="probe", desc=label or order.benchmark, disable=None) as bar:

        def watch(progress: Progress) -> None:
            bar.total = progress.total
            bar.update(progress.done - bar.n)

        run = bench.go(order, watch=watch, begun=begun)
    print(f"memoir: kept as {run.name}", file=sys.stderr)
    judge = _judge_of(arguments, bench)
    if judge and experiment.pipeline.reader != "none":
        _judged(bench, run, judge)
    return report(run)


def _judge_of(arguments: argparse.Namespace, bench: Bench) -> str:
    return str(arguments.judge or bench.settings.judge)


def _show(held: Report, arguments: argparse.Namespace) -> int:
    print(json.dumps(render.as_json(held), ensure_ascii=False) if arguments.json else render.to_markdown(held))
    return 0


# --- what came of it


def _report(arguments: argparse.Namespace, bench: Bench) -> int:
    held = report(bench.runs.get(arguments.run))
    if arguments.csv:
        print(render.to_csv(held), end="")
        return 0
    return _show(held, arguments)


def _results(arguments: argparse.Namespace, bench: Bench) -> int:
    with _watched() as watch:
        done = results.measure(bench, arguments.jobs, watch)
    table = results.to_markdown(done)
    if arguments.write:
        results.write_into(arguments.write, table)
    print(json.dumps({title: render.as_json(held) for title, _, held in done}) if arguments.json else table)
    return 0


def _ablate(arguments: argparse.Namespace, bench: Bench) -> int:
    with _watched() as watch:
        done = ablation.measure(bench, arguments.jobs, watch, arguments.limit)
    table = ablation.to_markdown(done)
    if arguments.write:
        results.write_into(arguments.write, table, ablation.BEGIN, ablation.END)
    print(json.dumps({held.title: plain(held.without) for held in done}) if arguments.json else table)
    return 0


@contextmanager
def _watched() -> Iterator[Callable[[str, Progress], None]]:
    with tqdm(unit="probe", disable=None) as bar:

        def watch(title: str, progress: Progress) -> None:
            bar.desc, bar.total = title, progress.total
            bar.update(progress.done - bar.n)

        yield watch


def _compare(arguments: argparse.Namespace, bench: Bench) -> int:
    held = compare_runs(bench.runs.get(arguments.first), bench.runs.get(arguments.second))
    print(json.dumps(plain(held), ensure_ascii=False) if arguments.json else render.comparison_markdown(held))
    return 0


def _list(arguments: argparse.Namespace, bench: Bench) -> int:
    runs = bench.runs.all()
    if arguments.json:
        print(json.dumps({"runs": [_about(run) for run in runs]}, ensure_ascii=False))
        return 0
    rows = [[run.name, run.spec.portion, "done" if run.is_done else "unfinished", _differs(run)] for run in runs]
    print(
        tabulate(rows, ["run", "portion", "state", "settings that differ from the default"]) if rows else "no runs yet"
    )
    return 0


def _about(run: Run) -> Mapping[str, Any]:
    about: Mapping[str, Any] = plain({"name": run.name, "done": run.is_done, "created": run.created, "spec": run.spec})
    return about


def _differs(run: Run) -> str:
    default = Experiment().settings
    return " ".join(f"{k}={v}" for k, v in run.spec.settings.items() if default.get(k) != v)


def _presets(arguments: argparse.Namespace, bench: Bench) -> int:
    if arguments.json:
        print(json.dumps({"presets": plain(dict(PRESETS))}, ensure_ascii=False))
        return 0
    for preset in PRESETS.values():
        print(f"{preset.name}: {preset.title} [{preset.benchmark}]")
        for row in preset.rows:
            print(
                f"    {row.label}: {' '.join(row.settings) or 'as it is'}{f' (needs {row.needs})' if row.needs else ''}"
            )
    return 0


def _delete(arguments: argparse.Namespace, bench: Bench) -> int:
    run = bench.runs.get(arguments.run)
    run.delete()
    print(json.dumps({"deleted": run.name}) if arguments.json else f"deleted {run.name}")
    return 0


# --- files and judges


def _fetch(arguments: argparse.Namespace, bench: Bench) -> int:
    folder = bench.settings.home / "benchmarks" / arguments.benchmark
    bars: dict[str, Any] = {}

    def progress(name: str, done: int, total: int) -> None:
        bar = bars.setdefault(name, tqdm(total=total, unit="B", unit_scale=True, desc=name, disable=None))
        bar.update(done - bar.n)

    paths = fetch(arguments.benchmark, folder, progress)
    for bar in bars.values():
        bar.close()
    print(json.dumps({"files": [str(p) for p in paths]}) if arguments.json else "\n".join(map(str, paths)))
    return 0


def _judge(arguments: argparse.Namespace, bench: Bench) -> int:
    run = bench.runs.get(arguments.run)
    if arguments.labels:
        run.judged(read_labels(arguments.labels))
    else:
        model = arguments.model or bench.settings.judge
        if not model:
            raise MemoirError("name the chat model that is to judge, or set MEMOIR_JUDGE")
        _judged(bench, run, model)
    return _show(report(run), arguments)


def _judged(bench: Bench, run: Run, model: str) -> None:
    with tqdm(unit="answer", desc="judge", disable=None) as bar:

        def watch(done: int, total: int) -> None:
            bar.total = total
            bar.update(done - bar.n)

        spent = bench.judge(run, model, watch)
    print(f"memoir: judged by {model}: {plain(spent)}", file=sys.stderr)


def _export(arguments: argparse.Namespace, bench: Bench) -> int:
    written = write_hypotheses(bench.runs.get(arguments.run).samples(), arguments.file)
    print(json.dumps({"written": written}) if arguments.json else f"wrote {written} answers to {arguments.file}")
    return 0


# --- speed


def _bench(arguments: argparse.Namespace, bench: Bench) -> int:
    order = measure.Order(arguments.sizes, arguments.personas, arguments.questions, arguments.seed)
    embedder = Embedder(bench.settings.embedding_model)
    with ExitStack() as stack:
        folder = arguments.folder or Path(stack.enter_context(TemporaryDirectory(prefix="memoir-bench-")))
        bars: dict[str, Any] = {}

        def watch(what: str, done: int, total: int) -> None:
            if what not in bars:
                bars[what] = stack.enter_context(tqdm(total=total, desc=what, disable=None))
            bars[what].update(done - bars[what].n)

        try:
            figures = list(measure.measure(order, folder, embedder, watch))
        except KeyboardInterrupt:
            print("memoir: stopped; what was half made is made anew the next time", file=sys.stderr)
            return STOPPED
    print(json.dumps({**table.about(), "figures": plain(figures)}) if arguments.json else table.to_text(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
