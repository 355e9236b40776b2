"""The rows of the papers' tables as experiments by name.

A row is what differs between the lines of a table, not the models that its authors ran: every row embeds with the model
that is set, and is read by the chat model that is set, unless it names another. A row that needs what Memoir has not is
listed with what it needs, and not run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from graph.models.names import is_named

READER = "a chat model as reader (model=NAME)"
CLASSIFIER = "a chat model as classifier (model=NAME)"
JUDGED = ("judge_accuracy", "token_f1", "containment")
"""Tables of answers judged by a language model; without one the two others stand in."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: its settings as "name=value", and what it `needs` beside them."""

    label: str
    settings: tuple[str, ...] = ()
    needs: str = ""

    def runs_with(self, model: str) -> bool:
        """Whether it can be run, with this chat model."""
        return not self.needs or (self.needs in (READER, CLASSIFIER) and is_named(model))


@dataclass(frozen=True, slots=True)
class Preset:
    """A table of a paper: its rows, and the figures that it shows.

    `ability` names the part of the benchmark that the table is about, where it is not the whole; the rows are run on
    the whole, and that part is read off the report by ability. `remark` says what differs from the paper throughout.
    """

    name: str
    title: str
    benchmark: str
    source: str
    metrics: tuple[str, ...]
    rows: tuple[Row, ...]
    ability: str = ""
    remark: str = ""


def _at(metrics: Iterable[str], cutoffs: Iterable[int]) -> tuple[str, ...]:
    cuts = tuple(cutoffs)
    return tuple(f"{metric}@{k}" for metric in metrics for k in cuts)


# One retriever and nothing else: what a table compares must not be mended by what it does not have.
_FACTORS = ("coverage", "length", "speaker", "time", "neighbours", "session")
_ALONE = (
    "learner=none",
    "classifier=none",
    "views=off",
    "search.voice=off",
    *(f"search.{factor}=0" for factor in _FACTORS),
)
_BM25 = (*_ALONE, "time_filter=off", "search.dense_weight=0")
_DENSE = (*_ALONE, "time_filter=off", "search.dense_weight=1")
_HYBRID = (*_ALONE, "time_filter=off", "search.dense_weight=0.5")

_EXTRACTIVE, _BY_MODEL = "reader=extractive", "reader=auto"

_PERLTQA = "Du et al. 2024, arXiv:2402.16288"
_LONGMEMEVAL = "Wu et al., ICLR 2025, arXiv:2410.10813"
_MADIAL = "He et al., NAACL 2025, arXiv:2409.15240"
_DIALSIM = "Kim et al. 2024, arXiv:2406.13144"


# --- PerLTQA

_WITHOUT_CLASSIFICATION = ("given=memory", "remembered=both", "classifier=none")
_WITH_CLASSIFICATION = ("given=memory", "remembered=both", "classifier=learned", "rerank.alpha=0.5", "rerank.beta=0.5")

PERLTQA_3 = Preset(
    "perltqa-table-3",
    "PerLTQA, table 3: is a question about semantic or episodic memory?",
    "perltqa",
    f"{_PERLTQA}, table 3",
    ("classification_accuracy", "classification_precision", "classification_recall", "classification_f1"),
    (
        Row("no classifier", ("classifier=none", "reader=none")),
        Row("learned", ("classifier=learned", "reader=none")),
        Row("BERT-base", ("reader=none",), "BERT-base trained on the benchmark's own questions"),
        Row("instruction", ("classifier=llm", "reader=none"), CLASSIFIER),
        Row("few-shot", ("classifier=llm-few-shot", "reader=none"), CLASSIFIER),
    ),
    remark="the learned classifier has seen no question of the benchmark",
)

PERLTQA_4 = Preset(
    "perltqa-table-4",
    "PerLTQA, table 4: retrieval by words or by meaning",
    "perltqa",
    f"{_PERLTQA}, table 4",
    _at(["recall"], (1, 2, 3, 5)),
    (
        Row("BM25", (*_BM25, "reader=none")),
        Row("embeddings", (*_DENSE, "reader=none")),
        Row("both (not in the paper)", (*_HYBRID, "reader=none")),
        Row("DPR", (*_DENSE, "reader=none"), "DPR trained on the benchmark's own questions"),
        Row("Contriever", (*_DENSE, "reader=none"), "Contriever's weights"),
    ),
    remark="seconds a query are in the report's timing",
)

