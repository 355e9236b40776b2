"""Figures that others published on LoCoMo."""

from __future__ import annotations

from eval.benchmarks.types import FROM_NOTES, PublishedRun

_MEMPALACE = "github.com/MemPalace/mempalace, benchmarks/BENCHMARKS.md"

PUBLISHED = (
    PublishedRun(
        "MemPalace hybrid v5",
        "all ten conversations, all categories; MiniLM, no language model",
        _MEMPALACE,
        1986,
        {"session_recall@5": 0.837, "session_recall@10": 0.889},
    ),
    PublishedRun(
        "MemPalace hybrid, bge-large",
        "all ten conversations, all categories; bge-large embeddings, no language model",
        _MEMPALACE,
        1986,
        {"session_recall@10": 0.924},
    ),
    PublishedRun(
        "MemPalace hybrid",
        "the same five conversations (development portion), all categories; MiniLM, no language model",
        f"{_MEMPALACE}{FROM_NOTES}",
        None,
        {
            "session_recall@5": 0.819,
            "session_recall@10": 0.916,
            "session_recall_all@5": 0.771,
            "session_recall_all@10": 0.878,
        },
    ),
)
