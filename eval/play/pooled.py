"""Every history of a benchmark told to one persona, so that each question has all the others' talk to be lost in.

Ids become "<history>/<id>", and a turn's "<history>/<session>/<place>", so that they stay unambiguous. What two
histories share, the same words at the same time, is stored once and is evidence for both: the gold of the second names
what the first stored. A question still knows only what was said before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from eval.play.opaque_ids import NOBODY
from eval.types import Gold, History, Probe
from memory.bank import rows
from memory.errors import MemoirError
from memory.types import MemoryDraft, PersonaDraft, SessionDraft, Skip

POOLED = "pooled"

Read = Callable[[], Iterator[History]]


class CannotPool(MemoirError):
    """Histories that are asked while they go on have no end at which one could be asked about all."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one history adds to a pool under pooled ids, and its gold under pooled ids and under its own."""

    sessions: tuple[SessionDraft, ...]
    memories: tuple[MemoryDraft, ...]
    probes: tuple[Probe, ...]
    golds: tuple[Gold, ...]


@dataclass(frozen=True, slots=True)
class Pool(History):
    """Many histories as one. It holds what is asked; what is told is read anew, one history in memory at a time."""

    read: Read = field(default=lambda: iter(()))

    def parts(self) -> Iterator[Part]:
        """Each history's part, in the file's order."""
        known = _Known()
        return (known.part(history) for history in self.read())


def pool(read: Read) -> Pool:
    """The pool of the histories that `read` gives, each time it is called.

    Raises:
        CannotPool: a history is asked while it goes on.
    """
    known, probes, skips = _Known(), list[Probe](), list[Skip]()
    for history in read():
        if any(probe.asked_in for probe in history.probes):
            raise CannotPool(f"{history.id} is asked while it goes on; run it without pooled=true")
        probes.extend(known.part(history).probes)
        skips.extend(history.skips)
    return Pool(POOLED, PersonaDraft(NOBODY), (), (), tuple(probes), tuple(skips), read)


@dataclass
class _Known:
    """The pooled id of everything told so far, by what it says and when, and the probes' ids."""

    said: dict[str, str] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)

    def part(self, history: History) -> Part:
        """The history's part, without what another one told."""
        names = _Names(history.id)
        sessions = [self._session(session, n, names) for n, session in enumerate(history.sessions, start=1)]
        memories = [self._memory(memory, n, names) for n, memory in enumerate(history.memories, start=1)]
        probes = tuple(self._probe(probe, names) for probe in history.probes)
        return Part(
            tuple(filter(None, sessions)),
            tuple(filter(None, memories)),
            probes,
            tuple(probe.gold for probe in (*probes, *history.probes)),
        )

    def _session(self, session: SessionDraft, place: int, names: _Names) -> SessionDraft | None:
        own = f"{names.history}/{session.external_id or f'session {place}'}"
        words = [(turn.speaker, turn.text, rows.stamp(turn.said_at)) for turn in session.turns]
        name = self.said.setdefault(rows.digest(rows.stamp(session.started_at), words), own)
        names.sessions[session.external_id] = name
        units = [f"{name}/{n}" for n in range(1, len(session.turns) + 1)]
        names.turns.update(zip((turn.external_id for turn in session.turns), units, strict=True))
        if name != own:
            return None
        turns = zip(session.turns, units, strict=True)
        return replace(session, external_id=own, turns=tuple(replace(turn, external_id=u) for turn, u in turns))

    def _memory(self, memory: MemoryDraft, place: int, names: _Names) -> MemoryDraft | None:
        own = f"{names.history}/{memory.external_id or f'memory {place}'}"
        name = self.said.setdefault(rows.memory_identity(replace(memory, external_id="")), own)
        names.memories[memory.external_id] = name
        return replace(memory, external_id=own) if name == own else None

    def _probe(self, probe: Probe, names: _Names) -> Probe:
        name = f"{names.history}/{probe.id}" if probe.id in self.asked else probe.id
        self.asked.add(name)
        return replace(probe, id=name, gold=names.gold(probe.gold))


@dataclass
class _Names:
    """One history's own ids and what they are called in the pool."""

    history: str
    sessions: dict[str, str] = field(default_factory=dict)
    turns: dict[str, str] = field(default_factory=dict)
    memories: dict[str, str] = field(default_factory=dict)

    def gold(self, gold: Gold) -> Gold:
        """The evidence under pooled ids; what is not there keeps its own, behind the history's."""
        return replace(
            gold,
            turns=self._of(gold.turns, self.memories | self.turns),
            sessions=self._of(gold.sessions, self.sessions),
            items=self._of(gold.items, self.sessions | self.memories),
        )

    def _of(self, ids: tuple[str, ...], names: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(names.get(i, f"{self.history}/{i}") for i in ids))
