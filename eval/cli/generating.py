"""Generate a benchmark's files with a chat model."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from eval.benchmarks.dialsim.generation import folder as dialsim
from eval.benchmarks.longmemeval.generation import users as longmemeval
from eval.benchmarks.madial.generation import users as madial
from eval.benchmarks.perltqa.generation import folder as perltqa
from eval.cli.output import progress_bars, show
from eval.making.parts import Generated
from eval.runs.evaluator import Evaluator
from eval.types import Watch
from graph.models.registry import chat_model
from memory.cli.errors import print_error
from memory.exporting.json_values import to_json_values

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


def generate_dialsim(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Make the questions of a show from its script, as DialSim has them."""
    plan = dialsim.Plan(arguments.model, arguments.seed, arguments.threshold)
    generate = partial(dialsim.generate, arguments.folder, arguments.script, arguments.quiz, plan)
    return _run(arguments, evaluator, "dialsim", generate)


def generate_longmemeval(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Make questions with evidence sessions as LongMemEval has them."""
    plan = longmemeval.Plan(arguments.model, arguments.seed, arguments.threshold, questions=arguments.questions)
    generate = partial(longmemeval.generate, arguments.folder, arguments.attributes, plan)
    return _run(arguments, evaluator, "longmemeval", generate)


def generate_madial(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Make users with memories, and dialogues that bring them up, as MADial-Bench has them."""
    plan = madial.Plan(
        arguments.model, arguments.seed, arguments.threshold, events=arguments.events, dialogues=arguments.dialogues
    )
    return _run(arguments, evaluator, "madial-bench", partial(madial.generate, arguments.folder, arguments.users, plan))


def generate_perltqa(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Make personas and questions as PerLTQA has them."""
    plan = perltqa.Plan(
        arguments.model, arguments.seed, arguments.threshold, events=arguments.events, questions=arguments.questions
    )
    return _run(arguments, evaluator, "perltqa", partial(perltqa.generate, arguments.folder, arguments.personas, plan))


def _run(
    arguments: argparse.Namespace,
    evaluator: Evaluator,
    benchmark: str,
    generate: Callable[[BaseChatModel, Watch], Generated],
) -> int:
    """Make the files, and say what was made and what was left out; 1 if a part could not be made."""
    model = chat_model(arguments.model, quantization=evaluator.settings.quantization)
    with progress_bars("part") as watch:
        done = generate(model, watch)
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
