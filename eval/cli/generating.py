"""Generate a benchmark's files with a chat model."""

from __future__ import annotations

import argparse

from eval.benchmarks.perltqa.generation.folder import Plan, generate
from eval.cli.output import progress_bars, show
from eval.runs.evaluator import Evaluator
from graph.models.registry import chat_model
from memory.cli.errors import print_error
from memory.exporting.json_values import to_json_values


def generate_files(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Make personas and questions as PerLTQA has them; 1 if a persona could not be made."""
    plan = Plan(arguments.model, arguments.seed, arguments.events, arguments.questions, arguments.threshold)
    model = chat_model(plan.model, quantization=evaluator.settings.quantization)
    with progress_bars("part") as watch:
        done = generate(arguments.folder, arguments.personas, plan, model, watch)
    for fault in done.failed:
        print_error(f"{fault}. Run the same command again to try it again")
    left_out = "".join(f"\n  {number} {reason}" for reason, number in done.left_out.items())
    text = (
        f"{arguments.folder}: {done.personas} personas, {done.memories} memories, {done.questions} questions, "
        f"made from {done.replies} replies.\nLeft out:{left_out or ' nothing'}\n"
        f"Run it: python -m eval run perltqa --data {arguments.folder}"
    )
    show(arguments, to_json_values(done), text)
    return 1 if done.failed else 0
