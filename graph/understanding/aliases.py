"""Name people in full: "my husband" is Callum, so a question about either is about "my husband Callum".

Lines about one person call them by name or by what they are to the speaker; a question in full finds both.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from graph.language.patterns import any_word, pattern
from graph.language.people import RELATIONS, canonical, wider
from memory.bank.relations import YOU
from memory.types import Relation

ASKS_NAME = any_word("whom?|whos|names?|called|named")
"""Asks who somebody is; a question for a name must not be told it."""

MOST_NAMES = 2
"""With more names of a kind ("my friend"), it is not clear who is meant."""


def names_by_kind(relations: Iterable[Relation]) -> dict[str, list[str]]:
    """The names of the people and animals around the user by their kind: directly, or as a sister's daughter.

    They are in the order of the relations, the latest first.
    """
    by_head: dict[str, list[Relation]] = {}
    for relation in relations:
        by_head.setdefault(relation.head, []).append(relation)
    names: dict[str, list[str]] = {}
    for relation in by_head.pop(YOU, []):
        further = ((f"{canonical(relation.name)}'s {canonical(r.name)}", r) for r in by_head.get(relation.tail, ()))
        for kind, each in ((relation.name, relation), *further):
            known = names.setdefault(canonical(kind), [])
            if each.tail not in known:
                known.append(each.tail)
    return names


def with_names(text: str, people: Mapping[str, Sequence[str]]) -> str:
    """The text with the name after "my husband", unless it asks for a name or says it; `people` are names by kind."""
    if not people or ASKS_NAME.search(text):
        return text

    @cache  # a long text names the same people again and again
    def is_said(name: str) -> bool:
        return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None

    def called(kind: str) -> Sequence[str]:
        """The names of those of a kind, by any word for it; none if they are too many to tell who is meant."""
        own, *further = wider(kind)
        found = people.get(own) or [name for each in further for name in people.get(each, ())]
        return found if len(found) <= MOST_NAMES else ()

    def named(match: re.Match[str]) -> str:
        kinds = [f"{match['kind']}'s {match['further']}"] if match["further"] else []
        found = next(((kind, names) for kind in (*kinds, match["kind"]) if (names := called(kind))), None)
        if found is None or any(map(is_said, found[1])):
            return match[0]
        cut = match.end("kind") - match.start() if match["further"] and found[0] == match["kind"] else len(match[0])
        return f"{match[0][:cut]} {' '.join(found[1])}{match[0][cut:]}"

    kinds = "|".join(sorted(map(re.escape, RELATIONS.union(people)), key=len, reverse=True))
    of_kinds = pattern(rf"<MY>(?:best )?(?P<kind>{kinds})(?:(?:'s|s'?) (?P<further>{kinds})\b|s?\b)")
    return of_kinds.sub(named, text.replace("’", "'"))
