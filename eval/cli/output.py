"""Print what commands make: JSON or text, and progress bars."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tqdm import tqdm

from eval.types import Watch


def show(arguments: argparse.Namespace, value: object, text: str) -> int:
    """Print a value as JSON if `--json` was given, otherwise the text; return exit status 0."""
    print(json.dumps(value, ensure_ascii=False) if arguments.json else text)
    return 0


@contextmanager
def progress_bars(unit: str, **options: Any) -> Iterator[Watch]:  # noqa: ANN401  # tqdm's own
    """Show one bar after another, a new one whenever the label changes; nothing if the output is not a terminal."""
    bars: dict[str, tqdm[Any]] = {}

    def watch(label: str, done: int, total: int) -> None:
        if label not in bars:
            close()
            bars[label] = tqdm(total=total, unit=unit, desc=label, disable=None, **options)
        bars[label].total = total
        bars[label].update(done - bars[label].n)

    def close() -> None:
        while bars:
            bars.popitem()[1].close()

    try:
        yield watch
    finally:
        close()
