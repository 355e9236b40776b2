"""Show the progress of a long operation in the terminal, and let Ctrl-C cancel it."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tqdm import tqdm

from memory.progress import Task

FORMAT = "{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}"


@contextmanager
def progress_bar(label: str) -> Iterator[Task]:
    """A task with a progress bar, if there is a terminal, that Ctrl-C cancels.

    The first Ctrl-C cancels once nothing is half done. A second one interrupts at once, unless the task can no longer
    be cancelled.
    """
    with tqdm(total=1, desc=label, bar_format=FORMAT, leave=False, disable=None) as bar:

        def show(share: float) -> None:
            bar.update(share - bar.n)

        task = Task(show)

        def interrupt(number: int, frame: FrameType | None) -> None:
            if task.uncancellable:
                late = "too late to cancel: the memories are deleted and the file is being cleaned up"
                tqdm.write(f"memoir: {late}", file=sys.stderr)
            elif task.cancelled:
                raise KeyboardInterrupt
            task.cancel()

        before = signal.signal(signal.SIGINT, interrupt)
        try:
            yield task
        finally:
            signal.signal(signal.SIGINT, before)
