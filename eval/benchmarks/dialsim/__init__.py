"""DialSim: adapter, scoring, presets and published figures."""

from __future__ import annotations

from eval.benchmarks.dialsim.adapter import TITLE, load
from eval.benchmarks.dialsim.presets import PRESETS
from eval.benchmarks.types import Benchmark
from eval.metrics.scores import Scoring

BENCHMARK = Benchmark(
    "dialsim",
    TITLE,
    "Questions about TV-show scripts, asked while the show is running (Kim et al., 2024).",
    load,
    Scoring("sessions"),
    PRESETS,
)
