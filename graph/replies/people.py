"""Answer who somebody is and whom the user has, from facts: "Who is Tim?", "Do I have a brother?", "Am I married?"."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from graph.language.patterns import first_search, pattern, patterns
from graph.language.people import canonical, wider
from graph.learning.plain_words import with_names
from graph.replies.facts import fact_to_user, told_me
from graph.state import Ask, Citation, Reading, Services
from graph.understanding.sentences import split
from memory.bank.queries.told import facts_told
from memory.bank.relations import YOU
from memory.search.tokens import content_terms
from memory.types import Memory

UNKNOWN = "Not that I know of."
"""The answer where nothing says whether the user has somebody."""

_LEAD = r"\A\W*(?:(?:and|so|but|ok|hey|wait|sorry)\W+)?(?:(?:do you (?:know|remember)|tell me|remind me) )?"
_NAME = (
    r"(?P<name>(?!(?:my|our|your|the|an?|this|that|these|those|s?he|it|they|you|u|i|we|there|in|on|at|to|me|going|the)\b)"
    r"[^\W\d_][\w.'-]*(?: [^\W\d_][\w.'-]*){0,2}?)"
)
_END = r"(?: again| then| at all| or not)?\W*\Z"
_WHO = patterns(
    rf"{_LEAD}who(?:'?s| is| was) {_NAME}(?: to me)?{_END}",
    rf"{_LEAD}who {_NAME} (?:is|was)(?: to me)?{_END}",
    rf"{_LEAD}what(?:'?s| is| was) {_NAME} to me{_END}",
)
_KIND = "<QUALITY>(?P<kind>(?:<RELATIVE>|<ROLE>|<ANIMALS>|sibling|pet|animal|parent|children)s?)"
_HAVE = pattern(
    rf"{_LEAD}(?:(?:if )?(?:i|we) have|do (?:i|we)(?: actually| even| still)? have|have (?:i|we)(?: got)?)"
    rf"(?: any| an?| some)? {_KIND}{_END}"
)
_NAMED = patterns(
    rf"{_LEAD}what(?:'?s| is| was) (?:my|our) {_KIND}'? names?{_END}",
    rf"{_LEAD}what(?:'?s| is| was) (?:my|our) {_KIND}(?:(?:'s)? names?| called| named){_END}",
)
_AM = pattern(rf"{_LEAD}am i (?:really |still )?(?P<what>married|single|an only child){_END}")
_MEANS = {"married": ("spouse", True), "single": ("partner", False), "an only child": ("sibling", False)}
"""Relation that a status implies, and whether the user then has such a person."""
_MY_NAME = pattern(
    rf"{_LEAD}(?:what(?:'?s| is) my (?:own |first |full |given )?name|what am i called|who am i"
    rf"|what (?:should|do) (?:you|u) call me){_END}"
)
_KNOWN_NAME = pattern("<WHO>")
_COUNT = pattern(r"\A(?:\w+ )?<QUALITY>")


@dataclass(frozen=True, slots=True)
class _Asked:
    """Who is asked about: somebody of a name, or of a kind that the user has or, with `denied`, has not.

    With `called` it is the name of somebody of the kind, and without a kind the user's own.
    """

    name: str = ""
    kind: str = ""
    denied: bool = False
    called: bool = False


def asks_of_people(text: str) -> bool:
    """Whether a message asks who somebody is, or whether the user has somebody."""
    return _parse(text) is not None


def by_relations(ask: Ask, services: Services, reading: Reading) -> Reading:
    """The answer of facts and relations to a question about people, and else the `reading` of lines."""
    asked = _parse(ask.text)
    if asked is None or ask.only_found:
        return reading
    facts = facts_told(services.bank, ask.persona.id, ask.as_of)
    if asked.name:
        return _who_is(asked.name, facts, ask, services) or reading
    if not asked.kind:
        names = [fact for fact in facts if fact.attribute == "name"]
        return _stated(names[:1], "", ask.as_of) if names else reading
    found = _that_tell(asked.kind, facts)
    if asked.called:
        named = [fact for fact in (found[1] if found else ()) if fact.store == "relationship"]
        if named and not any(fact.relation and fact.relation.tail in reading.answer for fact in named):
            return _stated(named, "", ask.as_of)
        return reading
    if found is not None:
        has, known = found
        return _stated(known, "Yes. " if has != asked.denied else "No. ", ask.as_of)
    is_decided = not reading.abstained and reading.answer.startswith(("Yes.", "No.")) and not asked.denied
    if is_decided or any(asked.kind in _words(citation.memory.text) for citation in reading.citations):
        return reading
    return Reading(UNKNOWN, reading.notes, abstained=True, reason="nothing found", by=reading.by)


def _parse(text: str) -> _Asked | None:
    sentences = split(text.replace("’", "'"))
    last = sentences[-1] if sentences else ""
    if match := first_search(_WHO, last):
        return _Asked(name=match["name"].removesuffix("'s"))
    if match := first_search(_NAMED, last):
        return _Asked(kind=_singular(match["kind"]), called=True)
    if _MY_NAME.match(last):
        return _Asked(called=True)
    if match := _HAVE.match(last):
        return _Asked(kind=_singular(match["kind"]))
    if match := _AM.match(last):
        kind, has = _MEANS[match["what"].lower()]
        return _Asked(kind=kind, denied=not has)
    return None


def _who_is(name: str, facts: Sequence[Memory], ask: Ask, services: Services) -> Reading | None:
    """Who is called so; None where only lines tell of that name, or where it may be no name."""
    asked = _words(name)
    if asked <= _words(ask.persona.name):
        return None
    known = [m for m in facts if m.store == "relationship" and m.relation and asked <= _words(m.relation.tail)]
    if known:
        return _stated(known[:1], "", ask.as_of)
    _, frequency = services.searcher.document_frequencies(ask.persona.id, content_terms(name), ask.as_of)
    if any(frequency.values()) or not _KNOWN_NAME.fullmatch(with_names(name)):
        return None
    shown = name.title() if name.islower() else name
    return Reading(f"I don't know anyone called {shown}.", abstained=True, reason="nothing found", by="extractive")


def _that_tell(kind: str, facts: Sequence[Memory]) -> tuple[bool, list[Memory]] | None:
    """Whether the user has somebody of a kind by the latest facts, and the facts that say so; None if none does."""
    told = [(has, fact) for fact in facts if (has := _has(kind, fact)) is not None]
    if not told:
        return None
    latest = told[0][0]
    until = next((place for place, (has, _) in enumerate(told) if has != latest), len(told))
    known = [fact for _, fact in told[:until]] if latest else [told[0][1]]
    named = [fact for fact in known if fact.store == "relationship"]
    return latest, sorted(named or known, key=lambda fact: fact.id)


def _has(kind: str, fact: Memory) -> bool | None:
    """Whether a fact says that the user has somebody of a kind, or has not; None if it says neither."""
    relation = fact.relation
    if relation is None or relation.head not in (fact.speaker, YOU, ""):
        return None
    if fact.store == "relationship":
        return True if canonical(relation.name) in wider(kind) else None
    if relation.name == "has":
        return True if _singular(_COUNT.sub("", relation.tail)) in wider(kind) else None
    if relation.name == "has no":
        return False if canonical(kind) in wider(_singular(relation.tail)) else None
    if relation.name == "marital status" and canonical(kind) in wider("partner"):
        is_married = relation.tail == "married"
        if is_married:
            return True if kind in ("spouse", "husband", "wife", "partner") else None
        return False if relation.tail == "single" or kind in ("spouse", "husband", "wife") else None
    return None


def _stated(known: Sequence[Memory], first: str, asked_at: datetime) -> Reading:
    """The facts in one sentence, with the day on which the last of them was told."""
    said = [fact_to_user(fact).removesuffix(".") for fact in known]
    joined = ", and ".join([said[0], *(text.replace("You ", "you ", 1) for text in said[1:])])
    numbers = "".join(f"[{number}]" for number in range(1, len(known) + 1))
    told = f" {told_me(known[-1].said_at, asked_at, known[-1].told_to)}." if known[-1].said_at else ""
    citations = tuple(Citation(n, fact, fact.text, {}) for n, fact in enumerate(known, 1))
    return Reading(f"{first}{joined}.{told} {numbers}", citations=citations, by="extractive")


def _singular(kind: str) -> str:
    plain = kind.casefold().replace("puppies", "puppy").replace("animal", "pet")
    return canonical(plain if plain.endswith("ss") else plain.removesuffix("s"))


def _words(name: str) -> set[str]:
    """The words of a name, without accents, titles' dots and capitals."""
    plain = unicodedata.normalize("NFKD", name.casefold())
    return set(re.findall(r"[^\W_]+", "".join(letter for letter in plain if not unicodedata.combining(letter))))
