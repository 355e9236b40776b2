"""PerLTQA: adapter, scoring, presets and published figures."""

from __future__ import annotations

from pathlib import Path

from eval.benchmarks.madial.metrics import SUMMED_UP
from eval.benchmarks.perltqa.adapter import TITLE, load
from eval.benchmarks.perltqa.presets import PRESETS
from eval.benchmarks.types import Benchmark, load_published
from eval.metrics.scores import Scoring

BENCHMARK = Benchmark(
    "perltqa",
    TITLE,
    "Profiles, relations, events and dialogues of 141 characters (Du et al., SIGHAN 2024).",
    load,
    Scoring("items", (1, 2, 3, 5, 10), geometric_mean_of=SUMMED_UP),
    PRESETS,
    load_published(Path(__file__).with_name("published.json")),
)
