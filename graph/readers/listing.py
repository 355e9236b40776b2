"""Questions for a list or a count: the distinct things that notes tell, in order of time, each with its source.

An item is a line that was said, quoted and not put in other words. Lines that tell the same are one item with all their
citations. A count says how many items were found, which are there to be checked, and not how many there are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

from graph.readers.composing import MAX_WORDS, clip, grown, missing, near_best
from graph.readers.passages import NUMBER, UNCOUNTED_PENALTY
from graph.state import Citation, Note, Reading
from graph.understanding.question import ASKING, Question
from graph.understanding.times import moment_of
from memory.search import tokens as lexical
from memory.types import Hit

LONGEST = 400
"""Characters of a question that asks for a list; a pasted page does not."""

NEAR, NEAR_COUNTED = 0.55, 0.7
"""Share of the best note's relevance that an item must reach: one item too many makes a count wrong."""

TELLS = 0.5
"""Weighted share of the question's words that a counted item must hold in its own sentence."""

SAME = 0.6
"""Share of the terms of the shorter of two items, beyond the question's, from which they tell the same."""

LEAST_NEW = 2
"""Terms beyond the question's that an item must hold: "Books are great!" names none."""

LISTED, COUNTED = 6, 8
"""Items at most."""

FIRST_WORDS, ITEM_WORDS, LEAST_WORDS = 25, 20, 6
"""Words quoted of the best item and of each other one, and the room in which a further one is still worth quoting."""

_WORD = re.compile(r"[^\W_]+(?:['’/-][^\W_]+)*")
_VERBS = frozenset("am is are was were do does did has have had can could will would should may might".split())
_AFTER = _VERBS | frozenset("of in on at to from for with by about that which who there".split())
_NO_NOUNS = _AFTER | frozenset("i my the he she his her they their we our you your it its and or".split())
_TIMES = frozenset("days weeks months years hours minutes seconds seasons dates".split())
"""Which days, how many weeks: a time is asked for, not a list."""

_DURATION = re.compile(r"\b\w+ (?:day|week|month|year|hour|minute|second)s?\b", re.IGNORECASE)
"""Two trips in three days: the days are not what is counted."""

_ENUMERATES = re.compile(r"\w, [^,.!?]+,? (?:and|or) \w")
"""One line that lists several things by itself is the list."""

_NO_PLURALS = ("ss", "us", "is", "'s", "’s")


@dataclass(frozen=True, slots=True)
class Listed:
    """What a question asks to have listed; with `counted`, the terms of the noun that it counts, how many there are."""

    counted: frozenset[str] | None = None


def parse(text: str, *, many: bool = False) -> Listed | None:
    """What a question asks to have listed or counted; None if it is but one thing, or how much.

    `many` says that it is likely to ask for several, where its words do not tell.
    """
    if len(text) > LONGEST:
        return None
    words = [word.lower() for word in _WORD.findall(text)]
    for place, (word, following) in enumerate(pairwise(words)):
        if word == "how" and following == "many":
            noun, _ = _noun(words[place + 2 :])
            return None if noun in _TIMES else Listed(frozenset(lexical.terms(noun)) - ASKING)
        if word in ("what", "which", "who") and following in ("are", "were"):
            return Listed()
        if word in ("what", "which"):
            noun, rest = _noun(words[place + 1 :])
            # "Which firm pays my wages?", "What bus goes to the harbour?": without a further verb it was no noun.
            if _is_plural(noun) and noun not in _TIMES and _AFTER.issuperset(rest[:1]) and not _VERBS.isdisjoint(rest):
                return Listed()
    return Listed() if words[:1] == ["list"] or (many and "how" not in words) else None


