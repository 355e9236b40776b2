"""LongMemEval's tables as presets."""

from __future__ import annotations

from eval.benchmarks.types import ALONE, BY_MODEL, DENSE, READER, Preset, Row, at_cutoffs

PAPER = "Wu et al., ICLR 2025, arXiv:2410.10813"

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
    (*at_cutoffs(["session_recall_all", "turn_recall_all", "ndcg_official"], (5, 10)), "judge_accuracy"),
    tuple(
        Row(f"value = {value}, {key}", (*DENSE, f"granularity={value}", *settings), needs)
        for value in ("round", "session")
        for key, settings, needs in _KEYS
    ),
    remark="facts, summaries and key phrases come from rules, not from a language model; the paper's table is on M",
)

TABLE_4 = Preset(
    "longmemeval-table-4",
    "LongMemEval, table 4: temporal questions with and without the time filter",
    "longmemeval",
    f"{PAPER}, table 4",
    at_cutoffs(["session_recall_all", "turn_recall_all", "ndcg_official"], (5, 10)),
    tuple(
        Row(
            f"value = {value}, {key}, {label}",
            (*ALONE, "search.dense_weight=1", "reader=none", f"granularity={value}", added, "keys=merged", *settings),
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
        Row("as in a chat", _TOGETHER),
        Row("words alone", (*_TOGETHER, "search.dense_weight=0")),
        Row("meaning alone", (*_TOGETHER, "search.dense_weight=1")),
    ),
    remark="each question is asked of all the histories at once, as of its own date",
)

LONGMEMEVAL_TABLES = (TABLE_3, TABLE_4, FIGURE_6, POOLED)
