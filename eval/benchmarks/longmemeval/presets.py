"""LongMemEval's tables as presets."""

from eval.benchmarks.types import (
    ALONE,
    BM25,
    BY_MODEL,
    DENSE,
    EXTRACTIVE,
    READER,
    TIME_READER,
    Preset,
    Row,
    at_cutoffs,
    foreign_code,
    weights,
)

PAPER = "Wu et al., ICLR 2025, arXiv:2410.10813"

_BY_USER = "indexed=user"
"""The official script indexes what the user says only, and so do the systems whose figures others publish."""

_OFFICIAL = ("session_recall_all_official", "ndcg_official", "turn_recall_all_official", "turn_ndcg_official")


def _overridden(settings: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    """Settings, where the others do not set the same, and the others."""
    names = {setting.partition("=")[0] for setting in others}
    return (*(setting for setting in settings if setting.partition("=")[0] not in names), *others)


_FLAT = (*ALONE, "search.dense_weight=1", _BY_USER, "keys=merged")

_FILTERED = ("time_filter=on", "outside=dropped")
_BY_DESIGN = ("format=json", "method=direct", "time_filter=off", "outside=kept", "strength_days=0", "key=value")

TABLE_2 = Preset(
    "longmemeval-table-2",
    "LongMemEval, table 2: nine memory systems by what they index, how they retrieve and how they read",
    "longmemeval",
    f"{PAPER}, table 2, appendix C.2",
    (*at_cutoffs(_OFFICIAL, (5, 10)), "judge_accuracy"),
    tuple(
        Row(label, _overridden((*_FLAT, *_BY_DESIGN), settings), needs)
        for label, settings, needs in (
            ("in-context RAG, rounds", ("granularity=round",), ""),
            ("in-context RAG, sessions", ("granularity=session",), ""),
            ("MemoryBank: rounds, which fade", ("granularity=round", "strength_days=1"), ""),
            ("LD-Agent, its index only: session summaries", ("granularity=summary",), ""),
            ("LD-Agent", ("granularity=summary",), "a query extended with what is extracted from a question"),
            ("Chain-of-Note", ("granularity=round", "method=con"), ""),
            ("ChatGPT and Coze, their index only: facts", ("granularity=facts",), ""),
            ("ChatGPT", ("granularity=facts",), "its keys, retrieval and updates, which are not public"),
            ("Coze", ("granularity=facts",), "its keys, retrieval and updates, which are not public"),
            ("RAPTOR", ("granularity=round",), "a tree of summaries by a chat model"),
            ("MemWalker", ("granularity=round",), "a tree of summaries, and a chat model that walks it"),
            ("HippoRAG", ("granularity=round",), "a graph of entities, and personalised PageRank"),
            ("the paper's own design", ("granularity=round", "key=value+facts", *_FILTERED, "method=con"), ""),
        )
    ),
    remark="the paper compares designs and gives no figures; facts and summaries come from rules, times from the "
    "question's words; the systems' own prompts and updates, and MemoryBank's daily summaries, are not reproduced; "
    "method takes effect with a chat model",
)

_EXTRACTED = (("summary", "summary"), ("fact", "facts"), ("keyphrase", "keyphrases"))
_VALUES = ("round", "session")
_V = ("K = V", ("key=value", "keys=merged"))
_EXPANDED = tuple((f"K = V + {name}", (f"key=value+{key}", "keys=merged")) for name, key in _EXTRACTED)
_BY_RULES = "facts, summaries and key phrases come from rules, not from a language model; the paper's table is on M"

TABLE_3 = Preset(
    "longmemeval-table-3",
    "LongMemEval, table 3: by which key a round or a session is found",
    "longmemeval",
    f"{PAPER}, table 3",
    (*at_cutoffs(_OFFICIAL, (5, 10)), "judge_accuracy"),
    tuple(
        Row(f"value = {value}, {key}", (*DENSE, _BY_USER, f"granularity={value}", *settings))
        for value in _VALUES
        for key, settings in (
            _V,
            *((f"K = {name}", (f"key={key}", "keys=merged")) for name, key in _EXTRACTED),
            *_EXPANDED,
        )
    ),
    remark=f"{_BY_RULES}; words that give none keep themselves as their key",
)

FIGURE_5 = Preset(
    "longmemeval-figure-5",
    "LongMemEval, figure 5: what is stored and read",
    "longmemeval",
    f"{PAPER}, section 5.2",
    (*at_cutoffs(_OFFICIAL, (5, 10)), "judge_accuracy"),
    tuple(
        Row(f"value = {label}", (*DENSE, _BY_USER, f"granularity={value}", *_V[1]))
        for label, value in (
            ("session", "session"),
            ("session summary", "summary"),
            ("round", "round"),
            ("round summary", "round-summary"),
            ("facts of a round", "facts"),
        )
    ),
    remark=f"{_BY_RULES}; how much is read is the setting budget, a number of memories",
)

_READ_AS = (
    ("the evidence", ("given=oracle", "granularity=session", "key=value")),
    ("the whole history", ("given=everything", "granularity=session", "key=value")),
    ("rounds, K = V", ("given=memory", "granularity=round", "key=value")),
    ("rounds, K = V + fact", ("given=memory", "granularity=round", "key=value+facts")),
)

TABLE_8 = Preset(
    "longmemeval-table-8",
    "LongMemEval, table 8: the evidence, the whole history and what is retrieved, as a chat model reads it",
    "longmemeval",
    f"{PAPER}, section E.1; the first two as in section 3.4",
    ("judge_accuracy", "token_f1", "containment", *at_cutoffs(_OFFICIAL, (5, 10))),
    tuple(
        Row(f"{label}, {way}", (*DENSE, _BY_USER, *settings, *reader), needs)
        for label, settings in _READ_AS
        for way, reader, needs in (
            ("direct", (BY_MODEL, "format=json", "method=direct"), READER),
            ("Chain-of-Note", (BY_MODEL, "format=json", "method=con"), READER),
            ("extractive (not in the paper)", (EXTRACTIVE,), ""),
        )
    ),
    remark="run it once for each chat model; facts come from rules",
)

TABLE_9 = Preset(
    "longmemeval-table-9",
    "LongMemEval, table 9: retrievers, by value and key",
    "longmemeval",
    f"{PAPER}, table 9",
    at_cutoffs(_OFFICIAL, (5, 10)),
    tuple(
        Row(
            f"{label}, value = {value}, {key}", (*retriever, _BY_USER, "reader=none", f"granularity={value}", *settings)
        )
        for label, retriever in (("BM25", BM25), ("embeddings", DENSE))
        for value in _VALUES
        for key, settings in (_V, *_EXPANDED)
    ),
    remark=f"{_BY_RULES}; Contriever needs {weights('facebook/contriever', 'the rows “embeddings”')}; Stella V5 needs "
    f"{foreign_code('NovaSearch/stella_en_1.5B_v5')}",
)

TABLE_10 = Preset(
    "longmemeval-table-10",
    "LongMemEval, table 10: keys merged with the value, or ranked beside it",
    "longmemeval",
    f"{PAPER}, table 10",
    (*at_cutoffs(_OFFICIAL, (5, 10)), "judge_accuracy"),
    tuple(
        Row(f"value = {value}, {key}", (*DENSE, _BY_USER, f"granularity={value}", *settings))
        for value in _VALUES
        for key, settings in (
            _V,
            *(
                (f"K = V + {name}, {label}", (f"key=value+{key}", f"keys={keys}"))
                for name, key in _EXTRACTED
                for label, keys in (("rank merging", "separate"), ("key merging", "merged"))
            ),
        )
    ),
    remark=_BY_RULES,
)

_INDEX = (*ALONE, "search.dense_weight=1", "reader=none", _BY_USER)

TABLE_4 = Preset(
    "longmemeval-table-4",
    "LongMemEval, table 4: temporal questions with and without the time filter",
    "longmemeval",
    f"{PAPER}, table 4",
    at_cutoffs(_OFFICIAL, (5, 10)),
    tuple(
        Row(
            f"value = {value}, {key}, {label}",
            (*_INDEX, f"granularity={value}", added, "keys=merged", *settings),
            needs,
        )
        for value in ("session", "round")
        for key, added in (("K = V", "key=value"), ("K = V + fact", "key=value+facts"))
        for label, settings, needs in (
            ("no filter", ("time_filter=off", "times=asked", "outside=kept"), ""),
            ("filter by rules", (*_FILTERED, "times=asked"), ""),
            ("filter by the evidence's dates (not in the paper)", (*_FILTERED, "times=oracle"), ""),
            ("filter by a language model", (*_FILTERED, "times=model"), TIME_READER),
        )
    ),
    ability="temporal-reasoning",
    remark="rules or the chat model that is set read the time, in the paper GPT-4o and Llama 3.1; a memory is of the "
    "day on which it was said and of the days that it names",
)

_EVIDENCE = ("given=oracle", "granularity=session")

FIGURE_6 = Preset(
    "longmemeval-figure-6",
    "LongMemEval, figure 6: how the evidence is read, by method and format",
    "longmemeval",
    f"{PAPER}, figure 6",
    ("judge_accuracy", "token_f1", "containment"),  # the first needs a judge
    (
        Row("extractive (not in the paper)", (*_EVIDENCE, "reader=extractive")),
        *(
            Row(f"{form}, {method}", (*_EVIDENCE, BY_MODEL, f"format={put}", f"method={way}"), READER)
            for form, put in (("natural language", "nl"), ("JSON", "json"))
            for method, way in (("direct", "direct"), ("Chain-of-Note", "con"))
        ),
    ),
    remark="the reader gets the evidence sessions themselves, so that only the reading differs",
)

_TOGETHER = ("pooled=true", "reader=none")

POOLED = Preset(
    "longmemeval-pooled",
    "LongMemEval, every history told to one persona (not in the paper)",
    "longmemeval",
    PAPER,
    at_cutoffs(["session_recall", "session_recall_any", "session_recall_all", "turn_recall"], (1, 5, 10)),
    (
        Row("as in a chat", (*_TOGETHER, "classifier=learned")),
        Row("BM25 alone", (*_TOGETHER, *BM25)),
        Row("embeddings alone", (*_TOGETHER, *DENSE)),
    ),
    remark="each question is asked of all the histories at once, as of its own date",
)

_CHAT = ("classifier=learned",)

USER_TURNS = Preset(
    "longmemeval-user-turns",
    "LongMemEval, with only the user's turns indexed, as in most published figures (not in the paper)",
    "longmemeval",
    f"{PAPER}, section 3.3; index and metrics of github.com/xiaowu0162/LongMemEval, src/retrieval",
    (*at_cutoffs(["session_recall_any", "session_recall_all"], (5, 10)), *at_cutoffs(_OFFICIAL, (5, 10))),
    tuple(
        Row(label, ("reader=none", f"indexed={indexed}", f"granularity={value}", *settings))
        for label, indexed, value, settings in (
            ("as in a chat", "all", "turn", _CHAT),
            ("as in a chat, user's turns", "user", "turn", _CHAT),
            ("BM25, user's turns", "user", "turn", BM25),
            ("embeddings, user's turns", "user", "turn", DENSE),
            ("BM25, sessions", "user", "session", BM25),
            ("embeddings, sessions", "user", "session", DENSE),
        )
    ),
    remark="others' recall counts every evidence session; the official one those with a marked turn of the user's",
)

LONGMEMEVAL_TABLES = (
    TABLE_2,
    TABLE_3,
    TABLE_4,
    FIGURE_5,
    FIGURE_6,
    TABLE_8,
    TABLE_9,
    TABLE_10,
    POOLED,
    USER_TURNS,
)
