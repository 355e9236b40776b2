"""Replace a benchmark's ids by digests before anything is stored, so that no id gives the answer away, and turn answers
into predictions under its own ids.

LongMemEval's gold sessions are called `answer_...`, and a persona may be named after a question that is known to have
no answer. In an index or a prompt such names would tell what is evidence.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from itertools import chain

from eval.play.simulation.choices import choose
from eval.types import Gold, History, Place, Prediction, Probe, RankedHit, ShownHit
from graph.assistant import Answer
from memory.bank.bank import Bank
from memory.errors import MemoirError
from memory.types import STORES, Hit, Memory, MemoryDraft, PersonaDraft, SessionDraft

NOBODY = "the assistant"
UNDATED = datetime.min.replace(tzinfo=UTC)
"""When a session without a date started, so that it comes before all others."""

SHORT_ID = 4
"""An id of at most so many characters ("D1:3", "7") is not looked for in texts, where it may occur by chance."""


def hide_persona(draft: PersonaDraft) -> PersonaDraft:
    """Drop the persona's id, and its name if the id is part of it."""
    is_named_after_id = draft.external_id and draft.external_id in draft.name
    return replace(draft, external_id="", name=NOBODY if is_named_after_id else draft.name)


class BenchmarkIds:
    """Replaces the ids of one history by digests, and finds those of the persona's sessions and memories again.

    They are digests, not numbers: they depend neither on the order of the file nor on what was stored before. A memory
    can hold several turns: a round, a session, or the turns that a learned memory was drawn from. `originals` are the
    ids by the digests that replace them, `unindexed` the turns whose words no memory is found by.
    """

    def __init__(self, history: History, bank: Bank, persona_id: int) -> None:
        self._history = history.id
        self._bank = bank
        self._persona_id = persona_id
        self.unindexed: set[str] = set()
        self.originals: dict[str, str] = {}
        self._holds: dict[str, tuple[str, ...]] = {}
        self._learned: dict[int, tuple[str, ...]] = {}

    def hide_session(self, session: SessionDraft) -> SessionDraft:
        """Replace a session's ids and drop its title; the id of a turn without one is made from its position."""
        turns = tuple(
            replace(turn, external_id=self.hide("unit", turn.external_id or f"{session.external_id}:{place}"))
            for place, turn in enumerate(session.turns, start=1)
        )
        learned = tuple(
            replace(each, memory=self.hide_memory(each.memory, f"of {session.external_id}, {place}"))
            for place, each in enumerate(session.learned, start=1)
        )
        hidden = self.hide("session", session.external_id)
        return replace(session, external_id=hidden, title="", turns=turns, learned=learned)

    def hide_memory(self, memory: MemoryDraft, place: int | str) -> MemoryDraft:
        """Replace a memory's id; the id of one without is made from its position."""
        return replace(memory, external_id=self.hide("unit", memory.external_id or f"memory {place}"))

    def hide(self, kind: str, name: str) -> str:
        """Return the digest that replaces an id."""
        hidden = sha256(f"{self._history}\0{kind}\0{name}".encode()).hexdigest()[:16]
        self.originals[hidden] = name
        return hidden

    def record(self, external_id: str, units: Sequence[str]) -> None:
        """Record which units (opaque ids) are held by what is stored under an external id."""
        self._holds[external_id] = tuple(self.originals[unit] for unit in units)

    def bank_changed(self) -> None:
        """Read the bank again at the next question."""
        vars(self).pop("sessions", None)
        self._learned.clear()

    @cached_property
    def sessions(self) -> dict[int, str]:
        """The benchmark's id of each session, by the bank's."""
        return {s.id: self.originals[s.external_id] for s in self._bank.sessions(self._persona_id)}

    def session_of(self, memory: Memory) -> str:
        """The session in which a memory was said; empty if in none."""
        return self.sessions.get(memory.session_id or 0, "")

    def units_of(self, memory: Memory) -> tuple[str, ...]:
        """The turns that a memory holds, or its own id if no turn said it."""
        if memory.external_id:
            return self._holds.get(memory.external_id, ())
        if memory.id not in self._learned:
            turns = self._bank.sources(self._persona_id, memory.id)
            units = (unit for turn in turns for unit in self._holds.get(turn.external_id, ()))
            self._learned[memory.id] = tuple(dict.fromkeys(units))
        return self._learned[memory.id]

    def holds_any(self, memory: Memory, names: Iterable[str]) -> bool:
        """Whether a memory holds any of the sessions and units of these names."""
        return not {self.session_of(memory), *self.units_of(memory)}.isdisjoint(names)

    def stored(self, gold: Gold) -> set[str]:
        """The ids of the evidence that the bank holds."""
        known = {*self.sessions.values(), *chain.from_iterable(self._holds.values())}
        return known.intersection((*gold.turns, *gold.items, *gold.sessions))


def sort_by_time_and_digest(sessions: Iterable[SessionDraft]) -> list[SessionDraft]:
    """Sort sessions by time, undated ones first; those of one moment by a digest, not as in the file."""
    return sorted(sessions, key=lambda s: (s.started_at or UNDATED, sha256(s.external_id.encode()).digest()))


