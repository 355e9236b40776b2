"""Ids that give nothing away: what a benchmark calls its sessions and turns is replaced before anything is stored.

LongMemEval's gold sessions are called `answer_...`, and a persona may be called after a question that is known to have
no answer: rendered into an index or a prompt, such names tell what is to be found out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256

from eval.types import Gold, History
from memory.errors import MemoirError
from memory.types import Hit, MemoryDraft, PersonaDraft, SessionDraft

NOBODY = "the assistant"
LONGEST_WORD = 4
"""An id of at most so many characters ("D1:3", "7") may stand in a text by chance."""


class Leak(MemoirError):
    """Something that gives the answer away would have reached the pipeline; the run is of no worth."""


class Veil:
    """Replaces the ids of one history by digests, and knows what they stood for.

    Digests, not numbers: they depend neither on the order of the file nor on how much of it was stored before.
    """

    def __init__(self, history: History) -> None:
        self._history = history.id
        self._names: dict[str, str] = {}

    def persona(self, draft: PersonaDraft) -> PersonaDraft:
        """The persona without the source's id, not even as a part of its name."""
        named_after = draft.external_id and draft.external_id in draft.name
        return replace(draft, external_id="", name=NOBODY if named_after else draft.name)

    def session(self, session: SessionDraft) -> SessionDraft:
        """The session under other ids; a turn without an id is called after its place. Titles are left out."""
        turns = tuple(
            replace(turn, external_id=self.hide("unit", turn.external_id or f"{session.external_id}:{place}"))
            for place, turn in enumerate(session.turns, start=1)
        )
        learned = tuple(
            replace(each, memory=self.memory(each.memory, f"of {session.external_id}, {place}"))
            for place, each in enumerate(session.learned, start=1)
        )
        hidden = self.hide("session", session.external_id)
        return replace(session, external_id=hidden, title="", turns=turns, learned=learned)

    def memory(self, memory: MemoryDraft, place: int | str) -> MemoryDraft:
        """The memory under another id; one without is called after its place."""
        return replace(memory, external_id=self.hide("unit", memory.external_id or f"memory {place}"))

    def hide(self, kind: str, name: str) -> str:
        """What stands for a name from now on."""
        hidden = sha256(f"{self._history}\0{kind}\0{name}".encode()).hexdigest()[:16]
        self._names[hidden] = name
        return hidden

    def name(self, hidden: str) -> str:
        """What it stood for; KeyError if nothing was hidden under it."""
        return self._names[hidden]


def in_order(sessions: Iterable[SessionDraft]) -> list[SessionDraft]:
    """Sessions in order of time, those without a date first; equal ones in an order that the file does not decide."""
    beginning = datetime.min.replace(tzinfo=UTC)
    return sorted(sessions, key=lambda s: (s.started_at or beginning, sha256(s.external_id.encode()).digest()))


def check_stored(golds: Sequence[Gold], sessions: Sequence[SessionDraft], memories: Sequence[MemoryDraft]) -> None:
    """Make sure that nothing to be stored names the evidence.

    Raises:
        Leak: an id that only the gold holds stands in what would be stored.
    """
    ids = {i for gold in golds for i in (*gold.turns, *gold.sessions, *gold.items)}
    telling = [i for i in ids if len(i) > LONGEST_WORD and any(c.isdigit() for c in i) and not i.isdigit()]
    for where, names, text in _stored(sessions, memories):
        for gold_id in telling:
            if gold_id in names or gold_id in text:
                raise Leak(f"{where} would be stored with {gold_id!r} in it, the id of evidence; nothing was asked")
        if named := ids & set(names.split("\n")):
            raise Leak(f"{where} would be stored under {named.pop()!r}, the id of evidence; nothing was asked")


def _stored(sessions: Sequence[SessionDraft], memories: Sequence[MemoryDraft]) -> Iterable[tuple[str, str, str]]:
    for s in sessions:
        yield f"session of {s.started_text or s.started_at}", f"{s.external_id}\n{s.title}", s.title
        for turn in s.turns:
            where = f"turn {turn.text[:40]!r}"
            yield where, f"{turn.external_id}\n{turn.said_text}", f"{turn.speaker} {turn.text} {turn.key}"
    for m in (*memories, *(each.memory for s in sessions for each in s.learned)):
        yield f"memory {m.text[:40]!r}", m.external_id, f"{m.text} {m.key} {m.event_text}"


def check_shown(hits: Sequence[Hit], asked_at: datetime) -> None:
    """Make sure that nothing said after a probe was found for it.

    Raises:
        Leak: a memory was said later than it was asked for.
    """
    for hit in hits:
        if hit.memory.said_at is not None and hit.memory.said_at > asked_at:
            raise Leak(f"memory {hit.memory.id} was said {hit.memory.said_at}, after it was asked for ({asked_at})")
