"""DialSim's tables as presets."""

from eval.benchmarks.types import BM25, DENSE, READER, Preset, Row

PAPER = "Kim et al. 2024, arXiv:2406.13144v6"

_STORES = tuple(
    (label, ("given=memory", f"granularity={stored}", f"search.k={read}", f"budget={read}"))
    for label, stored, read in (
        ("utterance", "turn", 20),
        ("session", "session", 10),
        ("session summary", "summary", 15),
    )
)
"""What is stored, the setting for it, and how many are read of it (appendix G.2)."""

_AS_ASKED = ("simulation.answers=multiple-choice", "simulation.time_limit_s=0")
_ANONYMISED = (*_AS_ASKED, "simulation.names=anonymised")
_SESSIONS = ("given=memory", "granularity=session", "search.k=10", "budget=10")

_REMARK = (
    "a summary is made of a session's own sentences; the paper's are written by the language model that answers. "
    "Without a chat model, an answer is found without the choices and then matched to them"
)


def _stores_and_retrievers(name: str, title: str, source: str, names: str) -> Preset:
    """What is stored and how it is found, under these names of the characters."""
    common = (*_AS_ASKED, f"simulation.names={names}")
    return Preset(
        name,
        title,
        "dialsim",
        f"{PAPER}, {source}",
        ("choice_accuracy",),
        (
            *(
                Row(f"{label}, {retriever}", (*settings, *common, *stored))
                for retriever, settings in (("BM25", BM25), ("embeddings", DENSE))
                for label, stored in _STORES
            ),
            Row(
                "base model: the latest utterances",
                (*common, "given=recent", "granularity=turn", "time_filter=off", "learner=none"),
                READER,
            ),
        ),
        remark=_REMARK,
    )


_STORED = "DialSim, table {}: what is stored and how it is found{}"

TABLE_3 = _stores_and_retrievers(
    "dialsim-table-3",
    _STORED.format(3, ""),
    "table 3, sections 5.1 and 5.2; tables 11 and 12 for other shows",
    "anonymised",
)
TABLE_13 = _stores_and_retrievers(
    "dialsim-table-13", _STORED.format(13, ", under the characters' own names"), "table 13, appendix J", "original"
)
TABLE_14 = _stores_and_retrievers(
    "dialsim-table-14", _STORED.format(14, ", under each other's names"), "table 14, appendix J", "swapped"
)

TABLE_4 = Preset(
    "dialsim-table-4",
    "DialSim, table 4: under which names the characters speak",
    "dialsim",
    f"{PAPER}, table 4, section 3.1.6, appendix J",
    ("choice_accuracy",),
    tuple(
        Row(f"session, BM25, names {names}", (*BM25, *_SESSIONS, *_AS_ASKED, f"simulation.names={names}"))
        for names in ("anonymised", "original", "swapped")
    ),
    remark=_REMARK,
)

FIGURE_4 = Preset(
    "dialsim-figure-4",
    "DialSim, figure 4: the evidence itself beside the best way to find it",
    "dialsim",
    f"{PAPER}, figure 4, section 5.3, appendix I",
    ("choice_accuracy",),
    (
        Row("session, BM25", (*BM25, *_SESSIONS, *_ANONYMISED)),
        Row("oracle", (*_ANONYMISED, "given=oracle", "granularity=session")),
    ),
    remark=_REMARK,
)

DIALSIM_TABLES = (TABLE_3, TABLE_4, FIGURE_4, TABLE_13, TABLE_14)
