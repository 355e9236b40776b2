"""Figures that others published on PerLTQA."""

from __future__ import annotations

from eval.benchmarks.perltqa.presets import PAPER
from eval.benchmarks.types import FROM_NOTES, PublishedRun

PUBLISHED = (
    PublishedRun(
        "BM25",
        "the paper's release and questions of all its characters, not the English v2 release",
        f"{PAPER}, table 4{FROM_NOTES}",
        None,
        {"recall@1": 0.705, "recall@5": 0.895},
    ),
    PublishedRun(
        "DPR",
        "the paper's release and questions of all its characters; trained on the benchmark's own questions",
        f"{PAPER}, table 4{FROM_NOTES}",
        None,
        {"recall@1": 0.602, "recall@5": 0.919},
    ),
    PublishedRun(
        "BM25",
        "the same character of the English v2 release, over its whole memory (67 items)",
        "measured on the development portion; figure as Memoir's design notes give it",
        202,
        {"recall@1": 0.465, "recall@5": 0.916},
    ),
    PublishedRun(
        "BERT-base",
        "the paper's release; trained on the benchmark's own questions",
        f"{PAPER}, table 3; accuracy as Memoir's design notes give it, F1 as memorypapers.org does",
        None,
        {"classification_accuracy": 0.956, "classification_f1": 0.957},
    ),
    PublishedRun(
        "gpt-3.5-turbo",
        "the paper's release, best setting; a hosted language model writes the answers; the English v2 release holds "
        "about half of the anchors",
        f"{PAPER}, table 5{FROM_NOTES}",
        None,
        {"anchor_map": 0.756},
    ),
)
