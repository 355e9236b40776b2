"""Measure the program, and print tables that can be written into files."""

from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

from eval.benchmarks import BENCHMARKS, PRESETS
from eval.cli.output import COMMANDS, DATA, HALF, JOBS, LIMIT, WRITE, progress_bars, show
from eval.reporting import results, tuning
from eval.reporting.render import fill_in, markdown_table
from eval.runs.evaluator import Evaluator
from eval.runs.experiment import RunRequest
from eval.settings import settings_rows
from eval.speed import measure, turn
from eval.speed.synthetic import Life, Size
from memory.cli.program import Arguments, argument, flag, number, positive_number
from memory.embedding.embedder import Embedder, installed


@COMMANDS.add("results", HALF, JOBS, WRITE)
def measure_results(arguments: Arguments, evaluator: Evaluator) -> None:
    """Run every benchmark whose files are here, and print one table."""
    with progress_bars("probe") as watch:
        done = results.measure_results(evaluator, watch, RunRequest("", half=arguments.half, jobs=arguments.jobs))
    value = {line.title: measured for line, reports in done for measured in reports.values()}
    show(arguments, value, results.results_to_markdown(done), "results")


@COMMANDS.add("encoders", JOBS, WRITE)
def measure_encoders(arguments: Arguments, evaluator: Evaluator) -> None:
    """Run every benchmark with each packaged encoder, without a reader."""
    with progress_bars("probe") as watch:
        done = results.measure_results(evaluator, watch, RunRequest("", jobs=arguments.jobs), installed())
    value = {line.title: reports for line, reports in done}
    show(arguments, value, results.encoders_to_markdown(done), "encoders")


@COMMANDS.add(
    "papers",
    argument("benchmark", "of these benchmarks only", nargs="*"),
    argument("--model", "run those that need a chat model instead, with this", default="", metavar="NAME"),
    DATA,
    LIMIT,
    JOBS,
    WRITE,
)
def measure_papers(arguments: Arguments, evaluator: Evaluator) -> None:
    """Run the rows of the papers' tables that need no chat model."""
    model, how = arguments.model, RunRequest("", arguments.data, limit=arguments.limit, jobs=arguments.jobs)
    with progress_bars("probe") as watch:
        done = results.measure_papers(evaluator, watch, arguments.benchmark, model, how)
    value = {preset.name: rows for preset, rows in done}
    show(arguments, value, fill_in("papers.md", done=done, model=model, limit=arguments.limit), "papers")


@COMMANDS.add("tune", JOBS, WRITE, number("--limit", "ask the first N probes of each half only"))
def measure_tuning(arguments: Arguments, evaluator: Evaluator) -> None:
    """Choose the constants of retrieval on all benchmarks but one, and measure that one; for each of them."""
    with progress_bars("setting") as watch:
        found = tuning.tune(evaluator, arguments.jobs, watch, arguments.limit)
    show(arguments, found, tuning.to_markdown(found), "tune")


@COMMANDS.add("settings", WRITE)
def show_settings(arguments: Arguments, evaluator: Evaluator) -> None:
    """List every setting with its default and meaning."""
    rows = settings_rows()
    table = markdown_table([row | {"variable": f"`{row['variable']}`"} for row in rows], "keys")
    show(arguments, {"settings": rows}, table, "settings")


@COMMANDS.add("presets", argument("benchmark", "of this benchmark only", nargs="?", choices=BENCHMARKS))
def list_presets(arguments: Arguments, evaluator: Evaluator) -> None:
    """List the papers' tables that can be run by name."""
    wanted = {name: preset for name, preset in PRESETS.items() if arguments.benchmark in (None, preset.benchmark)}
    text = fill_in("presets.md", presets=wanted.values(), benchmark=arguments.benchmark)
    show(arguments, {"presets": wanted}, text)


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(positive_number(part.strip()) for part in text.split(","))


def _size(text: str) -> Size:
    personas, _, memories = text.partition("x")
    return Size(positive_number(personas), positive_number(memories))


@COMMANDS.add(
    "bench",
    argument("--sizes", "memories", type=_sizes, default=(10_000, 100_000, 1_000_000), metavar="N,N"),
    argument("--personas", "personas x memories each", type=_size, default=Size(1000, 1000), metavar="PxN"),
    number("--questions", "questions at each size", default=100),
    argument("--seed", "seed of the synthetic conversations", type=int, default=0),
    argument("--folder", "keep the banks in this folder, and reuse those that are there", type=Path),
    WRITE,
)
def measure_sizes(arguments: Arguments, evaluator: Evaluator) -> None:
    """Measure speed, memory and exactness at growing sizes."""
    embedder = Embedder(evaluator.settings.embedding_model)
    what = {"sizes": arguments.sizes, "many": arguments.personas, "n": arguments.questions}
    kept = nullcontext(arguments.folder) if arguments.folder else TemporaryDirectory(prefix="memoir-bench-")
    with kept as folder, progress_bars("it") as watch:
        figures = list(measure.measure(Life(arguments.seed), Path(folder), embedder, watch, **what))
    value = {**measure.conditions(), "figures": figures}
    show(arguments, value, measure.to_markdown(figures), "bench")


@COMMANDS.add(
    "bench-turn",
    number("--memories", "memories in the bank", default=10_000),
    number("--turns", "turns to measure", default=100),
    flag("--no-app", "do not start the app"),
    WRITE,
)
def measure_turn(arguments: Arguments, evaluator: Evaluator) -> None:
    """Measure a chat turn, the app's start and its idle memory."""
    figures = turn.chat_turns(evaluator.settings, arguments.memories, arguments.turns)
    figures |= {} if arguments.no_app else turn.app_start()
    show(arguments, figures, markdown_table(figures.items(), ("measure", "value")), "bench-turn")
