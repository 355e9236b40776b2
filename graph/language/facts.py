"""The registry of facts of users: how each is told, written down, said to its user and asked for."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from pydantic import TypeAdapter

from graph.language.patterns import load, pattern
from memory.types import Relation, Store


@dataclass(frozen=True, slots=True)
class FactKind:
    """A relation of a user to a value; facts.toml describes the fields."""

    stored: str
    said: str
    store: Store = "profile"
    ask: str = ""
    one: bool = False
    named: bool = False
    listed: Literal["", "each", "short"] = ""
    told: tuple[str, ...] = ()
    since: tuple[str, ...] = ()
    given: tuple[str, ...] = ()
    ended: tuple[str, ...] = ()
    former: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Form:
    """A way to state a fact.

    With `dated`, a time that the sentence names is when the fact came to hold, or ended. What is `given` is so even
    where the sentence denies or supposes something. What a form `ends` holds no more.
    """

    pattern: re.Pattern[str]
    relation: str
    kind: FactKind
    dated: bool
    given: bool
    ends: bool


FACTS: Mapping[str, FactKind] = TypeAdapter(dict[str, FactKind]).validate_python(load("facts.toml"))
"""The kinds of facts by relation; "{kind}" is that of people, whatever they are to the user."""


def kind_of(relation: Relation | None, store: Store) -> FactKind | None:
    """The kind of a fact; None for one that is not in the registry."""
    if relation is None:
        return None
    if store == "relationship":
        return FACTS["{kind}"]
    return FACTS.get("favourite {kind}" if relation.name.startswith("favourite ") else relation.name)


@cache
def forms() -> tuple[Form, ...]:
    """The forms in which facts are stated or end, for sentences in plain words. The first call compiles them: .3 s."""
    return tuple(
        Form(
            pattern(source),
            relation,
            kind,
            dated=field in ("since", "ended"),
            given=field == "given",
            ends=field in ("ended", "former"),
        )
        for relation, kind in FACTS.items()
        for field in ("told", "since", "given", "ended", "former")
        for source in getattr(kind, field)
    )
