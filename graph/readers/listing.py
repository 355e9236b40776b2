"""Answer questions for a list or a count with the distinct items in the notes, in order of time, each with its source.

An item is a quoted line. Lines that say the same are one item with all their citations. A count is the number of items
that were found, which may be fewer than there were.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from graph.readers.composing import MAX_WORDS, cited, clip, notes_near_best, why_unanswered, with_surroundings
from graph.readers.passages import NUMBER, UNCOUNTED_PENALTY
from graph.state import Note, Reading
from graph.understanding.question import ASKING, Question
from graph.understanding.times import moment_of
from memory.search.tokens import content_terms, terms

if TYPE_CHECKING:
    from memory.types import Hit

LONGEST = 400
"""Most characters of a question that is parsed; a pasted page does not ask for a list."""

NEAR, NEAR_COUNTED = 0.55, 0.7
"""Share of the best note's relevance that an item must reach: one item too many makes a count wrong."""

TELLS = 0.5
"""Weighted share of the question's words that a counted item must hold in its own sentence."""

SAME = 0.6
"""Share of the terms of the shorter of two items, beyond the question's, from which they say the same."""

LEAST_NEW = 2
"""Terms beyond the question's that an item must hold: "Books are great!" names none."""

LISTED, COUNTED = 6, 8
"""Most items of a list, and of a count."""

FIRST_WORDS, ITEM_WORDS, LEAST_WORDS = 25, 20, 6
"""Most words quoted of the best item and of each other one, and the fewest to which a quote may be cut."""

_WORD = re.compile(r"[^\W_]+(?:['’/-][^\W_]+)*")
_VERBS = frozenset("am is are was were do does did has have had can could will would should may might".split())
_AFTER = _VERBS | frozenset("of in on at to from for with by about that which who there".split())
_NO_NOUNS = _AFTER | frozenset("i my the he she his her they their we our you your it its and or".split())
_TIMES = frozenset("days weeks months years hours minutes seconds seasons dates".split())
"""Nouns of time: "which days", "how many weeks" ask for a time, not for a list."""

_DURATION = re.compile(r"\b\w+ (?:day|week|month|year|hour|minute|second)s?\b", re.IGNORECASE)
"""Durations: in "two trips in three days" the days are not counted."""

_ENUMERATES = re.compile(r"\w, [^,.!?]+,? (?:and|or) \w")
"""A line that lists several things by itself."""

_NO_PLURALS = ("ss", "us", "is", "'s", "’s")


@dataclass(frozen=True, slots=True)
class ListRequest:
    """A question for a list or, with `counted`, the terms of the noun that it counts, for a count."""

    counted: frozenset[str] | None = None


def parse(text: str, *, many: bool = False) -> ListRequest | None:
    """The list or count that a question asks for; None if it asks for one thing, or an amount.

    With `many`, it is likely to ask for several things where its words do not decide.
    """
    if len(text) > LONGEST:
        return None
    words = [word.lower() for word in _WORD.findall(text)]
    for place, (word, following) in enumerate(pairwise(words)):
        if word == "how" and following == "many":
            noun, _ = _noun(words[place + 2 :])
            return None if noun in _TIMES else ListRequest(frozenset(terms(noun)) - ASKING)
        if word in ("what", "which", "who") and following in ("are", "were"):
            return ListRequest()
        if word in ("what", "which"):
            noun, rest = _noun(words[place + 1 :])
            is_plural = len(noun) > 3 and noun.endswith("s") and not noun.endswith(_NO_PLURALS)
            # "Which firm pays my wages?", "What bus goes to the harbour?": without a further verb it was no noun.
            if is_plural and noun not in _TIMES and _AFTER.issuperset(rest[:1]) and not _VERBS.isdisjoint(rest):
                return ListRequest()
    return ListRequest() if words[:1] == ["list"] or (many and "how" not in words) else None


def compose(
    listed: ListRequest, question: Question, notes: Sequence[Note], hits: Sequence[Hit], asked_at: datetime
) -> Reading | None:
    """The list or the count, of `MAX_WORDS` words; None if the notes (best first) hold fewer than two items.

    None, too, if the best line lists several things by itself, or names the number that is asked for.
    """
    is_count = listed.counted is not None
    notes = _unpenalised(notes) if is_count else notes
    if why_unanswered(question, notes):
        return None
    best = notes[0].quote  # it may hold the answer alone
    if NUMBER.search(_DURATION.sub("", best)) if is_count else _ENUMERATES.search(best):
        return None
    items = _items(listed, question, notes)
    if len(items) < 2:
        return None
    first = f"I know of {len(items)}:" if is_count else ""
    quotes = _quotes(items, question, asked_at, MAX_WORDS - len(first.split()))
    lines, sources = [first] if first else [], list[Note]()
    pairs = zip(items, quotes, strict=True)
    for item, quote in sorted(pairs, key=lambda pair: moment_of(pair[0][0].memory) or asked_at):
        numbers = range(len(sources) + 1, len(sources) + len(item) + 1)
        sources += item
        lines.append(f"{_day(item[0], asked_at)}“{quote}” {''.join(f'[{number}]' for number in numbers)}")
    return Reading("\n".join(lines), tuple(notes), cited(sources, hits))


def _unpenalised(notes: Sequence[Note]) -> list[Note]:
    """The notes without the penalty for naming no number: the items of a count name none."""
    freed = (
        note if NUMBER.search(note.quote) else replace(note, relevance=min(note.relevance / UNCOUNTED_PENALTY, 1.0))
        for note in notes
    )
    return sorted(freed, key=lambda note: -note.relevance)


def _items(listed: ListRequest, question: Question, notes: Sequence[Note]) -> list[list[Note]]:
    """The notes that name something asked for, best first, grouped by what they say."""
    asked = question.weights.keys() - question.names - ASKING
    is_count = listed.counted is not None
    items: list[tuple[list[Note], frozenset[str]]] = []
    for note in notes_near_best(notes, NEAR_COUNTED if is_count else NEAR):
        own = frozenset(terms(note.quote))
        new = frozenset(content_terms(note.quote)) - question.weights.keys()
        if note.quote.endswith(("?", "？")) or len(new) < LEAST_NEW or (asked and not asked & own):
            continue
        if listed.counted is not None:
            total, covered = (sum(question.weights[term] for term in some) for some in (asked, asked & own))
            if not listed.counted <= own or (total and covered / total < TELLS):
                continue
        twin = next((group for group, known in items if len(new & known) >= SAME * min(len(new), len(known))), None)
        if twin is not None:
            twin.append(note)
        else:
            items.append(([note], new))
    return [group for group, _ in items[: COUNTED if is_count else LISTED]]


def _quotes(items: Sequence[Sequence[Note]], question: Question, asked_at: datetime, room: int) -> list[str]:
    """The quote of each item, best first; remaining room goes to the sentences around them.

    All items are quoted, each cut so that they fit; if `LEAST_WORDS` of each do not fit, they take more room.
    """
    quotes: list[str] = []
    for place, group in enumerate(items):
        around = len(_day(group[0], asked_at).split()) + 1  # its number
        for_others = (len(items) - place - 1) * (LEAST_WORDS + around)
        words = min(ITEM_WORDS if quotes else FIRST_WORDS, room - for_others - around)
        quotes.append(clip(group[0].quote, question, max(words, LEAST_WORDS)))
        room -= len(quotes[-1].split()) + around
    return list(with_surroundings(zip((group[0] for group in items), quotes, strict=True), room))


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
