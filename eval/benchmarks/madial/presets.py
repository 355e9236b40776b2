"""MADial-Bench's tables as presets."""

from eval.benchmarks.types import (
    BM25,
    BY_MODEL,
    DENSE,
    EXTRACTIVE,
    HYBRID,
    READER,
    Preset,
    Row,
    at_cutoffs,
    foreign_code,
    weights,
)

PAPER = "He et al., NAACL 2025, arXiv:2409.15240"

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
        Row("text-embedding-3-large", (*DENSE, "reader=none"), "OpenAI's service; Memoir embeds on its own machine"),
        Row("BGE-M3", (*DENSE, "reader=none"), weights("BAAI/bge-m3")),
        Row("GTE", (*DENSE, "reader=none"), foreign_code("Alibaba-NLP/gte-base-en-v1.5")),
        Row("Jina", (*DENSE, "reader=none"), foreign_code("jinaai/jina-embeddings-v2-base-en")),
        Row("Acge, Chinese", (*DENSE, "reader=none"), weights("aspire/acge_text_embedding")),
        Row("Dmeta, Chinese", (*DENSE, "reader=none"), weights("DMetaSoul/Dmeta-embedding-zh")),
        Row("Stella, Chinese", (*DENSE, "reader=none"), "the weights of a version that the paper does not name"),
        Row("BGE-M3 ColBERT, Chinese", (*DENSE, "reader=none"), "an index of a vector for each word; Memoir has none"),
    ),
    remark="the nDCG is the authors', normalised by what was retrieved",
)

_GIVEN = (
    ("setting 1, the relevant memory", "setting-1"),
    ("setting 2, it among four others", "setting-2"),
    ("setting 3, five retrieved", "setting-3"),
    ("what Memoir finds (not in the paper)", "memory"),
)

SETTINGS = Preset(
    "madial-settings",
    "MADial-Bench, tables 8 and 11: replying with a memory, in settings 1 to 3",
    "madial-bench",
    f"{PAPER}, section 3.3.2, tables 8 and 11; metrics from github.com/hejunqing/MADial-Bench, evaluate.py",
    (
        *(f"bleu_{n}" for n in (1, 2, 3, 4)),
        "rouge_l",
        "similarity",
        "intra_dist_1",
        "intra_dist_2",
        "brought_up",
        "brought_up_precision",
        "read_fallback",
    ),
    (
        *(Row(f"{label}, language model", (f"given={given}", BY_MODEL), READER) for label, given in _GIVEN),
        Row("without memory (table 6), language model", ("given=nothing", BY_MODEL), READER),
        *(Row(f"{label}, no language model", (f"given={given}", EXTRACTIVE)) for label, given in _GIVEN),
    ),
    remark="Memoir's own prompt, at the first test-turn of each dialogue; Memoir orders the memories; intra_dist is "
    "the authors' Dist-n; similarity is by the embedding model that is set, the paper's is BERTScore; with what Memoir "
    "finds, a message that asks for something remembered is answered by the reader",
)

MADIAL_TABLES = (TABLE_4, SETTINGS)
