"""MADial-Bench: adapter, scoring, presets and published figures."""

from __future__ import annotations

from pathlib import Path

from eval.benchmarks.madial.adapter import TITLE, load
from eval.benchmarks.madial.metrics import SUMMED_UP, ndcg_madial
from eval.benchmarks.madial.presets import PRESETS
from eval.benchmarks.types import Benchmark, load_published
from eval.metrics.scores import Scoring

BENCHMARK = Benchmark(
    "madial-bench",
    TITLE,
    "160 dialogues in which the assistant should bring up a fitting memory unprompted (He et al., NAACL 2025).",
    load,
    Scoring("items", official_ndcg=ndcg_madial, geometric_mean_of=SUMMED_UP),
    PRESETS,
    load_published(Path(__file__).with_name("published.json")),
)
