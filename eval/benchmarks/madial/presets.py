"""MADial-Bench's tables as presets."""

from __future__ import annotations

from eval.benchmarks.types import BM25, DENSE, HYBRID, Preset, Row, at_cutoffs

PAPER = "He et al., NAACL 2025, arXiv:2409.15240"

_OTHER_WEIGHTS = "its weights, which do not come with Memoir"

TABLE_4 = Preset(
    "madial-table-4",
    "MADial-Bench, table 4: recalling memories from a dialogue",
    "madial-bench",
    f"{PAPER}, table 4",
    at_cutoffs(["map", "mrr", "ndcg_official", "recall", "precision", "geometric_mean"], (1, 3, 5, 10)),
    (
        Row("embeddings", (*DENSE, "reader=none")),
        Row("BM25 (not in the paper)", (*BM25, "reader=none")),
        Row("both (not in the paper)", (*HYBRID, "reader=none")),
        Row("text-embedding-3-large", (*DENSE, "reader=none"), "a hosted embedding"),
        Row("bge-m3", (*DENSE, "reader=none", "embedding_model=BAAI/bge-m3"), _OTHER_WEIGHTS),
        Row("gte", (*DENSE, "reader=none"), _OTHER_WEIGHTS),
        Row("jina", (*DENSE, "reader=none"), _OTHER_WEIGHTS),
    ),
    remark="the nDCG is the authors', normalised by what was retrieved",
)

MADIAL_TABLES = (TABLE_4,)
