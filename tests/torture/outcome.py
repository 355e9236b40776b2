"""The result of one kind of torture, as it is printed."""

from collections import Counter
from dataclasses import dataclass, field

MAX_EXAMPLES = 5
"""Faults that are described in full for one line."""


@dataclass
class Outcome:
    """What was done how often, and how many faults of each kind came of it.

    `kinds` are the faults that are looked for: they are printed as 0 if there is none.
    """

    name: str
    kinds: tuple[str, ...]
    done: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)
    note: str = ""
    skipped: str = ""

    def fault(self, kind: str, example: str) -> None:
        """Count a fault, and keep the first few descriptions."""
        assert kind in self.kinds
        self.faults[kind] += 1
        if len(self.examples) < MAX_EXAMPLES:
            self.examples.append(f"{kind}: {example}")

    def __str__(self) -> str:
        if self.skipped:
            return f"{self.name}: skipped ({self.skipped})"
        figures = [f"{number:,} {name}" for name, number in self.done.items()]
        figures += [f"{self.faults[kind]} {kind}" for kind in self.kinds]
        return f"{self.name}: {', '.join(figures)}{'; ' + self.note if self.note else ''}"
