"""A run survives a kill, and its figures depend neither on the number of processes nor on the order of the file."""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import Future
from contextlib import ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from eval.__main__ import main
from eval.benchmarks import BENCHMARKS, find
from eval.play.engines import schedule
from eval.play.replay import Replay
from eval.reporting.report import report
from eval.runs.evaluator import OWN_FILES, Evaluator, execute
from eval.runs.experiment import Experiment, RunRequest, with_settings
from eval.runs.run import RunIsBusy
from eval.settings import EvalSettings
from memory.errors import MemoirError
from support.dialsim_show import write_show
from support.invented_history import life
from support.short_lives import write_short_lives

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


PROBES = 15


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_short_lives(tmp_path_factory.mktemp("data"), ("ines", "marta"), sessions=20, probes=PROBES)


@pytest.fixture(scope="module")
def whole(tmp_path_factory, embedder, data):
    """A run that nothing interrupted."""
    run = Evaluator(EvalSettings(home=tmp_path_factory.mktemp("whole"))).run(order(data=data), encoder=embedder)
    assert len(run.samples()) == 2 * PROBES
    return run


@pytest.fixture
def home(tmp_path, whole):
    """A folder where no run stands yet, but what the whole one embedded."""
    shutil.copytree(whole.folder.parents[1], tmp_path / "home", ignore=shutil.ignore_patterns("runs"))
    return tmp_path / "home"


@pytest.fixture
def evaluator(home):
    return Evaluator(EvalSettings(home=home, data=None))


def order(**changes):
    return RunRequest("memoir", experiment=with_settings(Experiment(), ["reader=none"]), **changes)


def stopped():
    stop = threading.Event()
    stop.set()
    return stop


def answers(run):
    return {s.probe.id: (s.prediction.found, s.prediction.answer, s.prediction.stores) for s in run.samples()}


def test_a_run_is_kept_probe_by_probe_and_marked_as_done(evaluator, embedder, data):
    seen = []
    run = evaluator.run(order(limit=6, data=data), watch=lambda *p: seen.append(p), encoder=embedder)
    assert run.is_done
    assert [done for _, done, _ in seen] == [1, 2, 3, 4, 5, 6]
    assert {total for *_, total in seen} == {6}
    assert len(run.costs()) == 1


def test_a_stopped_run_keeps_what_is_done_and_goes_on(evaluator, embedder, data):
    stop = threading.Event()
    run = evaluator.run(
        order(limit=6, data=data), stop=stop, watch=lambda _, done, __: done == 2 and stop.set(), encoder=embedder
    )
    assert not run.is_done
    assert len(run.samples()) == 2
    asked = []
    again = evaluator.run(order(limit=6, data=data), watch=lambda _, done, __: asked.append(done), encoder=embedder)
    assert again.name == run.name
    assert asked == [3, 4, 5, 6]
    assert again.is_done
    afresh = evaluator.run(order(limit=6, afresh=True, data=data), encoder=embedder)
    assert answers(afresh) == answers(again)


def command(home, *arguments):
    environment = {**os.environ, "MEMOIR_HOME": str(home), "HF_HUB_OFFLINE": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "eval", *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def children(pid):
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(status.parent.name))
    return found


def test_a_run_killed_at_any_moment_goes_on_to_the_same_figures(home, whole, data, monkeypatch, capsys):
    arguments = ["run", "memoir", "--data", str(data), "--reader", "none", "--json", "--jobs"]
    killed = command(home, *arguments, "2")
    wait_for(lambda: [p for p in home.glob("runs/*/predictions.jsonl") if p.stat().st_size > 1000])
    workers = children(killed.pid)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    wait_for(lambda: not any(is_running(pid) for pid in workers))
    (half,) = Evaluator(EvalSettings(home=home)).runs.all()
    assert 0 < len(half.samples()) < 2 * PROBES
    monkeypatch.setenv("MEMOIR_HOME", str(home))
    assert main([*arguments, "1"]) == 0
    out = capsys.readouterr().out
    (run,) = Evaluator(EvalSettings(home=home)).runs.all()
    assert run.name == half.name
    assert answers(run) == answers(whole)
    ours = {name: f.value for name, f in report(whole).metrics.items()}
    assert {name: f["value"] for name, f in json.loads(out)["metrics"].items()} == pytest.approx(ours)


