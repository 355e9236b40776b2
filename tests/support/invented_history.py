"""An invented life for the tests of evaluation: who it is about, what was said, and what is asked of it."""

from datetime import UTC, datetime, timedelta

from eval.types import Gold, History, Probe
from memory.types import MemoryDraft, PersonaDraft, SessionDraft, TurnDraft

FIRST = datetime(2026, 3, 2, 19, tzinfo=UTC)
ASKED = datetime(2026, 6, 1, 12, tzinfo=UTC)

SAID = {
    "answer_77aa": [
        ("Tilde", "I adopted a greyhound called Biscuit on Saturday."),
        ("Ada", "A greyhound! Does Biscuit like the stairs?"),
        ("Tilde", "He is afraid of them, so I carry him."),
    ],
    "plain_1": [
        ("Tilde", "The canoe leaks again, just behind the seat."),
        ("Ada", "Pine tar will hold for a season."),
    ],
    "answer_77ab": [
        ("Tilde", "My sister Runa has moved to Lisbon and works at the tile museum there."),
        ("Ada", "Then you have somewhere to stay in winter."),
    ],
}


def session(name, days, said):
    turns = tuple(
        TurnDraft(who, "user" if who == "Tilde" else "assistant", text, external_id=f"{name}_{n}")
        for n, (who, text) in enumerate(said, start=1)
    )
    start = FIRST + timedelta(days=days)
    return SessionDraft(turns, start, start.isoformat(), name, title=name)


SESSIONS = tuple(session(name, 7 * n, said) for n, (name, said) in enumerate(SAID.items()))

PROBES = (
    Probe(
        "q1",
        "What is my greyhound called?",
        ASKED,
        Gold(("Biscuit",), ("answer_77aa_1",), ("answer_77aa",)),
        "single-session",
    ),
    Probe(
        "q2",
        "In which city does Runa live now?",
        ASKED,
        Gold(("Lisbon",), ("answer_77ab_1",), ("answer_77ab",)),
        "single-session",
    ),
    Probe("q3", "What did my dentist say?", ASKED, Gold(answerable=False), "never-mentioned"),
)

MEMORIES = (
    MemoryDraft("profile", "home: Turku", speaker="Tilde", attribute="home", said_at=FIRST, external_id="home"),
)


def life(**changes):
    held = {
        "id": "life-77_abs",
        "persona": PersonaDraft("Ada of life-77_abs", external_id="life-77_abs"),
        "sessions": SESSIONS,
        "memories": MEMORIES,
        "probes": PROBES,
    }
    return History(**{**held, **changes})
