"""A run on a Ray cluster has the figures of a run on one machine, also when workers and nodes die meanwhile."""

import logging
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from eval.__main__ import main
from eval.play.engines.ray_cluster import cache_of_node
from eval.reporting.report import report
from eval.runs.evaluator import Evaluator
from eval.runs.experiment import Experiment, RunRequest, with_settings
from eval.settings import EvalSettings
from memory.errors import MemoirError
from support.short_lives import write_short_lives

NAMES = ("ines", "marta", "kofi")
PROBES = 15
MISSING = "Ray is not installed: python -m pip install 'ray>=2.60,<3'"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_short_lives(tmp_path_factory.mktemp("data"), NAMES, sessions=20, probes=PROBES)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Two nodes with one processor each, and the address in the environment."""
    pytest.importorskip("ray", reason=MISSING)
    from ray.cluster_utils import Cluster

    size = {"num_cpus": 1, "object_store_memory": 80 << 20, "include_dashboard": False}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        try:
            started = Cluster(initialize_head=True, head_node_args=size)
            started.second = started.add_node(**size)
        except Exception as fault:  # Ray raises all sorts where its servers cannot run
            pytest.skip(f"no Ray cluster starts on this machine: {fault}")
        patch.setenv("RAY_ADDRESS", started.address)
        yield started
        started.shutdown()


def order(data, **changes):
    return RunRequest("memoir", data, with_settings(Experiment(), ["reader=none"]), **changes)


def answers(run):
    return {s.probe.id: (s.prediction.found, s.prediction.answer, s.prediction.stores) for s in run.samples()}


def workers():
    """The actors' processes."""
    found = []
    for each in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it ends just now
            if " ".join(each.cmdline()).startswith("ray::_NodeReplayer"):
                found.append(each)
    return found


@pytest.mark.slow
def test_killed_workers_and_a_killed_node_change_no_figure(cluster, data, embedder, tmp_path, caplog):
    evaluator = Evaluator(EvalSettings(home=tmp_path))
    local = evaluator.run(order(data), encoder=embedder)
    seen = []

    def kill(*progress):
        """Kill the workers after the first answer, and a node after the first one of those that replace them."""
        seen.append(progress)
        if len(seen) == 1:
            for worker in workers():
                with suppress(psutil.NoSuchProcess):
                    worker.kill()
        elif cluster.second and caplog.messages:
            cluster.remove_node(cluster.second, allow_graceful=False)
            cluster.second = None

    with caplog.at_level(logging.WARNING):
        run = evaluator.run(order(data, afresh=True, engine="ray", jobs=2), watch=kill)
    assert run.is_done
    assert run.name != local.name
    assert cluster.second is None
    assert any("was killed; another one goes on with it" in message for message in caplog.messages)
    assert report(run).metrics == report(local).metrics
    assert answers(run) == answers(local)
    assert len((run.folder / "predictions.jsonl").read_text("utf-8").splitlines()) == len(NAMES) * PROBES
    assert sorted(costs.history for costs in run.costs()) == sorted(NAMES)
    assert not psutil.wait_procs(workers(), timeout=20)[1]


def test_without_ray_the_engine_names_the_command_that_installs_it(data, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setenv("MEMOIR_HOME", str(tmp_path))
    assert main(["run", "memoir", "--data", str(data), "--engine", "ray"]) == 1
    assert "python -m pip install 'ray" in capsys.readouterr().err
    assert not (tmp_path / "runs").exists()


def test_an_address_where_no_cluster_answers_is_named_at_once(data, tmp_path, monkeypatch):
    pytest.importorskip("ray", reason=MISSING)
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    with pytest.raises(MemoirError, match=r"answers at 127\.0\.0\.1:9"):
        Evaluator(EvalSettings(home=tmp_path)).run(order(data, engine="ray"))


def test_every_node_has_its_own_file_of_embeddings():
    cache = Path("home", "cache", "embeddings.db")
    assert cache_of_node(cache, "desk", "desk") == cache
    assert cache_of_node(cache, "desk", "node-7") == cache.with_name("embeddings-node-7.db")
