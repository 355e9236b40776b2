"""Memoir's own benchmark: adapter, scoring, presets and published figures."""

from __future__ import annotations

from eval.benchmarks.memoir.adapter import TITLE, load
from eval.benchmarks.types import Benchmark
from eval.metrics.scores import Scoring

BENCHMARK = Benchmark(
    "memoir",
    TITLE,
    "Three invented lives of a year each, written for Memoir; comes with the program.",
    load,
    Scoring("sessions"),
)
