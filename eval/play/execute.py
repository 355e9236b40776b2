"""Replay many histories and append each answer to its run as it comes."""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from itertools import takewhile
from pathlib import Path
from threading import Event

from eval.play.engines.ray_cluster import RayCluster
from eval.play.engines.schedule import Engine, Processes, Schedule
from eval.play.models import load_models
from eval.play.replay import Outcome, Replay, replay
from eval.play.systems import registry
from eval.runs.experiment import Experiment, RunRequest
from eval.runs.run import HistoryCosts, Run
from eval.types import History, Watch
from graph.models.registry import is_local
from memory.embedding.embedder import Embedder

ENGINES: Mapping[str, Callable[[Sequence[Experiment], Path, int], Engine]] = {"local": Processes, "ray": RayCluster}
"""Where histories are replayed: in processes of this machine, or on the nodes of a Ray cluster."""


def with_label(watch: Watch, label: str) -> Watch:
    """Show the progress of a run under a label."""
    return lambda history, done, total: watch(label, done, total)


def execute(
    rows: Sequence[tuple[Run, RunRequest]],
    histories: Iterable[History],
    cache: Path,
    *,
    total: int,
    encoder: Embedder | None = None,
    stop: Event | None = None,
    watch: Watch = lambda history, done, total: None,
) -> None:
    """Replay what the runs have not answered yet, and append each sample to its run.

    Their requests store the same (`Experiment.storing`), and each history is stored once for all of them.
    `histories` are read as needed, so that not all of them need to fit in memory. `cache` is the file of embeddings,
    `total` the number of all probes of a run. Answers depend neither on jobs nor on the engine: one process replays a
    history from start to end. With an `encoder`, a loaded embedding model, that is this one. `stop` is checked between
    probes, and `watch` called after each with its history, the probes answered and those known so far.
    """
    runs, experiments, how = [run for run, _ in rows], [request.experiment for _, request in rows], rows[0][1]
    answered = [run.answered() for run in runs]
    finished = [{c.history for c in run.costs()} for run in runs]
    done = sum(map(len, answered))
    stopped, one = stop or Event(), experiments[0]

    def task_of(history: History) -> Replay | None:
        """What is left to ask of a history; a simulation starts over, since it draws its probes from all of them."""
        left = {
            row: tuple(p for p in history.probes if history.is_simulated or (history.id, p.id) not in answered[row])
            for row, histories_done in enumerate(finished)
            if history.id not in histories_done
        }
        return Replay(history, left) if left else None

    # A pool is one history and reads its file as it goes; a system at an address keeps one history at a time; a local
    # chat model in every process would fill the memory.
    is_single = one.pooled or one.system.startswith(registry.ADDRESS)
    is_here = how.engine == "local" and (how.jobs == 1 or is_local(one.pipeline.model))
    outcomes: Generator[tuple[int, Outcome]]
    if encoder is not None or is_single or is_here:
        used = load_models(one, cache, encoder)
        tasks = takewhile(lambda task: not stopped.is_set(), filter(None, map(task_of, histories)))
        outcomes = (each for task in tasks for each in replay(task, experiments, used, stopped))
    else:
        schedule = Schedule(ENGINES[how.engine](experiments, cache, how.jobs), histories, task_of)
        outcomes = schedule.outcomes(how.jobs, stopped)
    with closing(outcomes):  # ends the processes, also when this one fails
        for row, outcome in outcomes:
            if isinstance(outcome, HistoryCosts):
                finished[row].add(outcome.history)
                runs[row].append_costs(outcome)
                continue
            key = (outcome.prediction.history_id, outcome.probe.id)
            if key not in answered[row]:
                answered[row].add(key)
                runs[row].append_sample(outcome)
                done += 1
            watch(outcome.prediction.history_id, done, max(total * len(runs), done))
    if not stopped.is_set():
        for run in runs:
            run.mark_done()
