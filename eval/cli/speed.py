"""Measure speed and memory."""

from __future__ import annotations

import argparse
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from eval.cli.output import progress_bars, show
from eval.reporting.marks import write_between_marks
from eval.runs.evaluator import Evaluator
from eval.speed import measure, table, turn
from memory.cli.errors import INTERRUPTED, print_error
from memory.embedding.embedder import Embedder
from memory.exporting.json_values import to_json_values


def measure_sizes(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Measure speed, memory and exactness at growing sizes."""
    request = measure.SpeedRequest(arguments.sizes, arguments.personas, arguments.questions, arguments.seed)
    embedder = Embedder(evaluator.settings.embedding_model)
    with ExitStack() as stack:
        folder = arguments.folder or Path(stack.enter_context(TemporaryDirectory(prefix="memoir-bench-")))
        watch = stack.enter_context(progress_bars("it"))
        try:
            figures = list(measure.measure(request, folder, embedder, watch))
        except KeyboardInterrupt:
            print_error("Interrupted. Run the same command again; unfinished banks are built anew.")
            return INTERRUPTED
    if arguments.write:
        write_between_marks(arguments.write, "bench", table.to_markdown(figures))
    return show(arguments, {**table.about(), "figures": to_json_values(figures)}, table.to_text(figures))


def measure_turn(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Measure a chat turn, the app's start and its idle memory."""
    figures = turn.run(evaluator.settings, arguments.memories, arguments.turns, with_app=not arguments.no_app)
    if arguments.write:
        write_between_marks(arguments.write, "bench-turn", turn.to_markdown(figures))
    return show(arguments, figures, "\n".join(f"{name}: {value}" for name, value in figures.items()))
