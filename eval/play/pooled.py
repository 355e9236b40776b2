"""Pool all histories of a benchmark into one persona's memory, so that each question searches all of them.

Ids become "<history>/<id>", and a turn's "<history>/<session>/<place>", so that they stay unambiguous. What two
histories share, the same words at the same time, is stored once and is evidence for both: the gold of the second names
what the first stored. A question still sees only what was said before it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from eval.play.ids import NOBODY
from eval.types import History, Probe
from memory.bank import rows
from memory.errors import MemoirError
from memory.types import MemoryDraft, PersonaDraft, SessionDraft, Skip

POOLED = "pooled"

Read = Callable[[], Iterator[History]]


@dataclass(frozen=True, slots=True)
class Pool(History):
    """Many histories as one. It holds the probes; sessions are read again, one history at a time."""

    read: Read = field(default=lambda: iter(()))

    def parts(self) -> Iterator[tuple[History, History]]:
        """What each history adds, under pooled ids, and the history itself, in the file's order."""
        known = _PooledIds()
        return ((known.part(history), history) for history in self.read())


def pool(read: Read) -> Pool:
    """Pool the histories that `read` returns at each call; raises `MemoirError` if one is asked while it is played."""
    known, probes, skips = _PooledIds(), list[Probe](), list[Skip]()
    for history in read():
        if history.is_simulated:
            raise MemoirError(f"{history.id} is asked while it is played; run it without pooled=true")
        probes.extend(known.part(history).probes)
        skips.extend(history.skips)
    return Pool(POOLED, PersonaDraft(NOBODY), (), (), tuple(probes), tuple(skips), read)


@dataclass
class _PooledIds:
    """The pooled ids given so far: of sessions and memories by content and time, and of probes."""

    stored: dict[str, str] = field(default_factory=dict)
    probes: set[str] = field(default_factory=set)

    def part(self, history: History) -> History:
        """A history's part, without what an earlier history holds too."""
        sessions, turns, memories = dict[str, str](), dict[str, str](), dict[str, str]()
        told, known = list[SessionDraft](), list[MemoryDraft]()
        for place, session in enumerate(history.sessions, start=1):
            own = f"{history.id}/{session.external_id or f'session {place}'}"
            words = [(turn.speaker, turn.text, rows.format_time(turn.said_at)) for turn in session.turns]
            name = self.stored.setdefault(rows.digest(rows.format_time(session.started_at), words), own)
            sessions[session.external_id] = name
            units = {f"{name}/{n}": turn for n, turn in enumerate(session.turns, start=1)}
            turns |= {turn.external_id: unit for unit, turn in units.items()}
            if name == own:
                renamed = tuple(replace(turn, external_id=unit) for unit, turn in units.items())
                told.append(replace(session, external_id=own, turns=renamed))
        for place, memory in enumerate(history.memories, start=1):
            own = f"{history.id}/{memory.external_id or f'memory {place}'}"
            name = self.stored.setdefault(rows.memory_identity(replace(memory, external_id="")), own)
            memories[memory.external_id] = name
            if name == own:
                known.append(replace(memory, external_id=own))
        names = {"turns": memories | turns, "sessions": sessions, "items": sessions | memories}
        names |= {"user_turns": turns, "user_sessions": sessions}
        probes = tuple(self._probe(probe, history.id, names) for probe in history.probes)
        return replace(history, sessions=tuple(told), memories=tuple(known), probes=probes)

    def _probe(self, probe: Probe, history: str, names: Mapping[str, Mapping[str, str]]) -> Probe:
        """A probe with its evidence under pooled ids, by field; an unknown id gets the history's as its prefix."""
        gold: dict[str, Any] = {
            level: tuple(dict.fromkeys(pooled.get(i, f"{history}/{i}") for i in getattr(probe.gold, level)))
            for level, pooled in names.items()
        }
        name = f"{history}/{probe.id}" if probe.id in self.probes else probe.id
        self.probes.add(name)
        return replace(probe, id=name, gold=replace(probe.gold, **gold))
