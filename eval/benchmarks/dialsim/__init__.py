"""DialSim: adapter, scoring, presets and published figures."""

from __future__ import annotations

from eval.benchmarks.dialsim.adapter import TITLE, load
from eval.benchmarks.dialsim.presets import PRESETS
from eval.benchmarks.types import Benchmark
from eval.metrics.scores import Scoring

BENCHMARK = Benchmark(
    "dialsim",
    TITLE,
    "Scripts of TV shows, asked about while they go on (Kim et al., 2024).",
    load,
    Scoring("sessions"),
    PRESETS,
)