def wait_for(true, seconds=240):
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it did not come about"
        time.sleep(0.05)


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_the_order_of_the_file_changes_no_figure(evaluator, embedder, data, tmp_path):
    shuffled = tmp_path / "shuffled"
    shuffled.mkdir()
    for path in data.glob("marta*.jsonl"):
        first, *rest = path.read_text("utf-8").splitlines()
        lines = [first, *rest[::-1]] if "probes" not in path.name else [*rest[::-1], first]
        (shuffled / path.name).write_text("\n".join(lines) + "\n", "utf-8")
    one = evaluator.run(order(only=("marta",), data=data), encoder=embedder)
    other = evaluator.run(order(only=("marta",), data=shuffled), encoder=embedder)
    assert one.name != other.name
    assert answers(one) == answers(other)
    assert report(one).metrics == report(other).metrics


def test_a_warm_run_encodes_nothing(tmp_path, embedder, data):
    evaluator = Evaluator(EvalSettings(home=tmp_path))
    cold = evaluator.run(order(limit=4, data=data), encoder=embedder)
    warm = evaluator.run(order(limit=4, data=data, afresh=True), encoder=embedder)
    assert report(cold).timing["encoded"] > 100
    assert report(warm).timing["encoded"] == 0


def test_nothing_to_ask_is_an_error(evaluator, monkeypatch):
    with pytest.raises(MemoirError, match="nobody"):
        evaluator.run(order(only=("nobody",)))
    history = next(find("memoir").load(OWN_FILES["memoir"]))
    silent = replace(find("memoir"), load=lambda path: iter([replace(history, probes=())]))
    monkeypatch.setitem(BENCHMARKS, "memoir", silent)
    with pytest.raises(MemoirError, match="has no question that can be asked"):
        list(evaluator.histories(RunRequest("memoir")))
    assert evaluator.runs.all() == []


def test_a_missing_file_says_how_to_get_it(evaluator, monkeypatch):
    monkeypatch.delenv("MEMOIR_DATA", raising=False)
    with pytest.raises(MemoirError, match="python -m eval fetch longmemeval"):
        evaluator.run(RunRequest("longmemeval"))
    with pytest.raises(MemoirError, match="memoir, conversations, longmemeval"):
        find("nonsense")


def test_a_run_that_goes_on_elsewhere_is_left_alone(evaluator, embedder, data):
    asked = order(limit=2, data=data)
    with ExitStack() as elsewhere, pytest.raises(RunIsBusy):
        evaluator.run(asked, encoder=embedder, began=lambda runs, _: elsewhere.enter_context(runs[0].lock()))
    run = evaluator.run(asked, encoder=embedder, stop=stopped())
    assert not run.samples()
    assert evaluator.run(asked, encoder=embedder).name == run.name
    assert run.is_done


def start_two_workers(home, data, *options):
    """A command with two workers, once it has answered something, and their process ids."""
    going = command(home, "run", "memoir", "--data", str(data), "--reader", "none", "--jobs", "2", *options)
    wait_for(lambda: [p for p in home.glob("runs/*/predictions.jsonl") if p.stat().st_size > 1000])
    names = {pid: Path(f"/proc/{pid}/cmdline").read_text() for pid in children(going.pid)}
    return going, [pid for pid, name in names.items() if "spawn_main" in name]


