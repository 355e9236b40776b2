"""Write what the raters found as Markdown."""

from eval.metrics.intervals import INTERVALS
from eval.rating.sheet import HIGHEST
from eval.rating.summary import Agreement, Summary
from eval.reporting.render import format_figure, markdown_table


def to_markdown(found: Summary) -> str:
    """The figures as tables, and what could not be read."""
    names = list(dict.fromkeys(name for figures in found.means.values() for name in figures))
    means = [
        [run, *(format_figure(figures[name]) if name in figures else "" for name in names)]
        for run, figures in found.means.items()
    ]
    raters = f"{'Raters' if len(found.raters) > 1 else 'Rater'}: {', '.join(found.raters)}"
    parts = [
        f"{raters}. From 0 to {HIGHEST:g}; remembers: share. {INTERVALS}.",
        markdown_table(means, ["run", *names]),
    ]
    if found.agreement:
        rows = [(name, each.n, *_agreed(each)) for name, each in found.agreement.items()]
        parts += [markdown_table(rows, ["agreement on", "n", "alpha", "kappa"])]
    if found.matches:
        matches = [
            (m.first, m.second, m.wins, m.losses, m.ties, "< .001" if m.p < 0.001 else f"{m.p:.3f}")
            for m in found.matches
        ]
        header = ["closest", "against", "wins", "losses", "ties", "p (sign test)"]
        parts += [markdown_table(matches, header)]
    if found.memory_and_support is not None:
        parts += [f"Rank correlation of memory and support over all replies: {found.memory_and_support:.2f}"]
    return "\n\n".join([*parts, *(f"- {fault}" for fault in found.faults)])


def _agreed(agreement: Agreement) -> tuple[str, str]:
    alpha, kappa = ("" if value is None else f"{value:.2f}" for value in (agreement.alpha, agreement.kappa))
    return alpha, kappa
