"""LongMemEval: adapter, scoring, presets and published figures."""

from __future__ import annotations

from pathlib import Path

from eval.benchmarks.longmemeval.adapter import TITLE, load
from eval.benchmarks.longmemeval.metrics import ndcg_longmemeval
from eval.benchmarks.longmemeval.presets import PRESETS
from eval.benchmarks.types import Benchmark, load_published
from eval.metrics.scores import Scoring

BENCHMARK = Benchmark(
    "longmemeval",
    TITLE,
    "500 questions, each with a chat history of its own (Wu et al., ICLR 2025).",
    load,
    Scoring("sessions", (1, 3, 5, 10, 30, 50), ndcg_longmemeval),
    PRESETS,
    load_published(Path(__file__).with_name("published.json")),
)
