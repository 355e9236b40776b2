"""What people and animals are to somebody: words for one relation, and wider words for it."""

import re
from collections.abc import Mapping

from graph.language.patterns import any_word, fill, listed, load, pattern

_TABLE: Mapping[str, Mapping[str, str]] = load("people.toml")
_KINDS = {place: [kind.split("/") for kind in listed(kinds)] for place, kinds in _TABLE["kinds"].items()}
_CANONICAL = {word.casefold(): words[0] for kinds in _KINDS.values() for words in kinds for word in words} | {
    word: kind for kind, words in _TABLE["by_relation"].items() for word in words.replace("_", " ").split("/")
}
_CANONICAL["children"] = "child"
_WIDER: Mapping[str, list[str]] = {kind: listed(words) for kind, words in _TABLE["wider"].items()} | {
    "pet": [words[0] for words in _KINDS["animals"]]
}
_KNOWN_NAME = pattern(r"(?<![\w'-])<KNOWN_NAME>")
_QUALITY = re.compile(fill(r"\A<QUALITY>(?:best )?"))

SPEAKER, ADDRESSEE = any_word("i|im|me|my|mine|we|us|our"), pattern(r"\b(?:you|your|yours|yourself|u|ur)\b|[你您]")
"""Words by which people speak of themselves, and of whom they speak to."""

RELATIONS = frozenset({*_CANONICAL, *_CANONICAL.values(), *_WIDER}) - {word for word in _CANONICAL if "'s " in word}
"""All words for what somebody is to somebody, in lower case."""


def canonical(kind: str) -> str:
    """The word that stands for all words of a kind: "mother" for "mum", "niece" for "sister's daughter"."""
    plain = _QUALITY.sub("", " ".join(kind.casefold().split()))
    whose, possessive, whom = plain.partition("'s ")
    if possessive:
        plain = f"{canonical(whose)}'s {canonical(whom)}"
    return _CANONICAL.get(plain, plain)


def wider(kind: str) -> tuple[str, ...]:
    """The kinds that somebody asked for by this word may be, in canonical words: a spouse is a husband or a wife."""
    return (canonical(kind), *map(canonical, _WIDER.get(canonical(kind), ())))


def singular(kind: str) -> str:
    """The canonical word of a kind that may be in the plural."""
    plain = kind.casefold().replace("puppies", "puppy").replace("animal", "pet")
    return canonical(plain if plain.endswith("ss") else plain.removesuffix("s"))


def capitalise_names(text: str) -> str:
    """The text with a capital on names of people that are typed in lower case: "my sister Ana", "Dr Whitfield"."""
    return _KNOWN_NAME.sub(lambda match: match[0].title(), text)
