"""Show how an answer was found, as text and table rows: classes, candidates, notes and steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from markupsafe import Markup

from graph.assistant import Answer
from graph.state import Note
from memory.dates.expressions import describe_time
from memory.formatting import STORE_NAMES, clip, format_count, format_day, memory_date
from memory.search.scoring import FACTORS
from memory.tab.templates import hint
from memory.types import STORES, Hit

MAX_NOTES = 5
"""Notes shown; those after the most relevant ones add little."""

STEP_NAMES = {
    "classify": "Classify",
    "retrieve": "Search",
    "views": "· rephrased",
    "voice": "· in the speaker's words",
    "meaning": "· words or meaning",
    **{factor.score: f"· {factor.label}" for factor in FACTORS.values()},
    "rerank": "Rank",
    "time_filter": "Check dates",
    "read": "Read",
    "notes": "· notes",
    "persist": "Save",
}

CANDIDATE_HEADERS = [
    *("No.", "Rank", "Kind", "Memory", "Words", "Meaning", "Combined", "Kind match", "Score"),
    *("Factors", "Note", "Outcome"),
]
CANDIDATE_WIDTHS = (5, 6, 10, 21, 6, 7, 5, 5, 5, 10, 11, 9)
NOTE_HEADERS = ["Relevance", "Note", "From"]
STEP_HEADERS = ["Step", "Decision", "Milliseconds"]

Row = list[str | int | float]


def render_summary(answer: Answer) -> Markup:
    """Render in a sentence or two how many memories were found and read, and which times were asked about."""
    if not answer.hits:
        return hint("This message needed no search.")
    kept = sum(hit.kept for hit in answer.hits)
    counts = Counter(hit.memory.store for hit in answer.hits)
    stores = ", ".join(f"{STORE_NAMES[s].lower()}: {counts[s]}" for s in STORES if counts[s])
    searched = f"{format_count(len(answer.hits), 'candidate')} ({stores}), {kept} of them read."
    if not answer.window:
        return hint(f"{searched} The question names no date.")
    times = "; ".join(f"“{w.text}” {'means' if w.sure else 'may mean'} {describe_time(w)}" for w in answer.window)
    return hint(f"{searched} {times}.")


def class_probabilities(answer: Answer) -> dict[str, float]:
    """How likely each kind of memory is asked for, by its name on the screen."""
    figures = next((dict(line.figures) for line in answer.trace if line.node == "classify"), {})
    return {STORE_NAMES[store]: figures[store] for store in STORES if store in figures}


def candidate_rows(answer: Answer) -> list[Row]:
    """A row for each candidate in the order of reading: its scores, its note and what came of it."""
    cited = {c.memory.id: c.number for c in answer.reading.citations}
    notes = {n.memory.id: n for n in reversed(answer.reading.notes)}
    return [_candidate_row(rank, hit, notes, cited) for rank, hit in enumerate(answer.hits, 1)]


def _candidate_row(rank: int, hit: Hit, notes: Mapping[int, Note], cited: Mapping[int, int]) -> Row:
    memory, first_rank = hit.memory, int(hit.scores.get("found", rank))
    note = notes.get(memory.id)
    factors = (
        f"{f.label} +{hit.scores[f.score]:.2f}" for f in FACTORS.values() if hit.scores.get(f.score, 0.0) >= 0.005
    )
    outcome = "read" if hit.kept else hit.why
    return [
        memory.id,
        str(rank) if first_rank == rank else f"{rank} (was {first_rank})",
        STORE_NAMES[memory.store],
        f"{memory_date(memory)} — {clip(memory.text, 140)}",
        *(round(hit.scores.get(name, 0.0), 2) for name in ("lexical", "dense", "fused", "class", "rerank")),
        ", ".join(factors),
        f"{note.relevance:.0%}: {clip(note.quote, 60)}" if note else "",
        f"cited [{cited[memory.id]}]" if memory.id in cited else outcome,
    ]


def note_rows(answer: Answer) -> list[Row]:
    """A row for each note, the most relevant first."""
    notes = answer.reading.notes[:MAX_NOTES]
    rows: list[Row] = []
    for note in notes:
        memory, text = note.memory, f"{note.quote} — {note.says}" if note.says else note.quote
        origin = " · ".join(filter(None, [memory.speaker, format_day(memory.said_at) or memory_date(memory)]))
        rows.append([f"{note.relevance:.0%}", clip(text, 160), origin])
    return rows


def step_rows(answer: Answer) -> list[Row]:
    """A row for each line of the trace: what was decided and how long it took."""
    rows: list[Row] = [
        [STEP_NAMES.get(line.node, line.node), line.decided, round(line.milliseconds, 1)] for line in answer.trace
    ]
    return [*rows, ["Total", "", round(sum(line.milliseconds for line in answer.trace), 1)]]
