"""PerLTQA's tables as presets, and the criteria by which a chat model scores answers in them."""

from eval.benchmarks.types import (
    BM25,
    BY_MODEL,
    CLASSIFIER,
    DENSE,
    EXTRACTIVE,
    HYBRID,
    READER,
    TRAINED,
    Preset,
    Row,
    at_cutoffs,
    weights,
)
from eval.types import Criterion

_BY_MODEL = (BY_MODEL, "max_words=50")
"""The paper asks its models for at most fifty words (section 4.1)."""

_CHECKED = (
    "as in a chat, a model's answer that no memory supports is not used, also where there is no memory to answer from; "
    "read_fallback is the share of answers that the extractive reader gave in its place"
)

PAPER = "Du et al. 2024, arXiv:2402.16288"

_EQUATION_3 = ("classifier=learned", "rerank.classes=kinds", "rerank.alpha=0.5", "rerank.beta=0.5")
"""Re-ranking as printed: two classes, the k best memories of each, both weights 0.5 (section 3.4)."""

_STORES = ("classifier=learned", "rerank.classes=stores", "rerank.alpha=0.05", "rerank.beta=0.5")
"""Re-ranking as in a chat: five stores, and scores standardised over the candidates."""

_TEST = ("questions=test", "reader=none")

_UNCLASSIFIED = ("classifier=none", "rerank.classes=stores", "rerank.alpha=0.5", "rerank.beta=0.5")

_WITHOUT_CLASSIFICATION = ("given=memory", "remembered=both", *_UNCLASSIFIED)
_WITH_CLASSIFICATION = ("given=memory", "remembered=both", *_EQUATION_3)


def _unclassified(retriever: tuple[str, ...]) -> tuple[str, ...]:
    """A retriever's settings without those of the classifier."""
    return tuple(setting for setting in retriever if not setting.startswith("classifier="))


TABLE_3 = Preset(
    "perltqa-table-3",
    "PerLTQA, table 3: memory fusion, with and without classification and retrieval",
    "perltqa",
    f"{PAPER}, table 3",
    ("anchor_map", "correctness", "coherence", "judge_accuracy", "read_fallback"),
    (
        Row("without memory", ("given=nothing", EXTRACTIVE)),
        Row("retrieval, no classification", (*_WITHOUT_CLASSIFICATION, EXTRACTIVE)),
        Row("retrieval and classification", (*_WITH_CLASSIFICATION, EXTRACTIVE)),
        Row("without memory, language model", ("given=nothing", *_BY_MODEL), READER),
        Row("retrieval, no classification, language model", (*_WITHOUT_CLASSIFICATION, *_BY_MODEL), READER),
        Row("retrieval and classification, language model", (*_WITH_CLASSIFICATION, *_BY_MODEL), READER),
    ),
    remark="classification re-ranks by equation 3 as printed, by the learned classifier or, with questions=test and "
    "trained_classifier=FOLDER, by BERT; the paper does not say which classifier and retriever this table used; "
    f"{_CHECKED}",
)

TABLE_4 = Preset(
    "perltqa-table-4",
    "PerLTQA, table 4: classification, is a question about semantic or episodic memory?",
    "perltqa",
    f"{PAPER}, table 4",
    ("classification_accuracy", "classification_precision", "classification_recall", "classification_f1"),
    (
        Row("learned", ("classifier=learned", "trained_classifier=", *_TEST)),
        Row("BERT-base, or P+BERT-base if trained with --instruction", ("classifier=learned", *_TEST), TRAINED),
        Row("instruction", ("classifier=llm", *_TEST), CLASSIFIER),
        Row("few-shot", ("classifier=llm-few-shot", *_TEST), CLASSIFIER),
    ),
    remark="the test questions are of our own split, since the paper prints its sizes alone; the learned classifier "
    "has seen no question of the benchmark",
)

