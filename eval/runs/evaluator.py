"""Run a benchmark as requested, and judge a finished run: what the command line and the Evaluate tab both call."""

import tempfile
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

from eval import benchmarks
from eval.benchmarks import Benchmark
from eval.judging.judge import Judge, Spent
from eval.making.questions import graph_history
from eval.play.engines.ray_cluster import RayCluster, require_ray
from eval.play.engines.schedule import Engine, Processes, Schedule
from eval.play.models import load_models, read_record
from eval.play.replay import Outcome, Replay, count_asked, pool, replay
from eval.play.systems import registry
from eval.runs.experiment import FOLDERS, Experiment, RunRequest, in_half, in_sample
from eval.runs.run import HistoryCosts, Run, Runs, Spec, checksum, code_version, memories_read, versions
from eval.settings import EvalSettings
from eval.types import TEST, History, Watch
from graph.models.local_model import runs_on_cpu
from graph.models.registry import chat_model, is_local, is_named, resolve_quantization
from memory.embedding.embedder import Embedder
from memory.errors import MemoirError

ASSETS = Path(__file__).parents[2] / "assets"
OWN_FILES = {"memoir": ASSETS / "benchmark", "conversations": ASSETS / "conversations" / "reported"}
"""The files of the benchmarks that come with Memoir."""

ENGINES: Mapping[str, Callable[[Sequence[Experiment], Path, int], Engine]] = {"local": Processes, "ray": RayCluster}
"""Where histories are replayed: in processes of this machine, or on the nodes of a Ray cluster."""


class NoData(MemoirError):
    """The files of a benchmark are not on this machine."""


