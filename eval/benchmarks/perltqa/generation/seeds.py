"""Draw the seed of a persona: what its profile, relationships and events begin with (PerLTQA, section 3.1, step 1).

`seeds.json` has as many groups as the paper's seed data (10 of occupations, 7 of hobbies, 49 of topics, 50 kinds of
relationships) with fewer entries in each, written for Memoir.
"""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

HOBBIES = 3
RELATIONSHIPS = 10
"""Drawn for each persona; ten is also the number of kinds that the paper's prompt offers (appendix A.1)."""

INITIALS = "ABCDEFGHIJKLMNOPRSTVWYZ"
"""A model that always replies the same names gives other ones for other letters."""

PARTNERS = "romantic partners"
"""The group of which a persona has one at most: a wife beside a girlfriend is an error of table 7."""


@dataclass(frozen=True, slots=True)
class Seed:
    """What a persona begins with; `draw` makes the later choices (topics, dates) of this persona alone."""

    number: int
    initials: str
    occupation: str
    education: str
    hobbies: tuple[str, ...]
    relationships: tuple[str, ...]
    draw: Random

    def topic(self) -> tuple[str, str]:
        """Draw what an event is about: a topic, and one of its parts."""
        name, parts = self.draw.choice(list(_seeds()["topics"].items()))
        return name, self.draw.choice(parts)


def draw_seed(seed: int, number: int) -> Seed:
    """The seed of the persona of that number; it depends on no other persona."""
    draw, seeds = Random(f"{seed} {number}"), _seeds()
    field = seeds["occupations"][draw.choice(list(seeds["occupations"]))]
    groups = draw.sample(list(seeds["hobbies"].values()), HOBBIES)
    kinds = {kind: group for group, kinds in seeds["relationships"].items() for kind in kinds}
    partner = draw.choice(seeds["relationships"][PARTNERS])
    possible = [kind for kind, group in kinds.items() if group != PARTNERS or kind == partner]
    return Seed(
        number,
        " ".join(f"{letter}." for letter in draw.sample(INITIALS, 2)),
        draw.choice(field["specialties"]),
        draw.choice(field["education"]),
        tuple(draw.choice(group) for group in groups),
        tuple(draw.sample(possible, RELATIONSHIPS)),
        draw,
    )


@cache
def _seeds() -> dict[str, Any]:
    return dict(json.loads(Path(__file__).with_name("seeds.json").read_text("utf-8")))
