"""Train models on a benchmark's own questions."""

from __future__ import annotations

import argparse

from eval import benchmarks
from eval.benchmarks.perltqa.training import EPOCHS, Plan, train
from eval.cli.output import progress_bars, show
from eval.reporting.render import format_fraction
from eval.runs.evaluator import Evaluator
from memory.exporting.json_values import to_json_values


def train_perltqa(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Train a classifier of PerLTQA's questions: semantic or episodic."""
    data = evaluator.data_of(benchmarks.find("perltqa"), arguments.data)
    with progress_bars("batch") as watch:
        done = train(data, arguments.out, Plan(arguments.base, arguments.instruction, arguments.seed), watch)

    def figures(values: dict[str, float]) -> str:
        named = {"precision": "precision", "recall": "recall", "F1": "f1", "accuracy": "accuracy"}
        return ", ".join(f"{name} {format_fraction(values[f'classification_{key}'])}" for name, key in named.items())

    sizes = done.questions
    text = (
        f"trained {arguments.base} on {sizes['training']:,} questions; kept epoch {done.epoch} of {EPOCHS} by "
        f"{sizes['validation']:,} validation questions\n"
        f"validation: {figures(dict(done.validation))}\n"
        f"test, {sizes['test']:,} questions: {figures(dict(done.test))}\n"
        f"if all were of the most frequent kind: {figures(dict(done.always))}\n"
        f"Use it: python -m eval run perltqa --data {data} --preset perltqa-table-4 --set "
        f"trained_classifier={arguments.out}"
    )
    return show(arguments, to_json_values(done), text)
