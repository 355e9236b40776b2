"""Draw the attribute of a user that questions are made about (LongMemEval, appendix A.1).

`attributes.json` has the paper's five categories and as many attributes as it, 164, in our own wording and groups.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from random import Random


@dataclass(frozen=True, slots=True)
class Attribute:
    """What is asked about a user: "dogs", of the belongings, in the group of animals."""

    category: str
    group: str
    name: str

    @property
    def digest(self) -> str:
        """What the ids of its sessions have in common: no filler of a question is about the question's attribute."""
        return sha256(f"{self.category}\0{self.name}".encode()).hexdigest()[:8]


def draw_attribute(seed: int, number: int) -> Attribute:
    """The attribute of that number, from 1, in an order that the seed shuffles; none comes twice."""
    return Random(seed).sample(ontology(), len(ontology()))[number - 1]


@cache
def ontology() -> tuple[Attribute, ...]:
    """All attributes."""
    categories = json.loads(Path(__file__).with_name("attributes.json").read_text("utf-8"))
    return tuple(
        Attribute(category, group, name)
        for category, groups in categories.items()
        for group, names in groups.items()
        for name in names
    )
