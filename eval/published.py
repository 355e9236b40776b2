"""Figures that others published, to stand beside ours with the conditions under which they were measured.

Each was read in the source it names unless that says otherwise: in a transcription of it, or as Memoir's design notes
give it, with the source unread. Values are fractions of 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Published:
    """One figure: `metric` by our name for it, `n` how many questions it is of, where that is known.

    `conditions` says over which portion and with which models, and so what keeps it from being compared outright.
    """

    benchmark: str
    metric: str
    value: float
    n: int | None
    system: str
    conditions: str
    source: str


def beside(benchmark: str, metrics: Iterable[str]) -> tuple[Published, ...]:
    """What others published for a benchmark under any of these metrics, in the order of `PUBLISHED`."""
    wanted = frozenset(metrics)
    return tuple(p for p in PUBLISHED if p.benchmark == benchmark and p.metric in wanted)


@dataclass(frozen=True, slots=True)
class _Run:
    """What the figures of one run have in common."""

    system: str
    conditions: str
    source: str
    n: int | None
    values: Mapping[str, float]

    def figures(self, benchmark: str) -> Iterator[Published]:
        for metric, value in self.values.items():
            yield Published(benchmark, metric, value, self.n, self.system, self.conditions, self.source)


_NOTED = "; figure as Memoir's design notes give it"
_TRANSCRIBED = ", read in transcription"
_RECALL_ALL = f"{_TRANSCRIBED}; its recall is taken to be of all the evidence, as a replication on M found"

_MEMPALACE = "github.com/MemPalace/mempalace, benchmarks/BENCHMARKS.md"
_MEMWEAVE = "github.com/sachinsharma9780/memweave, benchmarks"
_LONGMEMEVAL = "Wu et al., ICLR 2025, arXiv:2410.10813"
_PERLTQA = "Du et al. 2024, arXiv:2402.16288"
_MADIAL = "He et al., NAACL 2025, arXiv:2409.15240"
_MADIAL_CODE = "github.com/hejunqing/MADial-Bench"

_LONGMEMEVAL_RUNS = (
    _Run(
        "memweave",
        "all of S; MiniLM, no language model; user turns only; boosts tuned on 50 of the questions",
        f"{_MEMWEAVE}{_NOTED}",
        None,
        {"session_recall_all@5": 0.890, "session_recall_all@10": 0.951},
    ),
    _Run(
        "memweave",
        "450 questions of S that its boosts were not tuned on; MiniLM, no language model; user turns only",
        f"{_MEMWEAVE}/README.md",
        450,
        {"session_recall_any@5": 0.980, "session_recall_any@10": 0.9911},
    ),
    _Run(
        "memweave, vectors alone",
        "450 questions of S; MiniLM, no language model; user turns only",
        f"{_MEMWEAVE}/RESULTS.md",
        450,
        {"session_recall_any@5": 0.9467, "session_recall_any@10": 0.9756, "session_recall_all@5": 0.8289},
    ),
    _Run(
        "memweave",
        "the same development portion of S without _abs; MiniLM, no language model",
        f"{_MEMWEAVE}{_NOTED}",
        28,
        {"session_recall_all@5": 0.893, "session_recall_all@10": 0.929},
    ),
    _Run(
        "MemPalace raw",
        "all of S; MiniLM, no language model; user turns only",
        _MEMPALACE,
        500,
        {"session_recall_any@5": 0.966},
    ),
    _Run(
        "MemPalace raw",
        "all of S; MiniLM, no language model; user turns only",
        f"{_MEMPALACE}{_NOTED}",
        None,
        {"session_recall_all@5": 0.857},
    ),
    _Run(
        "MemPalace's method",
        "the same development portion of S without _abs; MiniLM, no language model",
        f"{_MEMPALACE}{_NOTED}",
        28,
        {"session_recall_all@5": 0.786, "session_recall_all@10": 0.929},
    ),
    _Run(
        "YourMemory",
        "all of S; multi-qa-mpnet-base-dot-v1 (768 dimensions), no language model; user turns only",
        "github.com/sachitrafa/YourMemory, BENCHMARKS.md",
        500,
        {"session_recall_all@5": 0.848, "session_recall_any@5": 0.958},
    ),
    _Run(
        "BM25, sessions, K = V",
        "M (some 500 sessions a question, not S's 50), without _abs; no language model",
        f"{_LONGMEMEVAL}, table 9{_RECALL_ALL}",
        470,
        {
            "session_recall_all@5": 0.634,
            "session_recall_all@10": 0.710,
            "ndcg_official@5": 0.516,
            "ndcg_official@10": 0.540,
        },
    ),
    _Run(
        "Stella V5, sessions, K = V",
        "M (some 500 sessions a question, not S's 50), without _abs; an embedding of 1.5 billion parameters",
        f"{_LONGMEMEVAL}, table 3{_RECALL_ALL}",
        470,
        {
            "session_recall_all@5": 0.706,
            "session_recall_all@10": 0.783,
            "ndcg_official@5": 0.617,
            "ndcg_official@10": 0.638,
        },
    ),
    _Run(
        "Stella V5, sessions, K = V + fact",
        "M (some 500 sessions a question, not S's 50), without _abs; an embedding of 1.5 billion parameters, "
        "facts written by Llama 3.1 8B",
        f"{_LONGMEMEVAL}, table 3{_RECALL_ALL}",
        470,
        {
            "session_recall_all@5": 0.732,
            "session_recall_all@10": 0.862,
            "ndcg_official@5": 0.620,
            "ndcg_official@10": 0.652,
        },
    ),
    _Run(
        "GPT-4o, the whole history",
        "all of S; no retrieval: a hosted language model reads 115,000 tokens with Chain-of-Note, GPT-4o judges",
        f"{_LONGMEMEVAL}{_TRANSCRIBED}",
        None,
        {"judge_accuracy": 0.640},
    ),
    _Run(
        "GPT-4o, the evidence alone",
        "oracle: the sessions with the answer are handed to a hosted language model, GPT-4o judges",
        f"{_LONGMEMEVAL}{_TRANSCRIBED}",
        None,
        {"judge_accuracy": 0.924},
    ),
)

_LOCOMO_RUNS = (
    _Run(
        "MemPalace hybrid v5",
        "all ten conversations, all categories; MiniLM, no language model",
        _MEMPALACE,
        1986,
        {"session_recall@5": 0.837, "session_recall@10": 0.889},
    ),
    _Run(
        "MemPalace hybrid, bge-large",
        "all ten conversations, all categories; bge-large embeddings, no language model",
        _MEMPALACE,
        1986,
        {"session_recall@10": 0.924},
    ),
    _Run(
        "MemPalace hybrid",
        "the same five conversations (development portion), all categories; MiniLM, no language model",
        f"{_MEMPALACE}{_NOTED}",
        None,
        {
            "session_recall@5": 0.819,
            "session_recall@10": 0.916,
            "session_recall_all@5": 0.771,
            "session_recall_all@10": 0.878,
        },
    ),
)

_PERLTQA_RUNS = (
    _Run(
        "BM25",
        "the paper's release and questions of all its characters, not the English v2 release",
        f"{_PERLTQA}, table 4{_NOTED}",
        None,
        {"recall@1": 0.705, "recall@5": 0.895},
    ),
    _Run(
        "DPR",
        "the paper's release and questions of all its characters; trained on the benchmark's own questions",
        f"{_PERLTQA}, table 4{_NOTED}",
        None,
        {"recall@1": 0.602, "recall@5": 0.919},
    ),
    _Run(
        "BM25",
        "the same character of the English v2 release, over its whole memory (67 items)",
        "measured on the development portion; figure as Memoir's design notes give it",
        202,
        {"recall@1": 0.465, "recall@5": 0.916},
    ),
    _Run(
        "BERT-base",
        "the paper's release; trained on the benchmark's own questions",
        f"{_PERLTQA}, table 3; accuracy as Memoir's design notes give it, F1 as memorypapers.org does",
        None,
        {"classification_accuracy": 0.956, "classification_f1": 0.957},
    ),
    _Run(
        "gpt-3.5-turbo",
        "the paper's release, best setting; a hosted language model writes the answers; the English v2 release holds "
        "about half of the anchors",
        f"{_PERLTQA}, table 5{_NOTED}",
        None,
        {"anchor_map": 0.756},
    ),
)

_MADIAL_RUNS = (
    _Run(
        "text-embedding-3-large",
        "English, all dialogues; a hosted embedding of 3,072 dimensions",
        f"{_MADIAL}, table 4{_NOTED}",
        160,
        {"geometric_mean@1": 0.562, "geometric_mean@3": 0.580, "geometric_mean@5": 0.577, "geometric_mean@10": 0.546},
    ),
    _Run(
        "bge-m3",
        "English, all dialogues; a large local embedding",
        f"{_MADIAL}, table 4{_NOTED}",
        160,
        {"geometric_mean@1": 0.450, "geometric_mean@3": 0.476, "geometric_mean@5": 0.470, "geometric_mean@10": 0.469},
    ),
    _Run(
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
    _Run(
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

PUBLISHED: tuple[Published, ...] = tuple(
    figure
    for benchmark, runs in (
        ("longmemeval", _LONGMEMEVAL_RUNS),
        ("locomo", _LOCOMO_RUNS),
        ("perltqa", _PERLTQA_RUNS),
        ("madial-bench", _MADIAL_RUNS),
    )
    for run in runs
    for figure in run.figures(benchmark)
)
"""Every figure, by benchmark."""
