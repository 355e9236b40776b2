"""What a benchmark's folder declares: how it is read and scored, its tables as presets, and its published figures."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from eval.metrics.evidence import Scoring
from eval.types import Criterion, History
from graph.models.registry import is_named
from memory.search.scoring import FACTORS

READER = "a chat model as reader (model=NAME)"
CLASSIFIER = "a chat model as classifier (model=NAME)"
TIME_READER = "a chat model that reads times (model=NAME)"
TRAINED = (
    "BERT-base trained on the benchmark's own questions (trained_classifier=FOLDER, which `python -m eval train "
    "perltqa --base NAME --out FOLDER` makes)"
)

ALONE = (
    "learner=none",
    "classifier=none",
    "views=off",
    "search.voice=off",
    *(f"search.{name}=0" for name in FACTORS),
)
"""One retriever and nothing else: the papers' systems have none of Memoir's other factors."""

BM25 = (*ALONE, "time_filter=off", "search.dense_weight=0")
"""What every table means by BM25, or BM25 alone."""

DENSE = (*ALONE, "time_filter=off", "search.dense_weight=1")
HYBRID = (*ALONE, "time_filter=off", "search.dense_weight=0.5")

EXTRACTIVE, BY_MODEL = "reader=extractive", "reader=auto"


def weights(model: str, rows: str = "the row “embeddings”") -> str:
    """What a table needs for a retriever by an embedding `model` that does not come with Memoir."""
    return (
        f"the weights of {model}: run `MEMOIR_EMBEDDING_MODEL={model} python -m graph.training.classifier`, then "
        f"{rows} with --set embedding_model={model}"
    )


def foreign_code(model: str) -> str:
    """What a table lacks for a retriever whose weights come with Python code to be run."""
    return f"the weights of {model}, which come with code of their own; Memoir does not run such code"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: its settings as "name=value", and what it `needs` beside them."""

    label: str
    settings: tuple[str, ...] = ()
    needs: str = ""

    def runs_with(self, model: str, trained_classifier: str = "") -> bool:
        """Whether it can be run with this chat model, and with the classifier in this folder."""
        if self.needs == TRAINED:
            return bool(trained_classifier)
        return not self.needs or (self.needs in (READER, CLASSIFIER, TIME_READER) and is_named(model))


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
    """A benchmark: how it is read and scored, also by a judge, its tables, and what others published on it."""

    name: str
    title: str
    about: str
    load: Callable[[Path], Iterator[History]]
    scoring: Scoring
    presets: tuple[Preset, ...] = ()
    published_figures: tuple[Published, ...] = ()
    criteria: tuple[Criterion, ...] = ()

    def published(self, metrics: Iterable[str]) -> tuple[Published, ...]:
        """The published figures of these metrics."""
        wanted = frozenset(metrics)
        return tuple(figure for figure in self.published_figures if figure.metric in wanted)


def load_published(benchmark: str, folder: str = "") -> tuple[Published, ...]:
    """Load the published figures of a benchmark from its folder; the file groups them by system and conditions."""
    file = Path(__file__).with_name(folder or benchmark) / "published.json"
    return tuple(
        Published(benchmark, metric, value, run["n"], run["system"], run["conditions"], run["source"])
        for run in json.loads(file.read_text("utf-8"))
        for metric, value in run["values"].items()
    )


def at_cutoffs(metrics: Iterable[str], cutoffs: Sequence[int]) -> tuple[str, ...]:
    """The names of metrics at each cut-off: at_cutoffs(["recall"], (1, 5)) is ("recall@1", "recall@5")."""
    return tuple(f"{metric}@{k}" for metric in metrics for k in cutoffs)