def check_stored(golds: Sequence[Gold], sessions: Sequence[SessionDraft], memories: Sequence[MemoryDraft]) -> None:
    """Check that nothing to be stored holds an id of the evidence; raises `MemoirError` if something does."""
    ids = {i for gold in golds for i in (*gold.turns, *gold.sessions, *gold.items)}
    telling = [i for i in ids if len(i) > SHORT_ID and any(c.isdigit() for c in i) and not i.isdigit()]
    for where, names, text in _stored(sessions, memories):
        held = [i for i in telling if any(i in each for each in (*names, text))] or sorted(ids.intersection(names))
        if held:
            raise MemoirError(f"{where} would be stored with {held[0]!r}, the id of evidence; nothing was asked")


def _stored(
    sessions: Sequence[SessionDraft], memories: Sequence[MemoryDraft]
) -> Iterable[tuple[str, tuple[str, ...], str]]:
    """What is stored, under which names, and with which text."""
    for s in sessions:
        yield f"session of {s.started_text or s.started_at}", (s.external_id, s.title), s.title
        for turn in s.turns:
            names = (turn.external_id, turn.said_text)
            yield f"turn {turn.text[:40]!r}", names, f"{turn.speaker} {turn.text} {turn.key}"
    for m in (*memories, *(each.memory for s in sessions for each in s.learned)):
        yield f"memory {m.text[:40]!r}", (m.external_id,), f"{m.text} {m.key} {m.event_text}"


# --- predictions

RANKED = 50
"""Hits of each kind, and distinct sessions, that a prediction keeps of the ranking: the largest k of any protocol."""

WIDENED = 10
"""Distinct sessions until which it keeps every hit: the largest k up to which a protocol counts the hits that bring no
new session, too (LongMemEval's session metrics of a ranking of turns)."""

SHOWN = 30
SHOWN_CHARACTERS = 600
"""Hits, and characters of each, that a prediction keeps as text for the drill-down."""


def make_prediction(probe: Probe, history_id: str, answer: Answer, ids: BenchmarkIds, seconds: float) -> Prediction:
    """Record what the pipeline answered, found and did, and how long it took."""
    reading = answer.reading
    lines = {line.node: line for line in answer.trace}
    read = lines.get("read")
    by_model = reading.by not in ("", "extractive")
    return Prediction(
        probe.id,
        history_id,
        {str(s): lines["classify"].figures[s] for s in STORES},
        tuple(trim_ranking(_ranked(hit, ids) for hit in answer.hits)),
        reading.answer,
        reading.abstained,
        reading.reason or "",
        tuple(unit for c in reading.citations for unit in ids.units_of(c.memory)),
        None if by_model else round(read.figures.get("best note", 0.0), 4) if read else 0.0,
        choice=choose(reading.answer, reading.abstained, probe.choices) if probe.choices else None,
        stored=tuple(sorted(ids.stored(probe.gold))),
        shown=tuple(_shown(hit, ids) for hit in answer.hits[:SHOWN]),
        trace=tuple(f"{line.node}: {line.decided}" for line in answer.trace),
        milliseconds={line.node: line.milliseconds for line in answer.trace if line.milliseconds},
        response_ms=round(seconds * 1000, 2),
        tokens_in=sum(int(line.figures.get("tokens in", 0)) for line in answer.trace),
        tokens_out=sum(int(line.figures.get("tokens out", 0)) for line in answer.trace),
        reader=reading.by,
        fallbacks={line.node: bool(n) for line in answer.trace if (n := line.figures.get("fallback")) is not None},
        unreadable=bool(read and read.figures.get("unreadable")),
    )


def trim_ranking(ranking: Iterable[RankedHit]) -> Iterator[RankedHit]:
    """Keep the part of a ranking that metrics or the error attribution look at; no figure depends on the rest.

    It keeps everything that was read; the first `RANKED` hits that add units, of those from sessions, of those from
    none, and of those that the time filter dropped; those from sessions until `WIDENED` sessions are found; and the
    first hit of each of the first `RANKED` sessions.
    """
    kept: Counter[str] = Counter()
    units: set[str] = set()
    sessions: set[str] = set()
    for hit in ranking:
        kind = "filtered" if hit.place == "filtered" else "in session" if hit.session else "outside sessions"
        is_early = kept[kind] < RANKED or (kind == "in session" and len(sessions) < WIDENED)
        adds_units = is_early and not units.issuperset(hit.units)
        adds_session = kind == "in session" and hit.session not in sessions and len(sessions) < RANKED
        if hit.place == "read" or adds_units or adds_session:
            yield hit
        kept[kind] += adds_units
        if kind != "filtered":
            units.update(hit.units)
            sessions.update([hit.session] if hit.session else [])


def _ranked(hit: Hit, ids: BenchmarkIds) -> RankedHit:
    place: Place = "filtered" if hit.dropped == "time" else "read" if hit.kept else "beyond"
    units, session = ids.units_of(hit.memory), ids.session_of(hit.memory)
    indexed = tuple(unit for unit in units if unit not in ids.unindexed) if ids.unindexed else ()
    return RankedHit(units, session, hit.memory.store, round(hit.score, 5), place, indexed)


def _shown(hit: Hit, ids: BenchmarkIds) -> ShownHit:
    memory = hit.memory
    date = memory.event_text or (memory.said_at.isoformat() if memory.said_at else "")
    text = memory.text[:SHOWN_CHARACTERS]
    return ShownHit(ids.units_of(memory), memory.store, memory.speaker, text, date, dict(hit.scores), hit.kept, hit.why)