def test_a_killed_worker_is_replaced_and_changes_no_figure(home, data, whole):
    going, workers = start_two_workers(home, data)
    os.kill(workers[0], signal.SIGKILL)
    _, err = going.communicate(timeout=120)
    assert going.returncode == 0
    assert any(f"The process that replayed {name} was killed" in err for name in ("ines", "marta"))
    assert "Traceback" not in err
    (run,) = Evaluator(EvalSettings(home=home)).runs.all()
    assert run.is_done
    assert answers(run) == answers(whole)
    assert report(run).metrics == report(whole).metrics
    assert len((run.folder / "predictions.jsonl").read_text("utf-8").splitlines()) == 2 * PROBES
    wait_for(lambda: not any(is_running(pid) for pid in workers))


class Deadly(str):
    """A text that kills the worker that reads it."""

    def __reduce__(self):
        return os._exit, (9,)


def test_a_history_that_kills_its_worker_twice_is_named_and_the_others_are_replayed(evaluator, embedder, data):
    request = order(data=data, jobs=2)
    first, second = evaluator.histories(request)
    run = evaluator.run(request, encoder=embedder, stop=stopped())
    deadly = replace(first, id="deadly", persona=replace(first.persona, description=Deadly("x")))
    playing = ([(run, request)], [deadly, second], evaluator.settings.cache_path)
    with pytest.raises(MemoirError, match="Not finished: deadly"):
        execute(*playing, 2 * PROBES, None, threading.Event(), lambda *progress: None)
    assert not run.is_done
    assert len(run.samples()) == PROBES
    assert [costs.history for costs in run.costs()] == [second.id]
    assert evaluator.run(request, encoder=embedder).is_done
    assert len(run.samples()) == 2 * PROBES


def test_ctrl_c_ends_the_workers_and_leaves_no_file_behind(home, data, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    going, workers = start_two_workers(home, data)
    for pid in (*workers, going.pid):  # a terminal sends it to all of them
        os.kill(pid, signal.SIGINT)
    out, err = going.communicate(timeout=10)
    assert going.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    assert not any(is_running(pid) for pid in workers)
    assert not list((tmp_path / "tmp").glob("memoir-*"))


def test_a_stopped_run_of_two_workers_keeps_what_they_answered(evaluator, embedder, data, whole):
    stop, seen = threading.Event(), []
    run = evaluator.run(order(data=data, jobs=2), stop=stop, watch=lambda _, done, __: (seen.append(done), stop.set()))
    assert not run.is_done
    assert 0 < len(run.samples()) == len(seen)
    again = evaluator.run(order(data=data), encoder=embedder)
    assert again.name == run.name
    assert again.is_done
    assert answers(again) == answers(whole)


def test_a_run_stopped_before_it_began_asks_nothing(evaluator, embedder, data):
    run = evaluator.run(order(limit=2, data=data), stop=stopped(), encoder=embedder)
    assert run.samples() == []
    assert not run.is_done


def test_as_many_probes_are_told_of_as_a_simulation_will_ask(evaluator, embedder, tmp_path):
    asking = RunRequest("dialsim", write_show(tmp_path), with_settings(Experiment(), ["reader=none"]))
    totals = []
    run = evaluator.run(asking, encoder=embedder, began=lambda _, total: totals.append(total))
    (total,) = totals
    assert total == len(run.samples()) == 6


def test_a_command_that_waits_for_its_first_worker_says_so_once(monkeypatch, caplog):
    class FullCluster(nullcontext):
        """Its workers never begin."""

        deaths, attempts = (), 1

        def start_worker(self):
            return lambda task: Future()

    stop = threading.Event()
    threading.Timer(1.0, stop.set).start()
    monkeypatch.setattr(schedule, "SILENT_SECONDS", 0.1)
    waiting = schedule.Schedule(FullCluster(), [life()], lambda history: Replay(history, {0: history.probes}))
    assert not list(waiting.outcomes(2, stop))
    assert [message for message in caplog.messages if "No worker has begun" in message] == [caplog.messages[0]]
