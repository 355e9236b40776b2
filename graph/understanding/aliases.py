"""Name people in full: "my husband" is Callum, so a question about either is about "my husband Callum".

Lines about one person call them by name or by what they are to the speaker; a question in full finds both.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Self

from graph.language.patterns import any_word, pattern
from graph.language.people import RELATIONS, canonical, wider
from memory.bank.relations import YOU
from memory.types import Relation

ASKS_NAME = any_word("whom?|whos|names?|called|named")
"""Asks who somebody is; a question for a name must not be told it."""

MOST_NAMES = 2
"""With more names of a kind ("my friend"), it is not clear who is meant."""


@dataclass(frozen=True, slots=True)
class People:
    """The people and animals around the user: their names by kind, and the kind of each name."""

    names: Mapping[str, tuple[str, ...]]
    kinds: Mapping[str, str]

    @classmethod
    def of(cls, relations: Iterable[Relation]) -> Self:
        """Those of the relations, the latest first, that are the user's: directly, or as a sister's daughter."""
        by_head: dict[str, list[Relation]] = {}
        for relation in relations:
            by_head.setdefault(relation.head, []).append(relation)
        own = by_head.pop(YOU, [])
        names: dict[str, list[str]] = {}
        kinds: dict[str, str] = {}
        for relation in own:
            further = ((f"{canonical(relation.name)}'s {canonical(r.name)}", r) for r in by_head.get(relation.tail, ()))
            for kind, each in ((relation.name, relation), *further):
                if each.tail not in names.setdefault(canonical(kind), []):
                    names[canonical(kind)].append(each.tail)
                kinds.setdefault(each.tail, kind)
        return cls({kind: tuple(called) for kind, called in names.items()}, kinds)

    def called(self, kind: str) -> tuple[str, ...]:
        """The names of those of a kind, by any word for it; none if they are too many to tell who is meant."""
        own, *further = wider(kind)
        found = self.names.get(own) or [name for each in further for name in self.names.get(each, ())]
        return tuple(found) if len(found) <= MOST_NAMES else ()


def with_names(text: str, people: People) -> str:
    """The text with the name after "my husband", unless it asks for a name or says it."""
    if not people.kinds or ASKS_NAME.search(text):
        return text

    @cache  # a long text names the same people again and again
    def is_said(name: str) -> bool:
        return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None

    def named(match: re.Match[str]) -> str:
        kinds = [f"{match['kind']}'s {match['further']}"] if match["further"] else []
        found = next(((kind, names) for kind in (*kinds, match["kind"]) if (names := people.called(kind))), None)
        if found is None or any(map(is_said, found[1])):
            return match[0]
        cut = match.end("kind") - match.start() if match["further"] and found[0] == match["kind"] else len(match[0])
        return f"{match[0][:cut]} {' '.join(found[1])}{match[0][cut:]}"

    kinds = "|".join(sorted(map(re.escape, RELATIONS.union(people.names)), key=len, reverse=True))
    of_kinds = pattern(rf"<MY>(?:best )?(?P<kind>{kinds})(?:(?:'s|s'?) (?P<further>{kinds})\b|s?\b)")
    return of_kinds.sub(named, text.replace("’", "'"))
