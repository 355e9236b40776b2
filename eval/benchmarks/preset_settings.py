"""Settings that rows of several papers' tables share."""

from __future__ import annotations

_FACTORS = ("coverage", "length", "speaker", "time", "neighbours", "session")
ALONE = (
    "learner=none",
    "classifier=none",
    "views=off",
    "search.voice=off",
    *(f"search.{factor}=0" for factor in _FACTORS),
)
"""One retriever and nothing else: the papers' systems have none of Memoir's other factors."""

BM25 = (*ALONE, "time_filter=off", "search.dense_weight=0")
DENSE = (*ALONE, "time_filter=off", "search.dense_weight=1")
HYBRID = (*ALONE, "time_filter=off", "search.dense_weight=0.5")

EXTRACTIVE, BY_MODEL = "reader=extractive", "reader=auto"
