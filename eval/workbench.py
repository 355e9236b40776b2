"""The test bench: from an order (which benchmark, how) to a finished run; what the command and the tab both call."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from eval import benchmarks
from eval.benchmarks import Benchmark
from eval.experiment import Experiment
from eval.judging.judge import Judge, Spent
from eval.making.questions import graph_history
from eval.play.engines.processes import Progress, Stop, execute, open_tools
from eval.play.pooled import pool
from eval.play.replay import count
from eval.runs import Run, Runs, Spec, checksum, code_version, versions
from eval.settings import EvalSettings
from eval.types import History
from graph.models import chat_model
from graph.models.names import is_local
from graph.models.quantization import resolved
from memory.embedding.embedder import Embedder
from memory.errors import MemoirError

OWN = Path(__file__).parents[1] / "assets" / "benchmark"


class NoData(MemoirError):
    """The files of a benchmark are not on this machine."""


class NothingToJudge(MemoirError):
    """A run has no answers."""


@dataclass(frozen=True, slots=True)
class Order:
    """What to run.

    `afresh` begins anew where an unfinished run would be gone on with; `cold` computes every embedding.
    """

    benchmark: str
    data: Path | None = None
    experiment: Experiment = field(default_factory=Experiment)
    limit: int | None = None
    only: tuple[str, ...] = ()
    jobs: int = 1
    afresh: bool = False
    cold: bool = False

    @property
    def portion(self) -> str:
        """Which probes, in words."""
        parts = [f"the first {self.limit}" if self.limit is not None else "all"]
        return " ".join([*parts, *([f"of {', '.join(self.only)}"] if self.only else [])])


class Bench:
    """Runs benchmarks and keeps the runs; nothing here is about one benchmark."""

    def __init__(self, settings: EvalSettings) -> None:
        self.settings = settings
        self.runs = Runs(settings.home)

    @property
    def experiment(self) -> Experiment:
        """The settings of a chat, as the environment has them."""
        return Experiment(self.settings.pipeline(), embedding_model=self.settings.embedding_model)

    def data_of(self, benchmark: Benchmark, given: Path | None = None) -> Path:
        """Where a benchmark's files are: as given, in Memoir's folder, or in the folder that MEMOIR_DATA names.

        Raises:
            NoData: nowhere.
        """
        if given is not None:
            if not given.exists():
                raise NoData(f"{given} does not exist")
            return given
        named = {benchmark.name, benchmark.name.replace("-", "_"), benchmark.name.replace("-", "")}
        folders = [OWN] if benchmark.name == "memoir" else []
        for home in filter(None, [self.settings.home / "benchmarks", self.settings.data]):
            folders.extend(home / name for name in sorted(named))
        for folder in folders:
            if folder.is_dir() and any(folder.iterdir()):
                return folder
        raise NoData(
            f"the files of {benchmark.title} are not here. Name them with --data FILE, or get them with "
            f"`python -m eval fetch {benchmark.name}`. Looked in: {', '.join(map(str, folders))}"
        )

    def begin(self, order: Order) -> tuple[Run, int]:
        """The run that an order makes (or goes on with), and how many probes it has; nothing is asked yet.

        Raises:
            NoData: the files are not here.
            NoProbes: there is nothing to ask.
        """
        benchmark = _asked(order)
        path = self.data_of(benchmark, order.data)
        total = sum(count(history, order.experiment) for history in _histories(order, path))
        spec = Spec(
            benchmark.name,
            str(path),
            checksum(path),
            order.portion,
            _settled(order.experiment),
            code_version(),
            versions(),
        )
        return self.runs.begin(spec, afresh=order.afresh), total

    def go(
        self,
        order: Order,
        *,
        stop: Stop | None = None,
        watch: Callable[[Progress], None] = lambda progress: None,
        encoder: Embedder | None = None,
        begun: tuple[Run, int] | None = None,
    ) -> Run:
        """Carry an order out, from where it was broken off if it was; returns its run, finished unless stopped.

        Args:
            order: What to run.
            stop: Asked between probes.
            watch: Told after each.
            encoder: A loaded model to use, where one is at hand; all is then done in this process.
            begun: What `begin` gave for this order, if it was called before.

        Raises:
            RunIsBusy: the run that was begun is going on elsewhere.
        """
        run, total = begun or self.begin(order)
        found = _histories(order, Path(run.spec.data))
        with run.held(), self._cache(order) as cache:
            tools = open_tools(order.experiment, cache, encoder) if encoder is not None else None
            execute(
                run,
                found,
                order.experiment,
                cache,
                total=total,
                jobs=order.jobs,
                tools=tools,
                stop=stop,
                watch=watch,
            )
        return run

    @contextmanager
    def _cache(self, order: Order) -> Iterator[Path]:
        if not order.cold:
            yield self.settings.cache_path
            return
        with tempfile.TemporaryDirectory(prefix="memoir-cold-") as folder:
            yield Path(folder) / "embeddings.db"

    def judge(self, run: Run, model: str, watch: Callable[[int, int], None] = lambda done, total: None) -> Spent:
        """Let a chat model judge every answer of a run; its verdicts take the place of the rule's.

        What the judge leaves unscored stays unscored: it is reported, not counted as wrong.

        Raises:
            NothingToJudge: the run had no reader.
            UnknownModel: there is no chat model of that name.
        """
        if run.spec.settings.get("reader") == "none":
            raise NothingToJudge(f"{run.name} was run without a reader, so it has no answer to judge")
        judge = Judge(chat_model(model), model, self.settings.judgements_path)
        samples = run.samples()
        verdicts = {}
        for done, sample in enumerate(samples, start=1):
            verdicts[sample.probe.id] = judge.judge(sample.probe, sample.prediction)
            watch(done, len(samples))
        run.judged(verdicts)
        return judge.spent


def _settled(experiment: Experiment) -> dict[str, Any]:
    """The settings as they are on this machine: a local model reads otherwise in four bits than in sixteen."""
    settings = experiment.settings
    if is_local(experiment.pipeline.model):
        settings["quantization"] = resolved(experiment.pipeline.quantization)
    return settings


def _asked(order: Order) -> Benchmark:
    """The benchmark of an order, with its own questions or with those that its histories' relations give."""
    benchmark, seed = benchmarks.find(order.benchmark), order.experiment.seed
    if order.experiment.questions == "own":
        return benchmark
    return replace(benchmark, load=lambda path: (graph_history(history, seed) for history in benchmark.load(path)))


def _histories(order: Order, path: Path) -> Iterator[History]:
    """What an order plays: the histories of its file, or the one that they are pooled into."""
    read = partial(benchmarks.histories, _asked(order), path, limit=order.limit, only=order.only)
    return iter([pool(read)]) if order.experiment.pooled else read()
