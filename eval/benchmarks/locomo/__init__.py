"""LoCoMo: adapter, scoring, presets and published figures."""

from __future__ import annotations

from pathlib import Path

from eval.benchmarks.locomo.adapter import TITLE, load
from eval.benchmarks.types import Benchmark, load_published
from eval.metrics.scores import Scoring

BENCHMARK = Benchmark(
    "locomo",
    TITLE,
    "Ten long conversations of two friends, 1,986 questions (Maharana et al., ACL 2024).",
    load,
    Scoring("sessions"),
    published_runs=load_published(Path(__file__).with_name("published.json")),
)
