"""LongMemEval's tables as presets."""

from __future__ import annotations

from eval.benchmarks.types import ALONE, BM25, BY_MODEL, DENSE, READER, Preset, Row, at_cutoffs

PAPER = "Wu et al., ICLR 2025, arXiv:2410.10813"

_BY_USER = "indexed=user"
"""The official script indexes what the user says only, and so do the systems whose figures others publish."""

_OFFICIAL = ("session_recall_all_official", "ndcg_official", "turn_recall_all_official", "turn_ndcg_official")

_FLAT = (*ALONE, "search.dense_weight=1", _BY_USER, "keys=merged")

TABLE_2 = Preset(
    "longmemeval-table-2",
    "LongMemEval, table 2: nine memory systems by what they index, how they retrieve and how they read",
    "longmemeval",
    f"{PAPER}, table 2, appendix C.2",
    (*at_cutoffs(_OFFICIAL, (5, 10)), "judge_accuracy"),
    tuple(
        Row(label, (*_FLAT, f"time_filter={times}", f"granularity={value}", f"key={key}", f"method={method}"), needs)
        for label, value, key, times, method, needs in (
            ("in-context RAG, rounds", "round", "value", "off", "direct", ""),
            ("in-context RAG, sessions", "session", "value", "off", "direct", ""),
            ("MemoryBank", "round", "value", "off", "direct", "summaries stored beside rounds, and a forgetting curve"),
            ("LD-Agent, its index only: session summaries", "summary", "value", "off", "direct", ""),
            (
                "LD-Agent",
                "summary",
                "value",
                "off",
                "direct",
                "a query extended with what is extracted from a question",
            ),
            ("Chain-of-Note", "round", "value", "off", "con", ""),
            ("ChatGPT and Coze, their index only: facts", "facts", "value", "off", "direct", ""),
            ("ChatGPT", "facts", "value", "off", "direct", "its keys, retrieval and updates, which are not public"),
            ("Coze", "facts", "value", "off", "direct", "its keys, retrieval and updates, which are not public"),
            ("RAPTOR", "round", "value", "off", "direct", "a tree of summaries by a chat model"),
            ("MemWalker", "round", "value", "off", "direct", "a tree of summaries, and a chat model that walks it"),
            ("HippoRAG", "round", "value", "off", "direct", "a graph of entities, and personalised PageRank"),
            ("the paper's own design", "round", "value+facts", "on", "con", ""),
        )
    ),
    remark="the paper compares designs and gives no figures; facts and summaries come from rules, times from the "
    "question's words; the systems' own prompts and updates are not reproduced; method takes effect with a chat model",
)

_REPLACING = ("summary", "fact", "keyphrase")
_KEYS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("K = V", ("key=value", "keys=merged"), ""),
    *((f"K = {key}", (), "a key that replaces the text instead of adding to it") for key in _REPLACING),
    ("K = V + summary", ("key=value+summary", "keys=merged"), ""),
    ("K = V + fact", ("key=value+facts", "keys=merged"), ""),
    ("K = V + keyphrase", ("key=value+keyphrases", "keys=merged"), ""),
)

TABLE_3 = Preset(
    "longmemeval-table-3",
    "LongMemEval, table 3: by which key a round or a session is found",
    "longmemeval",
    f"{PAPER}, table 3",
    (*at_cutoffs(_OFFICIAL, (5, 10)), "judge_accuracy"),
    tuple(
        Row(f"value = {value}, {key}", (*DENSE, _BY_USER, f"granularity={value}", *settings), needs)
        for value in ("round", "session")
        for key, settings, needs in _KEYS
    ),
    remark="facts, summaries and key phrases come from rules, not from a language model; the paper's table is on M",
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
            ("no filter", ("time_filter=off", "times=asked"), ""),
            ("filter by rules", ("time_filter=on", "times=asked"), ""),
            ("filter by the evidence's dates (not in the paper)", ("time_filter=on", "times=oracle"), ""),
            ("filter by a language model", ("time_filter=on", "times=asked"), "a language model that reads times"),
        )
    ),
    ability="temporal-reasoning",
    remark="the time is read from the question by rules; the paper lets GPT-4o or Llama 3.1 8B read it",
)

FIGURE_6 = Preset(
    "longmemeval-figure-6",
    "LongMemEval, figure 6: how the evidence is read, by method and format",
    "longmemeval",
    f"{PAPER}, figure 6",
    ("judge_accuracy", "token_f1", "containment"),  # the first needs a judge
    (
        Row("extractive (not in the paper)", ("given=oracle", "reader=extractive")),
        *(
            Row(f"{form}, {method}", ("given=oracle", BY_MODEL, f"format={put}", f"method={way}"), READER)
            for form, put in (("natural language", "nl"), ("JSON", "json"))
            for method, way in (("direct", "direct"), ("Chain-of-Note", "con"))
        ),
    ),
    remark="the reader gets the evidence itself, so that only the reading differs",
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

LONGMEMEVAL_TABLES = (TABLE_2, TABLE_3, TABLE_4, FIGURE_6, POOLED, USER_TURNS)
