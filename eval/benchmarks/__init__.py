"""Benchmarks: everything about one stands in its folder, and `BENCHMARKS` lists them with their scoring.

An adapter translates a benchmark's files into histories and probes and does nothing else: no metrics, no model, no
network. What is remembered comes from the same importer that reads a user's own file. Beside it lie the tables of the
paper as presets (`tables.toml`), the criteria of a judge, and the figures that others published.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product, zip_longest
from pathlib import Path
from types import ModuleType
from typing import Any

from eval.benchmarks.beam import adapter as beam
from eval.benchmarks.dialsim import adapter as dialsim
from eval.benchmarks.dialsim.metrics import official_scores as dialsim_scores
from eval.benchmarks.locomo import adapter as locomo
from eval.benchmarks.locomo.metrics import official_scores as locomo_scores
from eval.benchmarks.longmemeval import adapter as longmemeval
from eval.benchmarks.longmemeval.metrics import official_scores as longmemeval_scores
from eval.benchmarks.madial import adapter as madial
from eval.benchmarks.madial.metrics import REPLY_METRICS, ndcg_madial
from eval.benchmarks.memoir import adapter as memoir
from eval.benchmarks.perltqa import adapter as perltqa
from eval.metrics.evidence import Scoring
from eval.runs.experiment import Experiment, with_settings
from eval.types import History
from graph.models.registry import is_named
from memory import read_table
from memory.errors import MemoirError
from memory.search.scoring import FACTORS

_NAMES = read_table(__file__, "names.toml")
NEEDS: Mapping[str, str] = _NAMES["needs"]
"""What a row needs, by the names that tables.toml has for it."""

BY_SESSION = Scoring("sessions")
"""How most benchmarks are scored: what is found is sessions."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: its settings as "name=value", and what it `needs` beside them."""

    label: str
    settings: tuple[str, ...] = ()
    needs: str = ""

    def runs_with(self, model: str, trained_classifier: str = "") -> bool:
        """Whether it can be run with this chat model, and with the classifier in this folder."""
        if self.needs == NEEDS["TRAINED"]:
            return bool(trained_classifier)
        by_model = [NEEDS[name] for name in ("READER", "CLASSIFIER", "TIME_READER")]
        return not self.needs or (self.needs in by_model and is_named(model))


@dataclass(frozen=True, slots=True)
class Preset:
    """A table of a paper as experiments: its rows, and the figures that it shows.

    A row is what differs between the lines of the table, not the models its authors ran: every row uses the embedding
    model and the chat model that are set, unless it names another. A row that needs something Memoir lacks is listed
    with what it needs and not run.

    `ability` names the part of the benchmark that the table is about, where it is not the whole: the rows are run on
    the whole, and the figures are read off the report by ability. `by` is the axis of the report ("kind") by which the
    table has its figures. `remark` says how all rows differ from the paper.
    """

    name: str
    title: str
    benchmark: str
    source: str
    metrics: tuple[str, ...]
    rows: tuple[Row, ...]
    ability: str = ""
    remark: str = ""
    by: str = ""

    def experiments(self, base: Experiment) -> tuple[dict[str, Experiment], list[Row]]:
        """The rows that can be run with the models of an experiment, each changed as its row says, and the others."""
        model, trained = base.pipeline.model, base.trained_classifier
        can_run = [row for row in self.rows if row.runs_with(model, trained)]
        changed = {row.label: with_settings(base, list(row.settings)) for row in can_run}
        return changed, [row for row in self.rows if row not in can_run]


