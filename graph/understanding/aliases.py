"""Name people in full: "my husband" is Callum, so a question about either is about "my husband Callum".

Lines about one person call them by name or by what they are to the speaker; a question in full finds both. The name is
part of what is asked; what the person is only helps to search.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from memory.bank.relations import YOU
from memory.search.tokens import FUNCTION_WORDS
from memory.types import Relation

_SAME = tuple(
    tuple(words.split("/"))
    for words in (
        "mother/mum/mom/mam",
        "father/dad/daddy",
        "grandmother/grandma/gran/granny/nan/nana",
        "grandfather/grandpa/grandad/granddad",
        "aunt/auntie",
        "fiancé/fiancée/fiance/fiancee",
        "child/kid/children",
        "boss/manager/supervisor/line manager",
        "flatmate/roommate/housemate",
        "neighbour/neighbor",
        "colleague/coworker/co-worker",
        "friend/best friend/mate/best mate/pal",
        "doctor/GP",
        "dog/puppy/greyhound/labrador/lab/poodle/beagle/spaniel/terrier/collie/retriever/pug/dachshund/whippet/husky"
        "/bulldog/corgi/chihuahua/mongrel/cockapoo/labradoodle",
        "cat/kitten/tabby",
        "niece/sister's daughter/brother's daughter",
        "nephew/sister's son/brother's son",
        "granddaughter/son's daughter/daughter's daughter/child's daughter",
        "grandson/son's son/daughter's son/child's son",
        "mother-in-law/husband's mother/wife's mother/spouse's mother",
        "father-in-law/husband's father/wife's father/spouse's father",
        "sister-in-law/husband's sister/wife's sister/brother's wife",
        "brother-in-law/husband's brother/wife's brother/sister's husband",
        "cousin/aunt's son/aunt's daughter/uncle's son/uncle's daughter",
    )
)
"""Words for one kind of relation; the first stands for all."""
_WIDER: Mapping[str, tuple[str, ...]] = {
    "partner": ("husband", "wife", "boyfriend", "girlfriend", "fiancé", "spouse"),
    "husband": ("spouse", "partner"),
    "wife": ("spouse", "partner"),
    "boyfriend": ("partner",),
    "girlfriend": ("partner",),
    "spouse": ("husband", "wife"),
    "child": ("son", "daughter"),
    "parent": ("mother", "father"),
    "sibling": ("brother", "sister"),
    "pet": (
        *("dog", "cat", "rabbit", "bunny", "hamster", "guinea pig", "parrot", "budgie", "canary", "tortoise", "turtle"),
        *("horse", "pony", "goldfish", "snake", "lizard", "gecko", "ferret", "rat", "mouse", "gerbil", "chicken"),
        *("hen", "goat", "sheep", "duck", "donkey"),
    ),
}
"""What else a kind may have been called when it was told."""
_CANONICAL = {word.casefold(): words[0] for words in _SAME for word in words}
_QUALITIES = r"(?:(?:older|elder|eldest|oldest|younger|youngest|big|little|baby|new|old|dear|late|own|best) )*"

_ASKS_NAME = re.compile(r"\b(?:who|who's|whos|names?|called|named)\b", re.IGNORECASE)
"""A question for a name must not be told it."""

MOST_NAMES = 2
"""With more names of a kind ("my friend"), it is not clear who is meant."""


@dataclass(frozen=True, slots=True)
class People:
    """The people and animals around the user: their names by kind, and the kind of each name."""

    names: Mapping[str, tuple[str, ...]]
    kinds: Mapping[str, str]

    @classmethod
    def of(cls, relations: Iterable[Relation]) -> People:
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
        asked = canonical(kind)
        found = self.names.get(asked) or [name for wider in _WIDER.get(asked, ()) for name in self.names.get(wider, ())]
        return tuple(found) if len(found) <= MOST_NAMES else ()


def canonical(kind: str) -> str:
    """The word that stands for all words of a kind: "mother" for "mum", "niece" for "sister's daughter"."""
    plain = re.sub(rf"\A{_QUALITIES}", "", " ".join(kind.casefold().split()))
    whose, possessive, whom = plain.partition("'s ")
    if possessive:
        plain = f"{canonical(whose)}'s {canonical(whom)}"
    return _CANONICAL.get(plain, plain)


def fits(kind: str, asked: str) -> bool:
    """Whether somebody of a kind is one of those asked about: a sister is a sibling, and a dog a pet."""
    kind, asked = canonical(kind), canonical(asked)
    return kind == asked or kind in map(canonical, _WIDER.get(asked, ()))


def with_names(text: str, people: People) -> str:
    """The text with the name after "my husband", unless it asks for a name or says it."""
    if not people.kinds or _ASKS_NAME.search(text):
        return text

    def named(match: re.Match[str]) -> str:
        kinds = [f"{match['kind']}'s {match['further']}"] if match["further"] else []
        found = next(((kind, names) for kind in (*kinds, match["kind"]) if (names := people.called(kind))), None)
        if found is None or any(mention(name, text) for name in found[1]):
            return match[0]
        cut = match.end("kind") - match.start() if match["further"] and found[0] == match["kind"] else len(match[0])
        return f"{match[0][:cut]} {' '.join(found[1])}{match[0][cut:]}"

    return _of_kinds(people).sub(named, text.replace("’", "'"))


def with_kinds(text: str, people: People) -> str:
    """The text with "my husband" before his name, unless it says what he is."""
    said = set(kinds_in(text, people))
    for name, kind in people.kinds.items():
        if canonical(kind) not in said and (found := mention(name, text)):
            text = f"{text[: found.start()]}my {kind} {found[0]}{text[found.end() :]}"
    return text


def kinds_in(text: str, people: People) -> tuple[str, ...]:
    """What a text calls people: "mother" for "my mum"."""
    return tuple(canonical(match["kind"]) for match in _of_kinds(people).finditer(text.replace("’", "'")))


def mention(name: str, text: str) -> re.Match[str] | None:
    """Where a text names somebody; in lower case only where it can hardly be another word."""
    pattern = rf"(?<!\w){re.escape(name)}(?!\w)"
    exact = re.search(pattern, text)
    if exact or name.casefold() in FUNCTION_WORDS or len(name) < 4 or not text.islower():
        return exact
    return re.search(pattern, text, re.IGNORECASE)


def _of_kinds(people: People) -> re.Pattern[str]:
    words = {word for same in _SAME for word in same if "'s " not in word}
    known = words.union(people.names, _WIDER, *_WIDER.values())
    kinds = "|".join(sorted(map(re.escape, known), key=len, reverse=True))
    return re.compile(
        rf"\b(?:my|our) {_QUALITIES}(?P<kind>{kinds})(?:(?:'s|s'?) (?P<further>{kinds})\b|s?\b)",
        re.IGNORECASE,
    )
