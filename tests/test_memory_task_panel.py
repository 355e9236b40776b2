"""The panel of a long task: its progress for the window that started it, a button that stops it, and the result."""

import threading
from collections import Counter
from types import SimpleNamespace

import gradio as gr
import pytest

from memory.errors import MemoirError
from memory.tab import parts
from memory.tab.parts import TaskPanel

HERE, ELSEWHERE = SimpleNamespace(session_hash="here"), SimpleNamespace(session_hash="elsewhere")


class Work:
    """Goes on until it is let go, or stopped."""

    def __init__(self):
        self.begun, self.free, self.ended = threading.Event(), threading.Event(), threading.Event()
        self.task = None

    def __call__(self, task):
        self.task = task
        task.report(0.5)
        self.begun.set()
        try:
            while not self.free.wait(0.01):
                task.report(0.5)
        finally:
            self.ended.set()
        return {"result": "there"}


@pytest.fixture
def bar(monkeypatch):
    monkeypatch.setattr(parts, "TICK", 0.05)
    with gr.Blocks():
        return TaskPanel("some")


@pytest.fixture
def work():
    held = Work()
    yield held
    held.free.set()


def begin(bar, work, **how):
    shown = bar.run("Baking", HERE, work, **how)
    first = next(shown)
    assert work.begun.wait(10)
    return shown, first


def test_progress_and_button_are_shown_until_the_result_is_there(bar, work):
    shown, _ = begin(bar, work)
    going = next(shown)
    assert "Baking" in going[bar.status]
    assert "50%" in going[bar.status]
    assert going[bar.stop].visible
    work.free.set()
    *_, last = shown
    assert last["result"] == "there"
    assert last[bar.status] == ""
    assert not last[bar.stop].visible


def test_only_the_window_that_started_a_task_stops_it(bar, work):
    shown, _ = begin(bar, work)
    bar.cancel(ELSEWHERE)
    assert not work.task.cancelled
    assert not bar.cancel(HERE)[bar.stop].interactive
    *_, last = shown
    assert "Cancelled. Nothing was changed." in last[bar.status]
    assert "result" not in last


@pytest.mark.parametrize("outlives", [True, False])
def test_closing_the_page_stops_a_task_that_does_not_outlive_it(bar, work, outlives):
    shown, _ = begin(bar, work, outlives_page=outlives)
    shown.close()
    assert work.task.cancelled is not outlives
    assert outlives or work.ended.wait(10)


def test_an_error_ends_the_task_and_is_shown(bar):
    def fails(task):
        raise MemoirError("no <flour>")

    shown = bar.run("Baking", HERE, fails)
    assert not next(shown)[bar.stop].visible
    with pytest.raises(MemoirError, match="no <flour>"):
        next(shown)


def test_a_task_that_cannot_be_stopped_says_so_and_shows_no_button(bar, work):
    shown, _ = begin(bar, work)
    work.task.make_uncancellable()
    bar.cancel(HERE)
    going = next(shown)
    assert "cannot be stopped" in going[bar.status]
    assert not going[bar.stop].visible
    work.free.set()
    assert Counter("result" in update for update in shown)[True] == 1
