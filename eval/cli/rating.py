"""Write rating sheets, let a chat model fill one in, and read those that were filled in."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from eval.cli.output import progress_bars, show
from eval.rating import sheet, summary
from eval.rating.criteria import COLUMNS_TO_FILL
from eval.rating.model_rater import rate
from eval.rating.render import to_markdown
from eval.rating.sheet import Reply
from eval.runs.evaluator import Evaluator
from graph.models.registry import chat_model
from memory.exporting.json_values import to_json_values


def write_sheet(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Write an empty sheet of runs."""
    lines = sheet.empty(_replies(arguments, evaluator), seed=arguments.seed, limit=arguments.limit)
    sheet.write(lines, arguments.file)
    how = "\n".join(f"  {column}: {meaning}" for column, meaning in COLUMNS_TO_FILL.items())
    text = (
        f"wrote {len(lines)} replies to {arguments.file}. Give each rater a copy. To fill in:\n{how}\n"
        "Then: python -m eval rate read RUN... --sheet COPY --sheet COPY"
    )
    return show(arguments, {"replies": len(lines), "file": str(arguments.file)}, text)


def let_model_rate(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Let a chat model fill in a sheet."""
    sheet.check_is_new(arguments.file)
    model = chat_model(arguments.model, quantization=evaluator.settings.quantization)
    replies = _replies(arguments, evaluator)
    asked_for = sheet.ids(arguments.sheet)
    with progress_bars("reply") as watch:
        ratings, counts = rate(
            [reply for reply in replies if reply.id in asked_for],
            model,
            lambda done, total: watch(arguments.model, done, total),
        )
    sheet.write(sheet.filled(arguments.sheet, ratings), arguments.file)
    text = (
        f"rated {len(ratings)} replies into {arguments.file}; of {counts.asked} replies of the model "
        f"{counts.unreadable} could not be read, and {counts.failed} times there was none"
    )
    return show(arguments, {"rated": len(ratings), **asdict(counts)}, text)


def read_sheets(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Read filled sheets, and say what the raters found."""
    replies = _replies(arguments, evaluator)
    found = summary.summarise([sheet.read(file, replies) for file in arguments.sheet], replies)
    return show(arguments, to_json_values(found), to_markdown(found))


def _replies(arguments: argparse.Namespace, evaluator: Evaluator) -> list[Reply]:
    runs = [evaluator.runs.get(name) for name in arguments.run]
    return sheet.replies_of(runs, reference=arguments.reference)
