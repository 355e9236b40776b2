"""What a benchmark's folder declares: how it is read and scored, its tables as presets, and its published figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from eval.metrics.scores import Scoring
from eval.types import History
from graph.models.names import is_named

READER = "a chat model as reader (model=NAME)"
CLASSIFIER = "a chat model as classifier (model=NAME)"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: its settings as "name=value", and what it `needs` beside them."""

    label: str
    settings: tuple[str, ...] = ()
    needs: str = ""

    def runs_with(self, model: str) -> bool:
        """Whether it can be run with this chat model."""
        return not self.needs or (self.needs in (READER, CLASSIFIER) and is_named(model))


@dataclass(frozen=True, slots=True)
class Preset:
    """A table of a paper as experiments: its rows, and the figures that it shows.

    A row is what differs between the lines of the table, not the models its authors ran: every row uses the embedding
    model and the chat model that are set, unless it names another. A row that needs something Memoir lacks is listed
    with what it needs and not run.

    `ability` names the part of the benchmark that the table is about, where it is not the whole: the rows are run on
    the whole, and the figures are read off the report by ability. `remark` says how all rows differ from the paper.
    """

    name: str
    title: str
    benchmark: str
    source: str
    metrics: tuple[str, ...]
    rows: tuple[Row, ...]
    ability: str = ""
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Published:
    """One figure that others published, as a fraction of 1.

    `metric` is our name for it and `n` the number of questions, where known. `conditions` says which portion and which
    models it was measured with, and so what limits the comparison.
    """

    benchmark: str
    metric: str
    value: float
    n: int | None
    system: str
    conditions: str
    source: str


@dataclass(frozen=True, slots=True)
class PublishedRun:
    """Figures that were published together: all of one system under the same conditions.

    A `source` that was not read itself ends in "figure as Memoir's design notes give it".
    """

    system: str
    conditions: str
    source: str
    n: int | None
    values: Mapping[str, float]

    def figures(self, benchmark: str) -> Iterator[Published]:
        """Each figure with the conditions of the run."""
        for metric, value in self.values.items():
            yield Published(benchmark, metric, value, self.n, self.system, self.conditions, self.source)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark: how it is read and scored, its tables, and what others published on it."""

    name: str
    title: str
    about: str
    load: Callable[[Path], Iterator[History]]
    scoring: Scoring
    presets: tuple[Preset, ...] = ()
    published_runs: tuple[PublishedRun, ...] = ()

    def published(self, metrics: Iterable[str]) -> tuple[Published, ...]:
        """The published figures of these metrics."""
        wanted = frozenset(metrics)
        figures = (figure for run in self.published_runs for figure in run.figures(self.name))
        return tuple(figure for figure in figures if figure.metric in wanted)


def load_published(file: Path) -> tuple[PublishedRun, ...]:
    """Load the published figures of a benchmark from its JSON file."""
    return tuple(PublishedRun(**run) for run in json.loads(file.read_text("utf-8")))


def at_cutoffs(metrics: Iterable[str], cutoffs: Iterable[int]) -> tuple[str, ...]:
    """The names of metrics at each cut-off: at_cutoffs(["recall"], (1, 5)) is ("recall@1", "recall@5")."""
    cuts = tuple(cutoffs)
    return tuple(f"{metric}@{k}" for metric in metrics for k in cuts)
