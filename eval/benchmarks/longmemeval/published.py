"""Figures that others published on LongMemEval."""

from __future__ import annotations

from eval.benchmarks.longmemeval.presets import PAPER
from eval.benchmarks.types import FROM_NOTES, PublishedRun

_MEMPALACE = "github.com/MemPalace/mempalace, benchmarks/BENCHMARKS.md"
_TRANSCRIBED = ", read in transcription"
_RECALL_ALL = f"{_TRANSCRIBED}; its recall is taken to be of all the evidence, as a replication on M found"
_MEMWEAVE = "github.com/sachinsharma9780/memweave, benchmarks"

PUBLISHED = (
    PublishedRun(
        "memweave",
        "all of S; MiniLM, no language model; user turns only; boosts tuned on 50 of the questions",
        f"{_MEMWEAVE}{FROM_NOTES}",
        None,
        {"session_recall_all@5": 0.890, "session_recall_all@10": 0.951},
    ),
    PublishedRun(
        "memweave",
        "450 questions of S that its boosts were not tuned on; MiniLM, no language model; user turns only",
        f"{_MEMWEAVE}/README.md",
        450,
        {"session_recall_any@5": 0.980, "session_recall_any@10": 0.9911},
    ),
    PublishedRun(
        "memweave, vectors alone",
        "450 questions of S; MiniLM, no language model; user turns only",
        f"{_MEMWEAVE}/RESULTS.md",
        450,
        {"session_recall_any@5": 0.9467, "session_recall_any@10": 0.9756, "session_recall_all@5": 0.8289},
    ),
    PublishedRun(
        "memweave",
        "the same development portion of S without _abs; MiniLM, no language model",
        f"{_MEMWEAVE}{FROM_NOTES}",
        28,
        {"session_recall_all@5": 0.893, "session_recall_all@10": 0.929},
    ),
    PublishedRun(
        "MemPalace raw",
        "all of S; MiniLM, no language model; user turns only",
        _MEMPALACE,
        500,
        {"session_recall_any@5": 0.966},
    ),
    PublishedRun(
        "MemPalace raw",
        "all of S; MiniLM, no language model; user turns only",
        f"{_MEMPALACE}{FROM_NOTES}",
        None,
        {"session_recall_all@5": 0.857},
    ),
    PublishedRun(
        "MemPalace's method",
        "the same development portion of S without _abs; MiniLM, no language model",
        f"{_MEMPALACE}{FROM_NOTES}",
        28,
        {"session_recall_all@5": 0.786, "session_recall_all@10": 0.929},
    ),
    PublishedRun(
        "YourMemory",
        "all of S; multi-qa-mpnet-base-dot-v1 (768 dimensions), no language model; user turns only",
        "github.com/sachitrafa/YourMemory, BENCHMARKS.md",
        500,
        {"session_recall_all@5": 0.848, "session_recall_any@5": 0.958},
    ),
    PublishedRun(
        "BM25, sessions, K = V",
        "M (some 500 sessions a question, not S's 50), without _abs; no language model",
        f"{PAPER}, table 9{_RECALL_ALL}",
        470,
        {
            "session_recall_all@5": 0.634,
            "session_recall_all@10": 0.710,
            "ndcg_official@5": 0.516,
            "ndcg_official@10": 0.540,
        },
    ),
    PublishedRun(
        "Stella V5, sessions, K = V",
        "M (some 500 sessions a question, not S's 50), without _abs; an embedding of 1.5 billion parameters",
        f"{PAPER}, table 3{_RECALL_ALL}",
        470,
        {
            "session_recall_all@5": 0.706,
            "session_recall_all@10": 0.783,
            "ndcg_official@5": 0.617,
            "ndcg_official@10": 0.638,
        },
    ),
    PublishedRun(
        "Stella V5, sessions, K = V + fact",
        "M (some 500 sessions a question, not S's 50), without _abs; an embedding of 1.5 billion parameters, "
        "facts written by Llama 3.1 8B",
        f"{PAPER}, table 3{_RECALL_ALL}",
        470,
        {
            "session_recall_all@5": 0.732,
            "session_recall_all@10": 0.862,
            "ndcg_official@5": 0.620,
            "ndcg_official@10": 0.652,
        },
    ),
    PublishedRun(
        "GPT-4o, the whole history",
        "all of S; no retrieval: a hosted language model reads 115,000 tokens with Chain-of-Note, GPT-4o judges",
        f"{PAPER}{_TRANSCRIBED}",
        None,
        {"judge_accuracy": 0.640},
    ),
    PublishedRun(
        "GPT-4o, the evidence alone",
        "oracle: the sessions with the answer are handed to a hosted language model, GPT-4o judges",
        f"{PAPER}{_TRANSCRIBED}",
        None,
        {"judge_accuracy": 0.924},
    ),
)
