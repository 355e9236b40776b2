"""Find the benchmark's own ids of what a bank holds."""

from __future__ import annotations

from collections.abc import Sequence

from eval.play.opaque_ids import OpaqueIds
from eval.types import Gold
from memory.bank.bank import Bank
from memory.types import Memory


class BenchmarkIds:
    """The ids of one persona's sessions and memories, as the benchmark has them.

    A memory can hold several turns: a round, a session, or the turns that a learned memory was drawn from.
    """

    def __init__(self, bank: Bank, persona_id: int, opaque: OpaqueIds) -> None:
        self._bank = bank
        self._persona_id = persona_id
        self._opaque = opaque
        self._holds: dict[str, tuple[str, ...]] = {}
        self._units: set[str] = set()
        self._sessions: dict[int, str] | None = None
        self._learned: dict[int, tuple[str, ...]] = {}

    def record(self, external_id: str, units: Sequence[str]) -> None:
        """Record which units (opaque ids) are held by what is stored under an external id."""
        self._holds[external_id] = tuple(self._opaque.original(unit) for unit in units)
        self._units.update(self._holds[external_id])

    def bank_changed(self) -> None:
        """Read the bank again at the next question."""
        self._sessions = None
        self._learned.clear()

    @property
    def sessions(self) -> dict[int, str]:
        """The benchmark's id of each session, by the bank's."""
        if self._sessions is None:
            stored = self._bank.sessions(self._persona_id)
            self._sessions = {s.id: self._opaque.original(s.external_id) for s in stored}
        return self._sessions

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

    def is_evidence(self, memory: Memory, gold: Gold) -> bool:
        """Whether a memory holds any of the evidence."""
        evidence = gold.turns or gold.items or gold.sessions
        return self.session_of(memory) in evidence or any(unit in evidence for unit in self.units_of(memory))

    def stored(self, gold: Gold) -> set[str]:
        """The ids of the evidence that the bank holds."""
        known = self._units | set(self.sessions.values())
        return known.intersection((*gold.turns, *gold.items, *gold.sessions))
