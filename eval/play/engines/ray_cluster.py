"""Replay histories on the nodes of a Ray cluster.

A worker is a Ray actor with a CPU of its own, and a GPU where the chat model runs in the worker. It gets this folder's
code from the driver; the libraries must be installed on every node. The address is Ray's own setting, RAY_ADDRESS;
without it, the cluster that `ray start` started on this machine is used, or one is started that ends with the run.
"""

import os
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, redirect_stdout
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from eval.play.engines.schedule import Replayer, Worker
from eval.runs.experiment import Experiment
from memory.errors import MemoirError

ROOT = Path(__file__).parents[3]
CODE = {"working_dir": str(ROOT), "excludes": ["/*", "!.", "!/memory", "!/graph", "!/eval", "!/assets"]}
"""What every node gets; nothing else in the folder leaves this machine."""

VARIABLES = ("MEMOIR_", "OPENAI_", "HF_")
"""The environment variables that workers get, by how they begin: they name and open chat models."""

CONNECT_SECONDS = 5.0
"""How long the cluster may take to answer at all."""

CLOSE_SECONDS = 2.0
"""How long workers may take to delete their banks before they are killed."""


def require_ray() -> None:
    """Raise `MemoirError` unless Ray is installed."""
    if find_spec("ray") is None:
        raise MemoirError("--engine ray needs Ray. Install it: .venv/bin/python -m pip install 'ray>=2.60,<3'")


class RayCluster:
    """Actors that replay histories; they end with the context."""

    attempts = 3  # more than on one machine: nodes come and go

    def __init__(self, experiments: Sequence[Experiment], cache: Path, jobs: int) -> None:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray reports to its makers otherwise
        import ray
        from ray import exceptions

        self._ray: Any = ray
        self.deaths: tuple[type[Exception], ...] = (
            exceptions.RayActorError,
            exceptions.NodeDiedError,
            exceptions.ObjectLostError,
            exceptions.OutOfMemoryError,
            exceptions.WorkerCrashedError,
        )
        self._experiments = experiments
        self._cache = cache
        self._gpus = 1 if experiments[0].pipeline.model.startswith("hf:") else 0
        self._actors: list[Any] = []

    def __enter__(self) -> Self:
        _check_address(os.environ.get("RAY_ADDRESS", ""))
        with ExitStack() as context:
            context.enter_context(redirect_stdout(sys.stderr))  # where Ray prints that a node died
            self._ray.init(runtime_env=CODE, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
            context.callback(self._ray.shutdown)
            if self._gpus and not self._ray.cluster_resources().get("GPU"):
                raise MemoirError("No node of the Ray cluster has a GPU, which a model named hf:... needs there")
            self._context = context.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        closed = [actor.close.remote() for actor in self._actors]
        self._ray.wait(closed, num_returns=len(closed), timeout=CLOSE_SECONDS)
        for actor in self._actors:
            self._ray.kill(actor)
        self._context.close()

    def start_worker(self) -> Worker:
        """Start an actor; it is ready as soon as a node has room for it."""
        environment = {name: value for name, value in os.environ.items() if name.startswith(VARIABLES)}
        given = (self._experiments, self._cache, socket.gethostname(), environment)
        actor = self._ray.remote(num_cpus=1, num_gpus=self._gpus)(_NodeReplayer).remote(*given)
        self._actors.append(actor)
        return lambda task: actor.replay.remote(task).future()


def _check_address(address: str) -> None:
    """Raise `MemoirError` if nothing answers at HOST:PORT; Ray itself would try for two minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        if host and port.isdecimal():
            socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS).close()
    except OSError as fault:
        raise MemoirError(f"No Ray cluster answers at {address} (RAY_ADDRESS): {fault}") from fault


# --- in an actor


class _NodeReplayer(Replayer):
    def __init__(
        self, experiments: Sequence[Experiment], cache: Path, driver: str, environment: Mapping[str, str]
    ) -> None:
        os.environ.update(environment)
        super().__init__(experiments, cache_of_node(cache, driver, socket.gethostname()))


def cache_of_node(cache: Path, driver: str, node: str) -> Path:
    """The file of embeddings on a node: a file for each, since their folder may be on a disk that nodes share."""
    return cache if node == driver else cache.with_name(f"{cache.stem}-{node}{cache.suffix}")
