"""A long operation on the screen: its progress, the time left, and a button that stops it."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait

import gradio as gr
from markupsafe import Markup

from memory.errors import Cancelled
from memory.formatting import format_duration
from memory.progress import Task
from memory.tab.events import PRIVATE, Update
from memory.tab.templates import hint, progress_bar

TICK = 0.4
"""Seconds between two updates of the progress; a task that ends within the first shows none."""


class TaskPanel:
    """The progress bar and its button; each browser window sees its own task only."""

    def __init__(self, name: str) -> None:
        """Build the panel, empty until a task runs; `name` begins the ids of its components."""
        self.status = gr.HTML(padding=False, elem_id=f"{name}-going")
        self.stop = gr.Button("Stop", variant="stop", size="sm", visible=False, elem_id=f"{name}-stop")
        self.outputs: list[gr.components.Component] = [self.status, self.stop]
        self._tasks: dict[str | None, Task] = {}
        self.stop.click(self.cancel, None, [self.stop], **PRIVATE)

    def cancel(self, request: gr.Request) -> Update:
        """Cancel the task of this window."""
        task = self._tasks.get(request.session_hash)
        if task is None:
            return {self.stop: gr.Button(visible=False)}
        task.cancel()
        return {self.stop: _stop_button(task)}

    def run(
        self, title: str, request: gr.Request, work: Callable[[Task], Update], *, outlives_page: bool = True
    ) -> Iterator[Update]:
        """Run a task: yield its progress, then what `work` returns to show at its end, or why it was cancelled.

        `request` is of the window that started it; `outlives_page` says whether it goes on when the page is closed.
        """
        task = self._tasks[request.session_hash] = Task()
        pool = ThreadPoolExecutor(1)
        future = pool.submit(work, task)
        pool.shutdown(wait=False)
        try:
            while not wait([future], TICK).done:
                yield {self.status: _progress(title, task), self.stop: _stop_button(task)}
            error = future.exception()
            cancelled = hint(str(error)) if isinstance(error, Cancelled) else ""
            ended: Update = {self.status: cancelled, self.stop: gr.Button(visible=False)}
            yield ended if error else {**ended, **future.result()}
            if isinstance(error, Exception) and not cancelled:
                raise error
        finally:
            self._tasks.pop(request.session_hash, None)
            if not outlives_page:
                task.cancel()


def _stop_button(task: Task) -> gr.Button:
    return gr.Button(visible=not task.uncancellable, interactive=not task.cancelled)


def _progress(title: str, task: Task) -> Markup:
    steps = [f"{task.share:.0%}"]
    if task.uncancellable:
        steps.append("deleted; cleaning up (cannot be stopped)")
    elif task.cancelled:
        steps.append("stopping…")
    if not task.cancelled and task.seconds_left is not None:
        steps.append(f"{format_duration(task.seconds_left)} left")
    return progress_bar(title, steps, task.share)