@dataclass(frozen=True, slots=True)
class Published:
    """One figure that others published, as a fraction of 1.

    `metric` is our name for it and `n` the number of questions, where known. `conditions` says which portion and which
    models it was measured with, and so what limits the comparison. A `source` that was not read itself ends in "figure
    as Memoir's design notes give it".
    """

    benchmark: str
    metric: str
    value: float
    n: int | None
    system: str
    conditions: str
    source: str


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark: how it is read and scored, also by a judge, its tables, and what others published on it.

    `load_as_authors` reads the questions as the authors' program asks them, where that differs. `criteria` are what a
    judge scores an answer by, from 0 to 1, each with what the scores mean.
    """

    name: str
    title: str
    about: str
    load: Callable[[Path], Iterator[History]]
    scoring: Scoring
    presets: tuple[Preset, ...] = ()
    published_figures: tuple[Published, ...] = ()
    criteria: Mapping[str, str] = field(default_factory=dict, hash=False)
    load_as_authors: Callable[[Path], Iterator[History]] | None = None

    def published(self, metrics: Iterable[str]) -> tuple[Published, ...]:
        """The published figures of these metrics."""
        wanted = frozenset(metrics)
        return tuple(figure for figure in self.published_figures if figure.metric in wanted)


def declare(
    name: str, adapter: ModuleType, scoring: Scoring = BY_SESSION, *, title: str = "", asks_as_authors: bool = False
) -> Benchmark:
    """A benchmark with what lies beside its adapter: tables of its paper, criteria of a judge, and published figures.

    `asks_as_authors` says whether its adapter can also load it as its authors ask it.

    `tables.toml`: a row is a list of its label, its settings, and what it needs, by a name of `NEEDS` or in words. A
    table has the rows of its `product`, each made of one of each list, and the other `rows`; its `settings` belong to
    all of them. A name among settings or metrics stands for those that `names.toml` or the file give it; of two
    settings of one name, the later is taken. "recall@1,5" is "recall@1" and "recall@5". Remarks may quote the file's
    `texts`. `published.json` groups figures by system and conditions.
    """
    folder = Path(str(adapter.__file__)).parent
    published = folder / "published.json"
    file: dict[str, Any] = {"tables": {}, "names": {}, "texts": {}, "remark": "", "criteria": {}}
    if (folder / "tables.toml").exists():
        file |= read_table(str(adapter.__file__), "tables.toml")
    return Benchmark(
        name,
        title or adapter.TITLE,
        _NAMES["about"][name],
        adapter.load,
        scoring,
        tuple(_tables(name, file)),
        tuple(
            Published(name, metric, value, run["n"], run["system"], run["conditions"], run["source"])
            for run in (json.loads(published.read_text("utf-8")) if published.exists() else ())
            for metric, value in run["values"].items()
        ),
        file["criteria"],
        partial(adapter.load, as_authors=True) if asks_as_authors else None,
    )


def _tables(benchmark: str, file: Mapping[str, Any]) -> Iterator[Preset]:
    names = read_names(file["names"])
    for name, table in file["tables"].items():
        yield Preset(
            name,
            table["title"],
            benchmark,
            ", ".join(filter(None, [file["paper"], table.get("source")])),
            tuple(expand(table["metrics"], names)),
            tuple(_rows(table, names)),
            table.get("ability", ""),
            table.get("remark", file["remark"]).format(**file["texts"]),
            table.get("by", ""),
        )


def _rows(table: Mapping[str, Any], names: Mapping[str, Sequence[str]]) -> Iterator[Row]:
    rows: list[list[str]] = []
    for parts in product(*table.get("product", [[]])):
        labels, settings, *needs = zip_longest(*parts, fillvalue="")
        rows.append([table.get("label", "{}, {}").format(*labels), " ".join(settings), *map("".join, needs)])
    for label, settings, *needs in [*rows, *table.get("rows", ())]:
        every = expand(f"{table.get('settings', '')} {settings}", names)
        chosen = {setting.partition("=")[0]: setting for setting in every}
        yield Row(label, tuple(chosen.values()), *map(_need, needs))


def _need(text: str) -> str:
    name, _, model = text.partition(" ")
    return NEEDS[name].format(model) if name in NEEDS else text


def expand(text: str, names: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The words of a text, with what a name stands for in its place, and "recall@1,5" as "recall@1" and "recall@5"."""
    for word in text.split():
        metric, at, cutoffs = word.partition("@")
        yield from names.get(word, [f"{metric}{at}{k}" for k in cutoffs.split(",")])


def read_names(texts: Mapping[str, str]) -> dict[str, Sequence[str]]:
    """What names stand for: those of names.toml, and these, each of which may use those before it."""
    names: dict[str, Sequence[str]] = {"NO_FACTORS": tuple(f"search.{name}=0" for name in FACTORS)}
    for name, text in (_NAMES["settings"] | texts).items():
        names[name] = tuple(expand(text, names))
    return names


_ALL = (
    declare("memoir", memoir),
    declare("conversations", memoir, title="Everyday conversations"),
    declare(
        "longmemeval", longmemeval, Scoring("sessions", (1, 3, 5, 10, 30, 50), official_ranking=longmemeval_scores)
    ),
    declare("locomo", locomo, Scoring("sessions", official_answer=locomo_scores), asks_as_authors=True),
    declare("perltqa", perltqa, Scoring("items", (1, 2, 3, 5, 10), summed_up_ndcg=ndcg_madial)),
    declare(
        "madial-bench",
        madial,
        Scoring("items", official_ndcg=ndcg_madial, summed_up_ndcg=ndcg_madial, text_metrics=REPLY_METRICS),
        asks_as_authors=True,
    ),
    declare("dialsim", dialsim, Scoring("sessions", official_answer=dialsim_scores)),
    declare("beam", beam),
)
BENCHMARKS: Mapping[str, Benchmark] = {benchmark.name: benchmark for benchmark in _ALL}

PRESETS: Mapping[str, Preset] = {preset.name: preset for benchmark in _ALL for preset in benchmark.presets}
"""Every table that can be run, by name."""


def find(name: str) -> Benchmark:
    """Return the benchmark of that name; raises `MemoirError` for none."""
    if name not in BENCHMARKS:
        raise MemoirError(f"there is no benchmark {name!r}; there are: {', '.join(BENCHMARKS)}")
    return BENCHMARKS[name]
