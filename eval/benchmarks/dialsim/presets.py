"""DialSim's tables as presets."""

from __future__ import annotations

from eval.benchmarks.types import BM25, DENSE, READER, Preset, Row

PAPER = "Kim et al. 2024, arXiv:2406.13144"

_STORES = (("utterance", "turn", 20), ("session", "session", 10), ("session summary", "summary", 15))
"""What is stored, the setting for it, and how many are read of it (the authors' simulator.py, largest models)."""

_AS_ASKED = ("simulation.answers=multiple-choice", "simulation.time_limit_s=6")
_ORIGINAL = (*_AS_ASKED, "simulation.names=original")
_SESSIONS = ("given=memory", "granularity=session", "search.k=10", "budget=10")

TABLE_3 = Preset(
    "dialsim-table-3",
    "DialSim, table 3: what is stored and how it is found",
    "dialsim",
    f"{PAPER}, table 3; store sizes from github.com/jiho283/Simulator, simulator.py",
    ("choice_accuracy",),
    (
        *(
            Row(
                f"{store}, {retriever}",
                (*settings, *_ORIGINAL, "given=memory", f"granularity={stored}", f"search.k={read}", f"budget={read}"),
            )
            for retriever, settings in (("BM25", BM25), ("embeddings", DENSE))
            for store, stored, read in _STORES
        ),
        Row("oracle", (*_ORIGINAL, "given=oracle", "granularity=session")),
        Row("no retrieval", (*_ORIGINAL, "given=everything", "granularity=session"), READER),
        Row("session, BM25, names anonymised", (*BM25, *_SESSIONS, *_AS_ASKED, "simulation.names=anonymised")),
        Row("session, BM25, names swapped", (*BM25, *_SESSIONS, *_AS_ASKED, "simulation.names=swapped")),
    ),
    remark="a summary is made of a session's own sentences; the paper's are written by the language model that answers",
)

DIALSIM_TABLES = (TABLE_3,)