def compose(
    listed: Listed, question: Question, notes: Sequence[Note], hits: Sequence[Hit], asked_at: datetime
) -> Reading | None:
    """The list or the count, of `MAX_WORDS` words; None where the notes tell fewer than two items.

    None, too, where the best line lists several things by itself, or names the number that is asked for.

    Args:
        listed: What is asked for.
        question: The same, taken apart.
        notes: The reader's notes, best first.
        hits: What was found, for the scores of what is cited.
        asked_at: When it is asked; dates of another year are given with it.
    """
    is_count = listed.counted is not None
    notes = _unpenalised(notes) if is_count else notes
    if missing(question, notes) or _answers_alone(notes[0].quote, is_count=is_count):
        return None
    items = _items(listed, question, notes)
    if len(items) < 2:
        return None
    first = f"I know of {len(items)}:" if is_count else ""
    quotes = _quotes(items, question, asked_at, MAX_WORDS - len(first.split()))
    scores = {hit.memory.id: hit.scores for hit in hits}
    lines, citations = [first] if first else [], list[Citation]()
    for place in sorted(range(len(quotes)), key=lambda n: moment_of(items[n][0].memory) or asked_at):
        marks = []
        for note in items[place]:
            citations.append(Citation(len(citations) + 1, note.memory, note.quote, scores.get(note.memory.id, {})))
            marks.append(f"[{len(citations)}]")
        lines.append(f"{_day(items[place][0], asked_at)}“{quotes[place]}” {''.join(marks)}")
    return Reading("\n".join(lines), tuple(notes), tuple(citations))


def _answers_alone(quote: str, *, is_count: bool) -> bool:
    return bool(NUMBER.search(_DURATION.sub("", quote)) if is_count else _ENUMERATES.search(quote))


def _unpenalised(notes: Sequence[Note]) -> list[Note]:
    """The notes of a count without what they lost for naming no number: what is to be counted names none."""
    freed = (
        note if NUMBER.search(note.quote) else replace(note, relevance=min(note.relevance / UNCOUNTED_PENALTY, 1.0))
        for note in notes
    )
    return sorted(freed, key=lambda note: -note.relevance)


def _items(listed: Listed, question: Question, notes: Sequence[Note]) -> list[list[Note]]:
    """The notes that name something asked for, best first, those that tell the same together."""
    asked = question.weights.keys() - question.names - ASKING
    is_count = listed.counted is not None
    items: list[tuple[list[Note], frozenset[str]]] = []
    for note in near_best(notes, NEAR_COUNTED if is_count else NEAR):
        own = frozenset(lexical.terms(note.quote))
        new = frozenset(lexical.content_terms(note.quote)) - question.weights.keys()
        if note.quote.endswith(("?", "？")) or len(new) < LEAST_NEW or (asked and not asked & own):
            continue
        if listed.counted is not None and not (listed.counted <= own and _share(question, asked, own) >= TELLS):
            continue
        twin = next((told for told, terms in items if len(new & terms) >= SAME * min(len(new), len(terms))), None)
        if twin is not None:
            twin.append(note)
        else:
            items.append(([note], new))
    return [told for told, _ in items[: COUNTED if is_count else LISTED]]


def _quotes(items: Sequence[Sequence[Note]], question: Question, asked_at: datetime, room: int) -> list[str]:
    """What is quoted of each item, of the best first; room that is left goes to the sentences around them.

    All are quoted, each in so few words that they fit; where `LEAST_WORDS` of each do not fit, they take more room.
    """
    quotes: list[str] = []
    for place, told in enumerate(items):
        around = len(_day(told[0], asked_at).split()) + 1  # its number
        for_others = (len(items) - place - 1) * (LEAST_WORDS + around)
        words = min(ITEM_WORDS if quotes else FIRST_WORDS, room - for_others - around)
        quotes.append(clip(told[0].quote, question, max(words, LEAST_WORDS)))
        room -= len(quotes[-1].split()) + around
    for place, quote in enumerate(quotes):
        note = items[place][0]
        whole = grown(note, len(quote.split()) + room) if quote == note.quote else quote
        room -= len(whole.split()) - len(quote.split())
        quotes[place] = whole
    return quotes


def _share(question: Question, asked: Set[str], own: frozenset[str]) -> float:
    total = sum(question.weights[term] for term in asked)
    return sum(question.weights[term] for term in asked & own) / total if total else 1.0


def _day(note: Note, asked_at: datetime) -> str:
    moment = moment_of(note.memory)
    if moment is None:
        return ""
    return f"{moment.day} {moment:%B}{'' if moment.year == asked_at.year else f' {moment.year}'}: "


def _noun(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The last word before a verb, a preposition or a pronoun, and what comes from that one on."""
    for place, word in enumerate(words):
        if word in _NO_NOUNS:
            return words[place - 1] if place else "", words[place:]
    return words[-1] if words else "", ()


def _is_plural(noun: str) -> bool:
    return len(noun) > 3 and noun.endswith("s") and not noun.endswith(_NO_PLURALS)
