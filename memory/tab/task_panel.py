"""Long work on the screen: a bar with the time left, and a button that stops it, where it was begun."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass, field

import gradio as gr
from markupsafe import Markup

from memory.errors import Cancelled
from memory.progress import Task
from memory.tab.events import PRIVATE, Update, to_gradio_error
from memory.tab.formatting import format_duration
from memory.tab.templates import hint, progress_bar

TICK = 0.4
"""Seconds between two looks at how far it is; what is done by the first shows no bar at all."""


@dataclass(frozen=True, slots=True)
class TaskBar:
    """The bar and its button, which each window sees for its own work only."""

    status: gr.HTML
    stop: gr.Button
    going: dict[str | None, Task] = field(default_factory=dict)

    @property
    def parts(self) -> list[gr.components.Component]:
        """The parts that `watch` changes."""
        return [self.status, self.stop]

    def watch(
        self, doing: str, request: gr.Request, work: Callable[[Task], Update], *, outlives: bool = True
    ) -> Iterator[Update]:
        """What the screen shows while the work goes on, then what the work gives, or why it was stopped.

        A page that is closed meanwhile stops the work, unless it outlives the page.
        """
        task = self.going[request.session_hash] = Task()
        pool = ThreadPoolExecutor(1)
        future = pool.submit(copy_context().run, work, task)  # Gradio keeps in it that this is a handler
        pool.shutdown(wait=False)
        try:
            while not wait([future], TICK).done:
                yield {self.status: _progress(doing, task), self.stop: _button(task)}
            fault = future.exception()
            why = hint(str(fault)) if isinstance(fault, Cancelled) else ""
            ended: Update = {self.status: why, self.stop: gr.Button(visible=False)}
            yield ended if fault else {**ended, **future.result()}
            if isinstance(fault, Exception) and not why:
                raise to_gradio_error(fault) from fault
        finally:
            self.going.pop(request.session_hash, None)
            if not outlives:
                task.cancel()


def task_bar(name: str) -> TaskBar:
    """Build the bar, which is empty as long as nothing goes on; `name` begins the ids of its parts."""
    status = gr.HTML(padding=False, elem_id=f"{name}-going")
    stop = gr.Button("Stop", variant="stop", size="sm", visible=False, elem_id=f"{name}-stop")
    bar = TaskBar(status, stop)

    def stopped(request: gr.Request) -> Update:
        task = bar.going.get(request.session_hash)
        if task is None:
            return {stop: gr.Button(visible=False)}
        task.cancel()
        return {stop: _button(task)}

    stop.click(stopped, None, [stop], **PRIVATE)
    return bar


def _button(task: Task) -> gr.Button:
    return gr.Button(visible=not task.uncancellable, interactive=not task.cancelled)


def _progress(doing: str, task: Task) -> Markup:
    steps = [f"{task.share:.0%}"]
    if task.uncancellable:
        steps.append("deleted; cleaning up the file, which cannot be stopped")
    elif task.cancelled:
        steps.append("stopping…")
    if not task.cancelled and task.seconds_left is not None:
        steps.append(f"{format_duration(task.seconds_left)} left")
    return progress_bar(doing, steps, task.share)
