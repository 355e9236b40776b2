"""A long piece of work as a terminal shows it: a bar with the time left, and Ctrl-C."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from tqdm import tqdm

from memory.progress import Task

BAR = "{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}"


@contextmanager
def watched(doing: str) -> Iterator[Task]:
    """A task whose bar stands on a terminal, if there is one, and that Ctrl-C stops.

    Ctrl-C is answered when nothing is half done any more. A second one breaks off at once, unless what goes on has to
    be brought to its end.
    """
    with tqdm(total=1, desc=doing, bar_format=BAR, leave=False, disable=None) as bar:
        task = Task(lambda share: _moved(bar, share))

        def interrupted(number: int, frame: FrameType | None) -> None:
            if task.uncancellable:
                tqdm.write("memoir: it is too late to stop; what is left is cleaning, and a moment", file=sys.stderr)
            elif task.cancelled:
                raise KeyboardInterrupt
            task.cancel()

        before = signal.signal(signal.SIGINT, interrupted)
        try:
            yield task
        finally:
            signal.signal(signal.SIGINT, before)


def _moved(bar: tqdm[Any], share: float) -> None:
    bar.update(share - bar.n)
