"""Figures that others published on MADial-Bench."""

from __future__ import annotations

from eval.benchmarks.madial.presets import PAPER
from eval.benchmarks.types import FROM_NOTES, PublishedRun

_MADIAL_CODE = "github.com/hejunqing/MADial-Bench"

PUBLISHED = (
    PublishedRun(
        "text-embedding-3-large",
        "English, all dialogues; a hosted embedding of 3,072 dimensions",
        f"{PAPER}, table 4{FROM_NOTES}",
        160,
        {"geometric_mean@1": 0.562, "geometric_mean@3": 0.580, "geometric_mean@5": 0.577, "geometric_mean@10": 0.546},
    ),
    PublishedRun(
        "bge-m3",
        "English, all dialogues; a large local embedding",
        f"{PAPER}, table 4{FROM_NOTES}",
        160,
        {"geometric_mean@1": 0.450, "geometric_mean@3": 0.476, "geometric_mean@5": 0.470, "geometric_mean@10": 0.469},
    ),
    PublishedRun(
        "text-embedding-3-large",
        "English, the same 80 dialogues (development portion); a hosted embedding of 3,072 dimensions",
        f"{_MADIAL_CODE}, data/en/en_openai_top_20_bottom.json, scored with the authors' formulas",
        80,
        {
            "geometric_mean@1": 0.578,
            "geometric_mean@3": 0.577,
            "geometric_mean@5": 0.585,
            "geometric_mean@10": 0.549,
            "recall@1": 0.390,
            "recall@3": 0.591,
            "recall@5": 0.720,
            "recall@10": 0.827,
        },
    ),
    PublishedRun(
        "text-embedding-3-large, Chinese",
        "Chinese, not English; all dialogues; a hosted embedding of 3,072 dimensions",
        f"{_MADIAL_CODE}, embedding_score_new.py",
        160,
        {
            "geometric_mean@1": 0.574,
            "geometric_mean@3": 0.5891,
            "geometric_mean@5": 0.5807,
            "geometric_mean@10": 0.5577,
        },
    ),
)