class Evaluator:
    """Runs any benchmark and keeps the runs in the user's folder."""

    def __init__(self, settings: EvalSettings) -> None:
        self.settings = settings
        self.runs = Runs(settings.home)

    @property
    def experiment(self) -> Experiment:
        """The settings a chat would have in this environment.

        A chat model learns only if it is asked to. Where a run begins, it is also settled how it reads (`resolved`).
        """
        pipeline = self.settings.pipeline()
        pipeline = replace(pipeline, learner="rules") if pipeline.learner == "auto" else pipeline
        return Experiment(pipeline, embedding_model=self.settings.embedding_model)

    def data_of(self, benchmark: Benchmark, given: Path | None = None) -> Path:
        """Find a benchmark's files: as given, in Memoir's folder, or in MEMOIR_DATA; raises `NoData` if in none."""
        if given is not None:
            if not given.exists():
                raise NoData(f"{given} does not exist")
            return given
        named = {benchmark.name, benchmark.name.replace("-", "_"), benchmark.name.replace("-", "")}
        folders = [OWN_FILES[benchmark.name]] if benchmark.name in OWN_FILES else []
        for home in filter(None, [self.settings.home / "benchmarks", self.settings.data]):
            folders.extend(home / name for name in sorted(named))
        for folder in folders:
            if folder.is_dir() and any(folder.iterdir()):
                return folder
        raise NoData(
            f"the files of {benchmark.title} were not found. Name them with --data FILE, or download them with "
            f"`python -m eval fetch {benchmark.name}`. Looked in: {', '.join(map(str, folders))}"
        )

    def path_of(self, request: RunRequest) -> Path:
        """The file or folder that a request reads; raises `NoData` if the files were not found."""
        benchmark = benchmarks.find(request.benchmark)
        path = self.data_of(benchmark, request.data)
        of_halves = FOLDERS.get(benchmark.name, {})
        return path.with_name(of_halves[request.half]) if request.half in of_halves else path

    def histories(self, request: RunRequest) -> Iterator[History]:
        """Read the histories of a request, or pool them into one; with what a run found, the probes that it asked.

        Raises `NoData` if the files were not found and `MemoirError` if there is nothing to ask.
        """
        benchmark, path = benchmarks.find(request.benchmark), self.path_of(request)
        read = partial(_read, benchmark, request, path)
        played = iter([pool(read)]) if request.experiment.pooled else read()
        if not (folder := request.experiment.found_by):
            return played
        asked = memories_read(folder)
        left = (replace(each, probes=tuple(p for p in each.probes if (each.id, p.id) in asked)) for each in played)
        return (history for history in left if history.probes)

    def run(self, request: RunRequest, **how: Any) -> Run:  # noqa: ANN401  # as `run_together` takes it
        """Run one request; returns its run, finished unless stopped."""
        return self.run_together([request], **how)[0]

    def run_together(
        self,
        requests: Sequence[RunRequest],
        *,
        began: Callable[[list[Run], int], None] = lambda runs, total: None,
        stop: Event | None = None,
        watch: Watch = lambda history, done, total: None,
        encoder: Embedder | None = None,
    ) -> list[Run]:
        """Run requests that differ in ranking and reading only, resuming unfinished runs; returns their runs.

        Each history is read and stored once and then asked by every request (`Experiment.storing` is equal). `began`
        is called with the runs and the probes of each, `stop` is checked between probes and `watch` called after each.
        With an `encoder`, a loaded embedding model, everything runs in this process. Raises `NoData` and `MemoirError`
        as `histories` does, and `RunIsBusy` if another process is working on the same run.
        """
        first, requests = requests[0], [replace(each, experiment=resolved(each.experiment)) for each in requests]
        if first.engine == "ray":
            require_ray()
        total = sum(count_asked(history, first.experiment) for history in self.histories(first))
        path = self.path_of(first)
        data = checksum(path)
        rows: dict[str, tuple[Run, RunRequest]] = {}
        runs = []
        for request in requests:
            experiment = request.experiment
            settings, packages = _recorded_settings(experiment), versions() | registry.versions(experiment.system)
            spec = Spec(request.benchmark, str(path), data, request.portion, settings, code_version(), packages)
            runs.append(self.runs.resume_or_create(spec, afresh=request.afresh))
            rows[runs[-1].name] = runs[-1], request
        began(runs, total)
        with ExitStack() as stack:
            for run, _ in rows.values():
                stack.enter_context(run.lock())
            cache = self.settings.cache_path
            if first.cold:
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="memoir-cold-"))
                cache = Path(folder) / "embeddings.db"
            execute(list(rows.values()), self.histories(first), cache, total, encoder, stop or Event(), watch)
        return runs

    def run_rows(self, rows: Mapping[str, RunRequest], watch: Watch) -> dict[str, Run]:
        """Run the rows of a table, those together that store the same; returns the run of each, in their order."""
        done: dict[str, Run] = {}
        groups: defaultdict[Experiment, dict[str, RunRequest]] = defaultdict(dict)
        for label, request in rows.items():
            groups[request.experiment.storing][label] = request
        for together in groups.values():
            n = len(together)
            labelled = with_label(watch, next(iter(together)) + (f", and {n - 1} more" if n > 1 else ""))

            def began(runs: list[Run], total: int, watch: Watch = labelled) -> None:
                watch("", 0, total * len(runs))

            runs = self.run_together(list(together.values()), began=began, watch=labelled)
            done |= zip(together, runs, strict=True)
        return {label: done[label] for label in rows}

    def judge(self, run: Run, model: str, watch: Callable[[int, int], None] = lambda done, total: None) -> Spent:
        """Let a chat model judge every answer of a run; its verdicts replace those of the rule.

        It scores them by the benchmark's criteria, too, where it has any. A reply of the judge that cannot be read
        counts as wrong, or gives no score; the report says how many there were. Raises `MemoirError` if the run was
        made without a reader, and `UnknownModel` if there is no such chat model.
        """
        if not run.has_reader:
            raise MemoirError(f"{run.name} was run without a reader, so it has no answer to judge")
        criteria = benchmarks.find(run.spec.benchmark).criteria
        judge = Judge(chat_model(model), model, self.settings.judgements_path, criteria)
        samples = run.samples()
        verdicts = {}
        for done, sample in enumerate(samples, start=1):
            verdicts[sample.key] = judge.judge(sample.probe, sample.prediction)
            watch(done, len(samples))
        run.save_verdicts(verdicts)
        return judge.spent


