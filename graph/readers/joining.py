"""Take a question apart that names somebody by what they did: "where does the man who fixed my car live".

Who that is is asked first ("who fixed my car"), and then the question with the name ("where does Sam live").
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from graph.readers.notes import take_notes
from graph.readers.updates import answers
from graph.state import Ask, Services
from graph.understanding import question
from memory.search.searcher import View
from memory.types import Hit

LONGEST = 200
"""Most characters of a question that is parsed."""

MOST_WORDS = 4
"""Most words of a name."""

LEAST_SURE = 0.5
"""Probability of the answering words from which they are taken for the name."""

_SOMEBODY = (
    r"(?:man|woman|guy|girl|boy|lad|lady|person|bloke|fella|kid|one|friend|mate|neighbour|colleague|doctor|vet|teacher"
    r"|tutor|driver|nurse|dentist|plumber|builder)"
)
_RELATIVE = re.compile(
    rf"\A(?P<before>.*?\b(?P<verb>do|does|did|is|was|from|of|to|with|for)\b.*?)\bthe (?:\w+ )?{_SOMEBODY}"
    r" (?:(?P<by>from|to|with|by|off) whom?|who|that) (?P<clause>.+?)\W*\Z",
    re.IGNORECASE,
)
_LEADS = re.compile(r"\b(?:does|did|do)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Joined:
    """A question in two steps: who is meant, and what is asked of them, with "{}" for the name."""

    who: str
    then: str


def parse(text: str) -> Joined | None:
    """The two steps of a question; None if it names nobody by what they did."""
    match = _RELATIVE.match(text) if len(text) <= LONGEST else None
    if match is None:
        return None
    clause, last = match["clause"], ""
    if _LEADS.search(match["before"]):
        # The verb of the question comes after the clause: "where does the man who fixed my car live".
        clause, _, last = clause.rpartition(" ")
    if not clause:
        return None
    by = f" {match['by']}" if match["by"] else ""
    return Joined(f"who {clause}{by}", f"{match['before']}{{}} {last}".strip())


def with_name(text: str, ask: Ask, services: Services) -> tuple[View, tuple[Hit, ...]] | None:
    """A question with the name of whom it describes, and what is found for it; None if it is not known who that is."""
    joined = parse(text)
    if joined is None:
        return None
    _, hits = _search(joined.who, ask, services)
    origins = services.bank.origins(ask.persona.id, [hit.memory.id for hit in hits])
    size, frequency = services.searcher.document_frequencies(ask.persona.id, question.terms_of(joined.who), ask.as_of)
    parsed = question.parse(joined.who, size, frequency)
    notes = take_notes(parsed, ask.as_of.date(), hits, origins, services.line_reader)
    name = notes[0].words.strip(" .,!") if notes and answers(notes[0]) and notes[0].sure >= LEAST_SURE else ""
    if not name or len(name.split()) > MOST_WORDS:
        return None
    return _search(joined.then.replace("{}", name), ask, services)


def _search(text: str, ask: Ask, services: Services) -> tuple[View, tuple[Hit, ...]]:
    (view,) = services.searcher.views([text])
    found = services.searcher.search(ask.persona.id, [view], ask.as_of, services.settings.search)
    return view, tuple(hit for hit in found if hit.kept)