PERLTQA_5 = Preset(
    "perltqa-table-5",
    "PerLTQA, table 5: answers with and without classification and retrieval",
    "perltqa",
    f"{_PERLTQA}, table 5",
    ("anchor_map", "judge_accuracy"),
    (
        Row("without memory", ("given=nothing", _EXTRACTIVE)),
        Row("retrieval, no classification", (*_WITHOUT_CLASSIFICATION, _EXTRACTIVE)),
        Row("retrieval and classification", (*_WITH_CLASSIFICATION, _EXTRACTIVE)),
        Row("without memory, language model", ("given=nothing", _BY_MODEL), READER),
        Row("retrieval, no classification, language model", (*_WITHOUT_CLASSIFICATION, _BY_MODEL), READER),
        Row("retrieval and classification, language model", (*_WITH_CLASSIFICATION, _BY_MODEL), READER),
    ),
)

PERLTQA_6 = Preset(
    "perltqa-table-6",
    "PerLTQA, table 6: answers from no, incorrect and correct retrieval",
    "perltqa",
    f"{_PERLTQA}, table 6",
    ("anchor_map", "judge_accuracy"),
    (
        Row("NR: no retrieval", ("given=nothing", _EXTRACTIVE)),
        Row("IR: incorrect retrieval", ("given=wrong", _EXTRACTIVE)),
        Row("CR: correct retrieval", ("given=oracle", _EXTRACTIVE)),
        Row("NR, language model", ("given=nothing", _BY_MODEL), READER),
        Row("IR, language model", ("given=wrong", _BY_MODEL), READER),
        Row("CR, language model", ("given=oracle", _BY_MODEL), READER),
    ),
)

PERLTQA_FIGURE_4 = Preset(
    "perltqa-figure-4",
    "PerLTQA, figure 4: answers from semantic memory, episodic memory, both",
    "perltqa",
    f"{_PERLTQA}, figure 4",
    ("anchor_map",),
    (
        Row("semantic only", ("given=memory", "remembered=semantic", "classifier=none")),
        Row("episodic only", ("given=memory", "remembered=episodic", "classifier=none")),
        Row("both", _WITHOUT_CLASSIFICATION),
        Row("both, with classifier", _WITH_CLASSIFICATION),
    ),
)


# --- LongMemEval

_KEYS = (
    ("K = V", ("key=value", "keys=merged"), ""),
    ("K = summary", (), "a key that replaces the text instead of adding to it"),
    ("K = fact", (), "a key that replaces the text instead of adding to it"),
    ("K = keyphrase", (), "a key that replaces the text instead of adding to it"),
    ("K = V + summary", ("key=value+summary", "keys=merged"), ""),
    ("K = V + fact", ("key=value+facts", "keys=merged"), ""),
    ("K = V + keyphrase", ("key=value+keyphrases", "keys=merged"), ""),
)

LONGMEMEVAL_3 = Preset(
    "longmemeval-table-3",
    "LongMemEval, table 3: by which key a round or a session is found",
    "longmemeval",
    f"{_LONGMEMEVAL}, table 3",
    (*_at(["session_recall_all", "turn_recall_all", "ndcg_official"], (5, 10)), "judge_accuracy"),
    tuple(
        Row(f"value = {value}, {key}", (*_DENSE, f"granularity={value}", *settings), needs)
        for value in ("round", "session")
        for key, settings, needs in _KEYS
    ),
    remark="facts, summaries and key phrases come from rules, not from a language model; the paper's table is on M",
)

LONGMEMEVAL_4 = Preset(
    "longmemeval-table-4",
    "LongMemEval, table 4: temporal questions with and without the time filter",
    "longmemeval",
    f"{_LONGMEMEVAL}, table 4",
    _at(["session_recall_all", "turn_recall_all", "ndcg_official"], (5, 10)),
    tuple(
        Row(
            f"value = {value}, {key}, {label}",
            (*_ALONE, "search.dense_weight=1", "reader=none", f"granularity={value}", added, "keys=merged", *settings),
            needs,
        )
        for value in ("session", "round")
        for key, added in (("K = V", "key=value"), ("K = V + fact", "key=value+facts"))
        for label, settings, needs in (
            ("no filter", ("time_filter=off", "times=asked"), ""),
            ("filter by rules", ("time_filter=on", "times=asked"), ""),
            ("filter by the evidence's dates (not in the paper)", ("time_filter=on", "times=oracle"), ""),
            ("filter by a language model", ("time_filter=on", "times=asked"), "a language model that reads times"),
        )
    ),
    ability="temporal-reasoning",
    remark="the time is read from the question by rules; the paper lets GPT-4o or Llama 3.1 8B read it",
)