def execute(
    rows: Sequence[tuple[Run, RunRequest]],
    histories: Iterable[History],
    cache: Path,
    total: int,
    encoder: Embedder | None,
    stop: Event,
    watch: Watch,
) -> None:
    """Replay what the runs have not answered yet, and append each sample to its run as it comes.

    Their requests store the same (`Experiment.storing`), and each history is stored once for all of them.
    `histories` are read as needed, so that not all of them need to fit in memory. `cache` is the file of embeddings,
    `total` the number of all probes of a run. Answers depend neither on jobs nor on the engine: one process replays a
    history from start to end. With an `encoder`, a loaded embedding model, that is this one. `stop` is checked between
    probes, and `watch` called after each with its history, the probes answered and those known so far.
    """
    runs, experiments, how = [run for run, _ in rows], [request.experiment for _, request in rows], rows[0][1]
    answered = [run.answered() for run in runs]
    finished = [{c.history for c in run.costs()} for run in runs]
    done, one = sum(map(len, answered)), experiments[0]

    def task_of(history: History) -> Replay | None:
        """What is left to ask of a history; a simulation starts over, since it draws its probes from all of them."""
        left = {
            row: tuple(p for p in history.probes if history.is_simulated or (history.id, p.id) not in answered[row])
            for row, histories_done in enumerate(finished)
            if history.id not in histories_done
        }
        return Replay(history, left) if left else None

    def replay_here() -> Generator[tuple[int, Outcome]]:
        models, tasks = load_models(one, cache, encoder), filter(None, map(task_of, histories))
        outcomes = (each for task in tasks for each in replay(task, experiments, models))
        while not stop.is_set() and (outcome := next(outcomes, None)):
            yield outcome

    # A pool is one history and reads its file as it goes; a system at an address keeps one history at a time; a local
    # chat model in every process would fill the memory.
    is_single = one.pooled or one.system.startswith(registry.ADDRESS)
    is_here = how.engine == "local" and (how.jobs == 1 or is_local(one.pipeline.model))
    if encoder is not None or is_single or is_here:
        outcomes = replay_here()
    else:
        engine = ENGINES[how.engine](experiments, cache, how.jobs)
        outcomes = Schedule(engine, histories, task_of).outcomes(how.jobs, stop)
    with closing(outcomes):  # ends the processes, also when this one fails
        for row, outcome in outcomes:
            if isinstance(outcome, HistoryCosts):
                finished[row].add(outcome.history)
                runs[row].append(outcome)
                continue
            if outcome.key not in answered[row]:
                answered[row].add(outcome.key)
                runs[row].append(outcome)
                done += 1
            watch(outcome.prediction.history_id, done, max(total * len(runs), done))
    if not stop.is_set():
        for run in runs:
            run.mark_done()


def with_label(watch: Watch, label: str) -> Watch:
    """Show the progress of a run under a label."""
    return lambda history, done, total: watch(label, done, total)


def _recorded_settings(experiment: Experiment) -> dict[str, Any]:
    """The settings of a run, with the weights in the classifier's folder, since that may be trained again."""
    settings = experiment.settings
    if experiment.trained_classifier:
        folder = Path(experiment.trained_classifier)
        read_record(folder)
        settings["trained_classifier"] = f"{folder}, SHA-256 {checksum(folder)[:16]}"
    return settings


def resolved(experiment: Experiment) -> Experiment:
    """Name what "auto" stands for on this machine, so that every worker does what the run records.

    Four bits give other answers than sixteen. A chat model reads by notes ("con"), or "direct" where it runs on this
    CPU, since notes take minutes there; no reply is checked then. With another method, replies to statements are
    checked as in a chat: unless the model runs on this CPU.
    """
    pipeline = experiment.pipeline
    if pipeline.model.startswith("hf:"):
        pipeline = replace(pipeline, quantization=resolve_quantization(pipeline.quantization))
    if pipeline.reader == "auto" and is_named(pipeline.model):
        is_slow = runs_on_cpu(chat_model(pipeline.model, quantization=pipeline.quantization))
        if pipeline.method == "auto":
            pipeline = replace(pipeline, method="direct" if is_slow else "con", check="none")
        elif pipeline.check == "auto":
            pipeline = replace(pipeline, check="none" if is_slow else "model")
    return replace(experiment, pipeline=pipeline)


def _read(benchmark: Benchmark, request: RunRequest, path: Path) -> Iterator[History]:
    """Read the histories of a request that have probes, with those of its sample or the first `limit` of them all.

    Raises `MemoirError` if there is nothing to ask, and `UnreadableFile` if it is not a file of this benchmark.
    """
    read, left, is_empty = partial(_read_all, benchmark, request, path), request.limit, True
    for history in in_sample(read, request.sample) if request.sample else read():
        asked = replace(history, probes=history.probes[:left])
        if not asked.probes:
            continue
        is_empty = False
        yield asked
        if left is not None and (left := left - len(asked.probes)) == 0:
            return
    if is_empty:
        where = f" in {', '.join(request.only)}" if request.only else ""
        raise MemoirError(f"{path}, read as {benchmark.title}, has no question that can be asked{where}")


def _read_all(benchmark: Benchmark, request: RunRequest, path: Path) -> Iterator[History]:
    """Read the histories of a request: with the benchmark's own questions or those made from their relations."""
    questions = request.experiment.questions
    load = benchmark.load_as_authors if questions == "authors" else benchmark.load
    if load is None:
        raise MemoirError(f"questions=authors: {benchmark.title} is asked as by its authors already")
    histories = load(path)
    if questions == "graph":
        histories = (graph_history(history, request.experiment.seed) for history in histories)
    elif questions == "test":
        histories = (replace(h, probes=tuple(p for p in h.probes if TEST in p.populations)) for h in histories)
    chosen = in_half(benchmark.name, histories, request.half) if request.half else histories
    return (history for history in chosen if not request.only or history.id in request.only)
