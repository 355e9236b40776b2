"""Pool all histories of a benchmark into one persona's memory, so that each question searches all of them.

Ids become "<history>/<id>", and a turn's "<history>/<session>/<place>", so that they stay unambiguous. What two
histories share, the same words at the same time, is stored once and is evidence for both: the gold of the second names
what the first stored. A question still sees only what was said before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from eval.play.ids import NOBODY
from eval.types import Gold, History, Probe
from memory.bank import rows
from memory.errors import MemoirError
from memory.types import MemoryDraft, PersonaDraft, SessionDraft, Skip

POOLED = "pooled"

Read = Callable[[], Iterator[History]]


class CannotPool(MemoirError):
    """Histories that are asked while they are played (DialSim) cannot be pooled."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one history adds to a pool, under pooled ids; `golds` are under pooled ids and under its own."""

    sessions: tuple[SessionDraft, ...]
    memories: tuple[MemoryDraft, ...]
    probes: tuple[Probe, ...]
    golds: tuple[Gold, ...]


@dataclass(frozen=True, slots=True)
class Pool(History):
    """Many histories as one. It holds the probes; sessions are read again, one history at a time."""

    read: Read = field(default=lambda: iter(()))

    def parts(self) -> Iterator[Part]:
        """Each history's part, in the file's order."""
        known = _PooledIds()
        return (known.part(history) for history in self.read())


def pool(read: Read) -> Pool:
    """Pool the histories that `read` returns at each call; raises `CannotPool` if one is asked while it is played."""
    known, probes, skips = _PooledIds(), list[Probe](), list[Skip]()
    for history in read():
        if history.is_simulated:
            raise CannotPool(f"{history.id} is asked while it is played; run it without pooled=true")
        probes.extend(known.part(history).probes)
        skips.extend(history.skips)
    return Pool(POOLED, PersonaDraft(NOBODY), (), (), tuple(probes), tuple(skips), read)


@dataclass
class _PooledIds:
    """The pooled ids given so far: of sessions and memories by content and time, and of probes."""

    stored: dict[str, str] = field(default_factory=dict)
    probes: set[str] = field(default_factory=set)

    def part(self, history: History) -> Part:
        """A history's part, without what an earlier history holds too."""
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
        words = [(turn.speaker, turn.text, rows.format_time(turn.said_at)) for turn in session.turns]
        name = self.stored.setdefault(rows.digest(rows.format_time(session.started_at), words), own)
        names.sessions[session.external_id] = name
        units = [f"{name}/{n}" for n in range(1, len(session.turns) + 1)]
        names.turns.update(zip((turn.external_id for turn in session.turns), units, strict=True))
        if name != own:
            return None
        turns = zip(session.turns, units, strict=True)
        return replace(session, external_id=own, turns=tuple(replace(turn, external_id=u) for turn, u in turns))

    def _memory(self, memory: MemoryDraft, place: int, names: _Names) -> MemoryDraft | None:
        own = f"{names.history}/{memory.external_id or f'memory {place}'}"
        name = self.stored.setdefault(rows.memory_identity(replace(memory, external_id="")), own)
        names.memories[memory.external_id] = name
        return replace(memory, external_id=own) if name == own else None

    def _probe(self, probe: Probe, names: _Names) -> Probe:
        name = f"{names.history}/{probe.id}" if probe.id in self.probes else probe.id
        self.probes.add(name)
        return replace(probe, id=name, gold=names.gold(probe.gold))


@dataclass
class _Names:
    """One history's own ids and their pooled ids."""

    history: str
    sessions: dict[str, str] = field(default_factory=dict)
    turns: dict[str, str] = field(default_factory=dict)
    memories: dict[str, str] = field(default_factory=dict)

    def gold(self, gold: Gold) -> Gold:
        """The evidence under pooled ids; an unknown id gets the history's as its prefix."""
        return replace(
            gold,
            turns=self._of(gold.turns, self.memories | self.turns),
            sessions=self._of(gold.sessions, self.sessions),
            items=self._of(gold.items, self.sessions | self.memories),
            user_turns=self._of(gold.user_turns, self.turns),
            user_sessions=self._of(gold.user_sessions, self.sessions),
        )

    def _of(self, ids: tuple[str, ...], names: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(names.get(i, f"{self.history}/{i}") for i in ids))
