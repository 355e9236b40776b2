"""The README's table of results: every benchmark whose files are here, as a chat would be set, in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tabulate import tabulate

from eval.benchmarks import find
from eval.evaluator import Evaluator, NoData, RunRequest
from eval.experiment import with_settings
from eval.play.execute import Progress
from eval.reporting.render import shown
from eval.reporting.report import Report, report
from eval.types import Figure
from memory.errors import MemoirError
from memory.search.scoring import FACTORS

BEGIN, END = "<!-- results: python -m eval results -->", "<!-- /results -->"


@dataclass(frozen=True, slots=True)
class Line:
    """One benchmark of the table: which edition of it, and the figures that its protocol puts first.

    `settings` are what differs from a chat's, `as_called` how the table calls that; `ability` is the one whose probes
    are looked at, if not all are.
    """

    benchmark: str
    metrics: tuple[str, ...]
    edition: str = ""
    settings: tuple[str, ...] = ()
    ability: str = ""
    as_called: str = ""

    @property
    def title(self) -> str:
        """How the table calls it."""
        return ", ".join(filter(None, [f"{self.benchmark} {self.edition}".strip(), self.ability, self.as_called]))

    def figures(self, held: Report) -> Mapping[str, Figure]:
        """The figures of the probes that are looked at."""
        return held.by["ability"].get(self.ability, {}) if self.ability else held.metrics


_ANSWERS = ("answer_accuracy", "token_recall", "containment", "abstention_f1", "false_refusal_rate")
_READ = ("token_recall", "containment")
_POOLED = ("session_recall@1", "session_recall_all@1", "session_recall@5", "session_recall_all@5")
_TEMPORAL = ("session_recall_all@5", "turn_recall@10", "token_recall")
_UNTIMED = ("time_filter=False",)
_BM25 = (
    "learner=none",
    *(f"search.{name}=0" for name in ("dense_weight", *FACTORS)),
)
_RANKING = ("session_recall@5", "session_recall_all@5", "session_recall@10", "session_recall_all@10", "turn_recall@10")

LINES = (
    Line("memoir", (*_RANKING, *_ANSWERS)),
    Line("longmemeval", (*_RANKING, "turn_recall_all@10", *_ANSWERS)),
    Line("locomo", (*_RANKING, *_ANSWERS)),
    Line("locomo", _READ, ability="single-hop"),
    Line("longmemeval", _POOLED, settings=("pooled=True", "reader=none"), as_called="pooled"),
    Line("longmemeval", _POOLED, settings=("pooled=True", "reader=none", *_BM25), as_called="pooled, BM25 alone"),
    Line("longmemeval", _TEMPORAL, ability="temporal-reasoning"),
    Line("longmemeval", _TEMPORAL, settings=_UNTIMED, ability="temporal-reasoning", as_called="time off"),
    Line("locomo", _TEMPORAL, ability="temporal"),
    Line("locomo", _TEMPORAL, settings=_UNTIMED, ability="temporal", as_called="time off"),
    Line(
        "perltqa",
        (
            "classification_accuracy",
            "classification_f1",
            "recall@1",
            "recall@5",
            "anchor_map",
            "anchor_ceiling",
            "token_recall",
        ),
    ),
    Line("madial-bench", (*(f"geometric_mean@{k}" for k in (1, 3, 5, 10)), "brought_up", "brought_up_precision"), "en"),
    Line("madial-bench", tuple(f"geometric_mean@{k}" for k in (1, 3, 5, 10)), "ch"),
    Line("dialsim", ("choice_accuracy", "session_recall@5", *_ANSWERS[2:])),
)
"""Chinese is there to be seen: the packaged embedding model has learned English."""

HEADER = ("benchmark", "metric", "value [95 %]", "n")


def measure(evaluator: Evaluator, jobs: int, watch: Callable[[str, Progress], None]) -> list[tuple[str, Line, Report]]:
    """Run every benchmark whose files are here; the others are passed over.

    Raises:
        NoData: no files at all, not even Memoir's own.
    """
    done = []
    ran: dict[tuple[str, Path, tuple[str, ...]], Report] = {}
    for line in LINES:
        try:
            path = evaluator.data_of(find(line.benchmark))
        except NoData:
            continue
        path = path / line.edition if (path / line.edition).is_dir() else path
        order = RunRequest(line.benchmark, path, with_settings(evaluator.experiment, list(line.settings)), jobs=jobs)
        asked = (line.benchmark, path, line.settings)
        if asked not in ran:
            ran[asked] = report(evaluator.run(order, watch=partial(watch, line.title)))
        done.append((line.title, line, ran[asked]))
    if not done:
        raise NoData("no benchmark's files are here")
    return done


def to_markdown(done: Iterable[tuple[str, Line, Report]]) -> str:
    """The table, headed by where and when it was measured."""
    done = list(done)
    about = done[0][2]
    rows = [
        (title if n == 0 else "", name, shown(figures[name]), figures[name].n)
        for title, line, held in done
        for figures in [line.figures(held)]
        for n, name in enumerate(name for name in line.metrics if name in figures)
    ]
    portions = "; ".join(
        f"{title}: {held.n} probes of {held.histories} histories"
        for title, line, held in done
        if not line.settings and not line.ability
    )
    return (
        f"{about.machine}, {about.date}, code {about.code}; settings as a chat has them, no language model. {portions}."
        "\n\n" + tabulate(rows, HEADER, tablefmt="github", disable_numparse=True)
    )


def write_into(readme: Path, table: str, begin_mark: str = BEGIN, end_mark: str = END) -> None:
    """Put the table between its two marks in a file.

    Raises:
        MemoirError: the marks are not there; nothing was changed.
    """
    text = readme.read_text("utf-8")
    before, begin, rest = text.partition(begin_mark)
    _, end, after = rest.partition(end_mark)
    if not begin or not end:
        raise MemoirError(f"{readme} has no place for the table: {begin_mark} and {end_mark} on lines of their own")
    readme.write_text(f"{before}{begin_mark}\n\n{table}\n\n{end_mark}{after}", "utf-8")
