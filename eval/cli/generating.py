"""Generate a benchmark's files with a chat model."""

from __future__ import annotations

import argparse

from eval.benchmarks.dialsim.generation import folder as dialsim
from eval.benchmarks.longmemeval.generation import users as longmemeval
from eval.benchmarks.madial.generation import users as madial
from eval.benchmarks.perltqa.generation import folder as perltqa
from eval.cli.output import progress_bars, show
from eval.making.parts import Generated
from eval.runs.evaluator import Evaluator
from graph.models.registry import chat_model
from memory.cli.errors import print_error
from memory.exporting.json_values import to_json_values


def generate_dialsim(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Make the questions of a show from its script, as DialSim has them."""
    plan = dialsim.Plan(arguments.model, arguments.seed, arguments.threshold)
    model = chat_model(plan.model, quantization=evaluator.settings.quantization)
    with progress_bars("part") as watch:
        done = dialsim.generate(arguments.folder, arguments.script, arguments.quiz, plan, model, watch)
    return _show(arguments, "dialsim", done)


def generate_longmemeval(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Make questions with evidence sessions as LongMemEval has them."""
    plan = longmemeval.Plan(arguments.model, arguments.seed, arguments.threshold, questions=arguments.questions)
    model = chat_model(plan.model, quantization=evaluator.settings.quantization)
    with progress_bars("part") as watch:
        done = longmemeval.generate(arguments.folder, arguments.attributes, plan, model, watch)
    return _show(arguments, "longmemeval", done)


def generate_madial(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Make users with memories, and dialogues that bring them up, as MADial-Bench has them."""
    plan = madial.Plan(
        arguments.model, arguments.seed, arguments.threshold, events=arguments.events, dialogues=arguments.dialogues
    )
    model = chat_model(plan.model, quantization=evaluator.settings.quantization)
    with progress_bars("part") as watch:
        done = madial.generate(arguments.folder, arguments.users, plan, model, watch)
    return _show(arguments, "madial-bench", done)


def generate_perltqa(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Make personas and questions as PerLTQA has them."""
    plan = perltqa.Plan(
        arguments.model, arguments.seed, arguments.threshold, events=arguments.events, questions=arguments.questions
    )
    model = chat_model(plan.model, quantization=evaluator.settings.quantization)
    with progress_bars("part") as watch:
        done = perltqa.generate(arguments.folder, arguments.personas, plan, model, watch)
    return _show(arguments, "perltqa", done)


def _show(arguments: argparse.Namespace, benchmark: str, done: Generated) -> int:
    """Say what was made and what was left out; 1 if a part could not be made."""
    for fault in done.failed:
        print_error(f"{fault}. Run the same command again to try it again")
    counts = ", ".join(f"{number} {kind}" for kind, number in done.counts.items())
    left_out = "".join(f"\n  {number} {reason}" for reason, number in done.left_out.items())
    text = (
        f"{arguments.folder}: {counts}, made from {done.replies} replies.\nLeft out:{left_out or ' nothing'}\n"
        f"Run it: python -m eval run {benchmark} --data {arguments.folder}"
    )
    show(arguments, to_json_values(done), text)
    return 1 if done.failed else 0
