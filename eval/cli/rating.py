"""Write rating sheets, let a chat model fill one in, and read those that were filled in."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from tabulate import tabulate

from eval.cli.output import progress_bars, show
from eval.metrics.intervals import INTERVALS
from eval.rating import sheet, summary
from eval.rating.criteria import CRITERIA, HIGHEST
from eval.rating.model_rater import rate
from eval.rating.sheet import Reply
from eval.rating.summary import Agreement, Summary
from eval.reporting.render import format_figure
from eval.runs.evaluator import Evaluator
from graph.models.registry import chat_model
from memory.exporting.json_values import to_json_values


def write_sheet(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Write an empty sheet of runs."""
    lines = sheet.write(_replies(arguments, evaluator), arguments.file, seed=arguments.seed, limit=arguments.limit)
    how = "\n".join(f"  {c.name}: a point (0 to 1) each if {c.explanation}" for c in CRITERIA)
    text = (
        f"wrote {lines} replies to {arguments.file}. Give each rater a copy. To fill in:\n{how}\n"
        "  closest: x at the reply to a question that feels closest to a friend's, or tie at any of them\n"
        "  remembers: x if the reply uses a memory\n"
        "Then: python -m eval rate read RUN... --sheet COPY --sheet COPY"
    )
    return show(arguments, {"replies": lines, "file": str(arguments.file)}, text)


def let_model_rate(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Let a chat model fill in a sheet."""
    model, replies = chat_model(arguments.model), _replies(arguments, evaluator)
    asked_for = sheet.ids(arguments.sheet)
    with progress_bars("reply") as watch:
        ratings, counts = rate(
            [reply for reply in replies if reply.id in asked_for],
            model,
            lambda done, total: watch(arguments.model, done, total),
        )
    sheet.fill(arguments.sheet, ratings, arguments.file)
    text = (
        f"rated {len(ratings)} replies into {arguments.file}; of {counts.asked} replies of the model "
        f"{counts.unreadable} could not be read, and {counts.failed} times there was none"
    )
    return show(arguments, {"rated": len(ratings), **asdict(counts)}, text)


def read_sheets(arguments: argparse.Namespace, evaluator: Evaluator) -> int:
    """Read filled sheets, and say what the raters found."""
    replies = _replies(arguments, evaluator)
    found = summary.summarise([sheet.read(file, replies) for file in arguments.sheet], replies)
    return show(arguments, to_json_values(found), _to_markdown(found))


def _replies(arguments: argparse.Namespace, evaluator: Evaluator) -> list[Reply]:
    runs = [evaluator.runs.get(name) for name in arguments.run]
    return sheet.replies_of(runs, reference=arguments.reference)


def _to_markdown(found: Summary) -> str:
    names = list(dict.fromkeys(name for figures in found.means.values() for name in figures))
    means = [
        [run, *(format_figure(figures[name]) if name in figures else "" for name in names)]
        for run, figures in found.means.items()
    ]
    parts = [
        f"{len(found.raters)} raters: {', '.join(found.raters)}. From 0 to {HIGHEST:g}; remembers: share. {INTERVALS}.",
        tabulate(means, ["run", *names], tablefmt="github", disable_numparse=True),
    ]
    if found.agreement:
        rows = [(name, each.n, *_agreed(each)) for name, each in found.agreement.items()]
        parts += [tabulate(rows, ["agreement on", "n", "alpha", "kappa"], tablefmt="github", disable_numparse=True)]
    if found.matches:
        matches = [(m.first, m.second, m.wins, m.losses, m.ties, f"{m.p:.3f}") for m in found.matches]
        header = ["closest", "against", "wins", "losses", "ties", "p (sign test)"]
        parts += [tabulate(matches, header, tablefmt="github", disable_numparse=True)]
    if found.memory_and_support is not None:
        parts += [f"Rank correlation of memory and support over all replies: {found.memory_and_support:.2f}"]
    return "\n\n".join([*parts, *(["\n".join(found.faults)] if found.faults else [])])


def _agreed(agreement: Agreement) -> tuple[str, str]:
    alpha, kappa = ("" if value is None else f"{value:.2f}" for value in (agreement.alpha, agreement.kappa))
    return alpha, kappa
