"""Settings that rows of several papers' tables share."""

from __future__ import annotations

from memory.search.scoring import FACTORS

ALONE = (
    "learner=none",
    "classifier=none",
    "views=off",
    "search.voice=off",
    *(f"search.{name}=0" for name in ("coverage", *FACTORS)),
)
"""One retriever and nothing else: the papers' systems have none of Memoir's other factors."""

BM25 = (*ALONE, "time_filter=off", "search.dense_weight=0")
DENSE = (*ALONE, "time_filter=off", "search.dense_weight=1")
HYBRID = (*ALONE, "time_filter=off", "search.dense_weight=0.5")

EXTRACTIVE, BY_MODEL = "reader=extractive", "reader=auto"
