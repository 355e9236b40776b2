"""The registry of facts of users: how each is written down, said to its user and asked for."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import TypeAdapter

from graph.language.patterns import load
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
    plain: bool = False
    since: bool = False


FACTS: Mapping[str, FactKind] = TypeAdapter(dict[str, FactKind]).validate_python(load("facts.toml"))
"""The kinds of facts by relation; "{kind}" is that of people, whatever they are to the user."""


def kind_of(relation: Relation | None, store: Store) -> FactKind | None:
    """The kind of a fact; None for one that is not in the registry."""
    if relation is None:
        return None
    if store == "relationship":
        return FACTS["{kind}"]
    return FACTS.get("favourite {kind}" if relation.name.startswith("favourite ") else relation.name)