TABLE_5 = Preset(
    "perltqa-table-5",
    "PerLTQA, table 5: retrieval, by words or by meaning",
    "perltqa",
    f"{PAPER}, table 5",
    at_cutoffs(["recall"], (1, 2, 3, 5)),
    (
        Row("BM25", (*BM25, "reader=none")),
        Row("embeddings", (*DENSE, "reader=none")),
        Row("both (not in the paper)", (*HYBRID, "reader=none")),
        Row("DPR", (*DENSE, "reader=none"), "DPR, two encoders trained on the benchmark; no command trains them"),
        Row("Contriever", (*DENSE, "reader=none"), weights("facebook/contriever")),
    ),
    remark="seconds a query are in the report's timing",
)

EQUATION_3 = Preset(
    "perltqa-equation-3",
    "PerLTQA, equation 3: re-ranking by the class of the question",
    "perltqa",
    f"{PAPER}, section 3.4, equation 3, and appendix A.4",
    at_cutoffs(["recall"], (1, 2, 3, 5)),
    tuple(
        Row(f"{retriever}, {label}", (*_unclassified(alone), *settings, "search.k=10", "reader=none"))
        for retriever, alone in (("BM25", BM25), ("embeddings", DENSE))
        for label, settings in (
            ("no classification", _UNCLASSIFIED),
            ("two classes, as printed", _EQUATION_3),
            ("five stores, as in a chat (not in the paper)", _STORES),
        )
    ),
    remark="the paper prints no recall after re-ranking and no k; the learned classifier has seen no question of the "
    "benchmark",
)

TABLE_6 = Preset(
    "perltqa-table-6",
    "PerLTQA, table 6: answers from no, incorrect and correct retrieval",
    "perltqa",
    f"{PAPER}, table 6",
    ("anchor_map", "correctness", "judge_accuracy", "read_fallback"),
    (
        Row("NR: no retrieval", ("given=nothing", EXTRACTIVE)),
        Row("IR: incorrect retrieval", ("given=wrong", EXTRACTIVE)),
        Row("CR: correct retrieval", ("given=oracle", EXTRACTIVE)),
        Row("NR, language model", ("given=nothing", *_BY_MODEL), READER),
        Row("IR, language model", ("given=wrong", *_BY_MODEL), READER),
        Row("CR, language model", ("given=oracle", *_BY_MODEL), READER),
    ),
    remark=_CHECKED,
)

_MEMORIES = (
    ("semantic only", ("given=memory", "remembered=semantic", *_UNCLASSIFIED)),
    ("episodic only", ("given=memory", "remembered=episodic", *_UNCLASSIFIED)),
    ("both", _WITHOUT_CLASSIFICATION),
    ("both, with classifier", _WITH_CLASSIFICATION),
)

FIGURE_4 = Preset(
    "perltqa-figure-4",
    "PerLTQA, figure 4: answers from semantic memory, episodic memory, both; by the kind that is asked about",
    "perltqa",
    f"{PAPER}, figure 4",
    ("anchor_map", "correctness", "read_fallback"),
    (
        *(Row(label, (*settings, EXTRACTIVE)) for label, settings in _MEMORIES),
        *(Row(f"{label}, language model", (*settings, *_BY_MODEL), READER) for label, settings in _MEMORIES),
    ),
    remark=_CHECKED,
    by="kind",
)

PERLTQA_TABLES = (TABLE_3, TABLE_4, TABLE_5, TABLE_6, FIGURE_4, EQUATION_3)

PERLTQA_CRITERIA = (
    Criterion(
        "correctness",
        "1 if it says what a right answer says, in any words; 0.5 if it says a part of it, or adds something wrong; "
        "0 if it says something else, or does not answer",
    ),
    Criterion(
        "coherence",
        "1 if it is clear and reads as one reply to this question, be it right or wrong; 0.5 if a part is unclear, "
        "repeated or beside the question; 0 if it makes no sense as a reply",
    ),
)
"""The paper (section 3.5, tables 3 and 6) has gpt-3.5-turbo score them after MemoryBank (Zhong et al. 2024), whose
labels are 0, 0.5 and 1, and prints neither the prompt nor the labels. The wording here is our own."""
