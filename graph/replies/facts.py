"""State what the user told about themselves in the second person, without quoting.

So is answered, too, who somebody is and whom the user has: "Who is Tim?", "Do I have a brother?", "Am I married?".
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from graph.language.facts import kind_of
from graph.language.patterns import pattern
from graph.language.people import canonical, capitalise_names, singular, wider
from graph.replies.card import fill_names, is_program
from graph.replies.phrases import MAX_REPEATED
from graph.replies.second_person import first_person
from graph.state import USER, Ask, Citation, Reading, Services
from graph.understanding.requests import PersonQuestion
from graph.understanding.sentences import shorten
from memory.bank.bank import Bank
from memory.bank.queries.told import facts_of_persona, facts_told, name_told
from memory.bank.relations import YOU
from memory.search.tokens import content_terms
from memory.types import Memory

UNKNOWN = "Not that I know of."
"""The answer where nothing says whether the user has somebody."""

MOST_OWN = 4
"""Most facts with which a persona introduces itself."""

_KNOWN_NAME = pattern("<WHO>")
_COUNT = pattern(r"\A(?:\w+ )?<QUALITY>")


def told_me(said_at: datetime | None, asked_at: datetime, told_to: str = "", *, by_persona: bool = False) -> str:
    """When the user told it: "You told me today", "yesterday", "on 3 May", and with the year if it is not this one.

    What they told to another persona: "You told Lena today"; what the persona told: "I told you today".
    """
    told = "I told you" if by_persona else f"You told {told_to or 'me'}"
    if said_at is None:
        return told
    day = said_at.astimezone(asked_at.tzinfo).date()
    ago = (asked_at.date() - day).days
    if ago in (0, 1):
        return f"{told} {'yesterday' if ago else 'today'}"
    return f"{told} on {day.day} {day:%B}" + (f" {day.year}" if day.year != asked_at.year else "")


def state_fact(memory: Memory, asked_at: datetime) -> str:
    """What the user told about themselves that has one answer, with the day; empty for any other memory."""
    kind = kind_of(memory.relation, memory.store)
    if kind is None or not (kind.one or memory.store == "relationship"):
        return ""
    stated = fact_of_user(memory)
    return f"{stated} {told_me(memory.said_at, asked_at, memory.told_to)}." if stated and memory.said_at else stated


def cite_all(told: Sequence[tuple[Memory, str]], first: str, between: str) -> Reading:
    """What was told, each in a sentence with its source, after a first one."""
    said = [f"{text} [{number}]" for number, (_, text) in enumerate(told, 1)]
    citations = tuple(Citation(number, memory, memory.text, {}) for number, (memory, _) in enumerate(told, 1))
    return Reading(between.join(filter(None, [first, *said])), citations=citations)


def fact_of_user(memory: Memory) -> str:
    """What the user told about themselves and holds, in the second person; empty for any other memory."""
    relation = memory.relation
    is_own = memory.speaker == USER and relation is not None and relation.head == YOU and memory.valid_to is None
    return fact_to_user(memory) if is_own else ""


def fact_of_persona(memory: Memory) -> str:
    """What a persona told about itself and holds, in the first person; empty for any other memory."""
    relation = memory.relation
    is_own = relation is not None and memory.speaker not in ("", USER) and relation.head == memory.speaker
    return first_person(fact_to_user(memory)) if is_own and memory.valid_to is None else ""


def fact_to_user(memory: Memory) -> str:
    """A fact that a user told, in the second person; empty for one that is not in the registry."""
    relation, kind = memory.relation, kind_of(memory.relation, memory.store)
    if relation is None or kind is None:
        return ""
    whose = "your" if relation.head in (memory.speaker, YOU, "") else f"{relation.head}'s"
    what = _with_article(relation.name, relation.tail)
    return kind.said.format(what=what, whose=whose, kind=relation.name.removeprefix("favourite "))


def _with_article(relation: str, what: str) -> str:
    """An occupation, an allergy or a day as one says it: "a nurse", "a nut" allergy, "the 3rd of May"."""
    if relation == "birthday" and re.match(r"\d+(?:st|nd|rd|th)\b", what):
        return f"the {what}"
    if relation in ("occupation", "allergen") and what[:1].islower() and not re.match(r"(?:an?|the|my)\b|\w+s\b", what):
        return f"an {what}" if what[0] in "aeiou" else f"a {what}"
    return what


def answer_about_person(asked: PersonQuestion, ask: Ask, services: Services, reading: Reading) -> Reading:
    """The answer of facts and relations to a question about people, and else the `reading` of lines."""
    facts = facts_told(services.bank, ask.persona.id, ask.as_of)
    if asked.name:
        return _who_is(asked.name, facts, ask, services) or reading
    found = _facts_of_having(asked.kind, facts)
    if asked.called:
        named = [fact for fact in (found[1] if found else ()) if fact.store == "relationship"]
        if named and (reading.abstained or not any(f.relation and f.relation.tail in reading.answer for f in named)):
            return _state_all(named, "", ask.as_of)
        if any(citation.memory.attribute == "name" for citation in reading.citations):  # that is the user's own
            unknown = f"I don't know what your {asked.kind} is called."
            return Reading(unknown, reading.notes, abstained=True, reason="found but does not say", by=reading.by)
        return reading
    if found is not None:
        has, known = found
        return _state_all(known, "Yes. " if has != asked.denied else "No. ", ask.as_of)
    cited = [citation.memory.turn_ids for citation in reading.citations]
    of_others = any(fact.store == "relationship" and fact.turn_ids in cited for fact in facts)
    is_decided = not (reading.abstained or asked.denied or of_others) and reading.answer.startswith(("Yes.", "No."))
    if is_decided or any(asked.kind in _words(citation.memory.text) for citation in reading.citations):
        return reading
    return Reading(UNKNOWN, reading.notes, abstained=True, reason="nothing found", by=reading.by)


def name_of_user(ask: Ask, bank: Bank) -> Reading | None:
    """The name that the user told last; None if none."""
    names = [fact for fact in facts_told(bank, ask.persona.id, ask.as_of) if fact.attribute == "name"]
    return _state_all(names[:1], "", ask.as_of) if names else None


def _who_is(name: str, facts: Sequence[Memory], ask: Ask, services: Services) -> Reading | None:
    """Who is called so; None where only lines tell of that name, or where it may be no name."""
    asked = _words(name)
    if asked <= _words(ask.persona.name):
        return None
    known = [m for m in facts if m.store == "relationship" and m.relation and asked <= _words(m.relation.tail)]
    if known:
        return _state_all(known[:1], "", ask.as_of)
    own = facts_of_persona(services.bank, ask.persona, ask.as_of)
    if of_persona := [m for m in own if m.store == "relationship" and m.relation and asked <= _words(m.relation.tail)]:
        return state_own(of_persona[:1])
    _, frequency = services.searcher.document_frequencies(ask.persona.id, content_terms(name), ask.as_of)
    if any(frequency.values()) or not _KNOWN_NAME.fullmatch(capitalise_names(name)):
        return None
    shown = name.title() if name.islower() else name
    return Reading(f"I don't know anyone called {shown}.", abstained=True, reason="nothing found", by="extractive")


def _facts_of_having(kind: str, facts: Sequence[Memory]) -> tuple[bool, list[Memory]] | None:
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
        return True if singular(_COUNT.sub("", relation.tail)) in wider(kind) else None
    if relation.name == "has no":
        return False if canonical(kind) in wider(singular(relation.tail)) else None
    if relation.name == "marital status" and canonical(kind) in wider("partner"):
        may_be_spouse = "spouse" in wider(kind)
        if relation.tail == "married":
            return True if may_be_spouse else None
        return False if relation.tail == "single" or (may_be_spouse and kind != "partner") else None
    return None


def _state_all(known: Sequence[Memory], first: str, asked_at: datetime) -> Reading:
    """The facts in one sentence, with the day on which the last of them was told."""
    said = [fact_to_user(fact).removesuffix(".") for fact in known]
    joined = ", and ".join([said[0], *(text.replace("You ", "you ", 1) for text in said[1:])])
    numbers = "".join(f"[{number}]" for number in range(1, len(known) + 1))
    told = f" {told_me(known[-1].said_at, asked_at, known[-1].told_to)}." if known[-1].said_at else ""
    citations = tuple(Citation(n, fact, fact.text, {}) for n, fact in enumerate(known, 1))
    return Reading(f"{first}{joined}.{told} {numbers}", citations=citations, by="extractive")


def state_own(known: Sequence[Memory], first: str = "") -> Reading:
    """What the persona told about itself, each fact in a sentence, after a first one."""
    return replace(cite_all([(memory, fact_of_persona(memory)) for memory in known], first, " "), by="extractive")


def introduce_self(ask: Ask, bank: Bank) -> Reading | None:
    """Who the persona is, by its own facts and its description; None for a program that has no other life."""
    facts = facts_of_persona(bank, ask.persona, ask.as_of)[:MOST_OWN]
    description = fill_names(ask.persona.description, ask.persona, name_told(bank, ask.persona.id, ask.as_of))
    if not facts and (not description or is_program(ask.persona)):
        return None
    quoted = f" My description says: “{shorten(description, MAX_REPEATED)}”" if description else ""
    return state_own(facts, f"I'm {ask.persona.name}.{quoted}")


def _words(name: str) -> set[str]:
    """The words of a name, without accents, titles' dots and capitals."""
    plain = unicodedata.normalize("NFKD", name.casefold())
    return set(re.findall(r"[^\W_]+", "".join(letter for letter in plain if not unicodedata.combining(letter))))