LONGMEMEVAL_FIGURE_6 = Preset(
    "longmemeval-figure-6",
    "LongMemEval, figure 6: how the evidence is read, by method and format",
    "longmemeval",
    f"{_LONGMEMEVAL}, figure 6",
    JUDGED,
    (
        Row("extractive (not in the paper)", ("given=oracle", "reader=extractive")),
        *(
            Row(f"{form}, {method}", ("given=oracle", _BY_MODEL, f"format={put}", f"method={way}"), READER)
            for form, put in (("natural language", "nl"), ("JSON", "json"))
            for method, way in (("direct", "direct"), ("Chain-of-Note", "con"))
        ),
    ),
    remark="the reader gets the evidence itself, so that only the reading differs",
)

_TOGETHER = ("pooled=true", "reader=none")

LONGMEMEVAL_POOLED = Preset(
    "longmemeval-pooled",
    "LongMemEval, every history told to one persona (not in the paper)",
    "longmemeval",
    _LONGMEMEVAL,
    _at(["session_recall", "session_recall_any", "session_recall_all", "turn_recall"], (1, 5, 10)),
    (
        Row("as in a chat", _TOGETHER),
        Row("words alone", (*_TOGETHER, "search.dense_weight=0")),
        Row("meaning alone", (*_TOGETHER, "search.dense_weight=1")),
    ),
    remark="each question is asked of all the histories at once, as of its own date",
)


# --- MADial-Bench

_OTHER_WEIGHTS = "its weights, which do not come with Memoir"

MADIAL_4 = Preset(
    "madial-table-4",
    "MADial-Bench, table 4: recalling memories from a dialogue",
    "madial-bench",
    f"{_MADIAL}, table 4",
    _at(["map", "mrr", "ndcg_official", "recall", "precision", "geometric_mean"], (1, 3, 5, 10)),
    (
        Row("embeddings", (*_DENSE, "reader=none")),
        Row("BM25 (not in the paper)", (*_BM25, "reader=none")),
        Row("both (not in the paper)", (*_HYBRID, "reader=none")),
        Row("text-embedding-3-large", (*_DENSE, "reader=none"), "a hosted embedding"),
        Row("bge-m3", (*_DENSE, "reader=none", "embedding_model=BAAI/bge-m3"), _OTHER_WEIGHTS),
        Row("gte", (*_DENSE, "reader=none"), _OTHER_WEIGHTS),
        Row("jina", (*_DENSE, "reader=none"), _OTHER_WEIGHTS),
    ),
    remark="the nDCG is the authors', normalised by what was retrieved",
)


# --- DialSim

_STORES = (("utterance", "turn", 20), ("session", "session", 10), ("session summary", "summary", 15))
"""What is stored, the setting for it, and how many are read of it (the authors' simulator.py, largest models)."""

_AS_ASKED = ("simulation.answers=multiple-choice", "simulation.time_limit_s=6")
_ORIGINAL = (*_AS_ASKED, "simulation.names=original")
_SESSIONS = ("given=memory", "granularity=session", "search.k=10", "budget=10")

DIALSIM_3 = Preset(
    "dialsim-table-3",
    "DialSim, table 3: what is stored and how it is found",
    "dialsim",
    f"{_DIALSIM}, table 3; store sizes from github.com/jiho283/Simulator, simulator.py",
    ("choice_accuracy",),
    (
        *(
            Row(
                f"{store}, {retriever}",
                (*settings, *_ORIGINAL, "given=memory", f"granularity={held}", f"search.k={read}", f"budget={read}"),
            )
            for retriever, settings in (("BM25", _BM25), ("embeddings", _DENSE))
            for store, held, read in _STORES
        ),
        Row("oracle", (*_ORIGINAL, "given=oracle", "granularity=session")),
        Row("no retrieval", (*_ORIGINAL, "given=everything", "granularity=session"), READER),
        Row("session, BM25, names anonymised", (*_BM25, *_SESSIONS, *_AS_ASKED, "simulation.names=anonymised")),
        Row("session, BM25, names swapped", (*_BM25, *_SESSIONS, *_AS_ASKED, "simulation.names=swapped")),
    ),
    remark="a summary is made of a session's own sentences; the paper's are written by the language model that answers",
)


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        PERLTQA_3,
        PERLTQA_4,
        PERLTQA_5,
        PERLTQA_6,
        PERLTQA_FIGURE_4,
        LONGMEMEVAL_3,
        LONGMEMEVAL_4,
        LONGMEMEVAL_FIGURE_6,
        LONGMEMEVAL_POOLED,
        MADIAL_4,
        DIALSIM_3,
    )
}
"""Every table that can be run, by name."""
