"""Answer with several notes: a list of what they name, in order of time, or the sum of the amounts in them.

An item of a list is the words of a line that answer; lines that say the same are one item with all their citations. The
lines need not be all there were, so a sum ("how much did the vet cost in total") says what is known and lists what was
added.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import count, islice

from graph.language.patterns import by_word, first_search, load, phrasing_list, phrasings
from graph.readers.composing import citations_of, is_same_claim
from graph.readers.stating import answers, clip
from graph.replies.second_person import second_person
from graph.state import SUFFICIENT, Note, Reading
from graph.understanding.question import Question
from graph.understanding.sentences import capitalise
from graph.understanding.times import moment_of

LISTED = 6
"""Most items of a list."""

ITEM_WORDS = 12
"""Most words of an item."""

LEAST_SURE = 0.5
"""Probability of the answering words from which they are the item, and not their sentence."""

_ANSWERS, _FORMS = phrasings("answers"), phrasings("totals")
_OF_ITEMS = phrasing_list("totals", "of_items")
_SIGN_OF = by_word(load("phrasings.toml")["totals"]["units"])

LATEST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of something, with the sign of a currency, if one is told, and its name, if that is."""

    number: Decimal
    sign: str
    unit: str = ""


def facts_alike(notes: Sequence[Note]) -> list[Note]:
    """The facts of the kind that the best of notes is or tells, if several hold ("allergic to nuts", "to cats")."""
    # A line tells the facts that were learned from its turn.
    told = [n for n in notes[1:] if n.memory.turn_ids and n.memory.turn_ids == notes[0].memory.turn_ids]
    best = next((note for note in (*notes[:1], *told) if note.memory.relation is not None), None)
    relation = best.memory.relation if best is not None else None
    if best is None or relation is None or best.memory.valid_to is not None or not answers(best):
        return []
    alike = [
        note
        for note in notes
        if (other := note.memory.relation) is not None
        and (other.head, other.name) == (relation.head, relation.name)
        and note.memory.valid_to is None
        and note.relevance >= SUFFICIENT / 2  # the best of its kind answers, so less evidence will do
    ]
    tells_all = all(note.words in notes[0].words for note in alike)
    return [] if tells_all or len(alike) == 1 else sorted(alike, key=lambda note: note.memory.id)


def tells_number(notes: Sequence[Note]) -> bool:
    """Whether the best of notes names a number of things."""
    numbers = _ANSWERS["number"].search(_ANSWERS["duration"].sub("", notes[0].words)) if notes else None
    return numbers is not None and answers(notes[0])


def list_notes(question: Question, notes: Sequence[Note], *, counted: bool = False) -> Reading | None:
    """The list, in order of time, after its length if they are `counted`; None if fewer than two things answer."""
    items: list[list[Note]] = []
    # A fact is worded by whoever learned it, and clearer than the line that told it.
    for note in sorted(facts_alike(notes) or filter(answers, notes), key=lambda note: note.memory.relation is None):
        twin = next((group for group in items if _tell_the_same(note, group[0])), None)
        if twin is not None:
            twin.append(note)
        else:
            items.append([note])
    if len(items) < 2:
        return None
    listed = sorted(items[:LISTED], key=lambda group: moment_of(group[0].memory) or LATEST)
    reading = _in_a_row([(_words(group[0], question), group) for group in listed], notes)
    return replace(
        reading, answer=f"I know of {len(listed)}: {reading.answer}" if counted else capitalise(reading.answer)
    )


def _tell_the_same(note: Note, other: Note) -> bool:
    fact, other_fact = note.memory.relation, other.memory.relation
    return fact.tail == other_fact.tail if fact and other_fact else is_same_claim(note, other)


def _words(note: Note, question: Question) -> str:
    if note.memory.relation is not None:
        return note.memory.relation.tail
    told = replace(note, quote=note.words) if note.sure >= LEAST_SURE else note
    words = clip(told, question, ITEM_WORDS).strip(" .,;:!")
    return (second_person(words) if note.by_user else "") or words


def _in_a_row(items: Sequence[tuple[str, Sequence[Note]]], notes: Sequence[Note]) -> Reading:
    """The things in a row, each with the numbers of the notes that name it: "bread [1][2] and milk [3]"."""
    numbers = count(1)
    said = [f"{words} {''.join(f'[{next(numbers)}]' for _ in sources)}" for words, sources in items]
    citations = citations_of([note for _, sources in items for note in sources])
    between, last = ("; ", "; and ") if any("," in words for words, _ in items) else (", ", " and ")
    return Reading(f"{between.join(said[:-1])}{last}{said[-1]}.", tuple(notes), citations)


def asks_total(text: str) -> bool:
    """Whether a question is for a sum of money."""
    return bool(_FORMS["in_all"].search(text) and _FORMS["of_money"].search(text))


def without_total(text: str) -> str:
    """A question for a sum as one for each amount."""
    return " ".join(_FORMS["in_all"].sub(" ", text).split())


def split_items(text: str) -> list[str]:
    """A question for the sum of several things as one for each ("the tea and the bread"); none for one thing."""
    match = first_search(_OF_ITEMS, text)
    items = [item for each in _FORMS["between"].split(match["items"]) if (item := each.strip())] if match else []
    return [f"how much did {item} cost" for item in items] if len(items) > 1 else []


def add_up_items(read: Sequence[Sequence[Note]]) -> Reading | None:
    """The sum of the best amount of each of several things; None if one of them has none."""
    best = [each for notes in read for each in islice(_amounts(notes), 1)]
    return _added(best, [note for note, _ in best], len(read))


def amount_in(words: str) -> Amount | None:
    """The one amount that words name; None if they name none or several."""
    found = list(_FORMS["amount"].finditer(words))
    if len(found) != 1:
        return None
    (match,) = found
    if _FORMS["measure"].fullmatch(match["unit"] or ""):
        return None
    digits = match["number"]
    # "2,899" is in the thousands; "3,50" is a price as most of Europe writes it.
    digits = digits.replace(",", "") if re.search(r",\d{3}", digits) else digits.replace(",", ".")
    number = Decimal(digits) * (1000 if match["thousands"] else 1)
    unit = (match["unit"] or "").lower()
    return Amount(number, match["sign"] or _SIGN_OF.get(unit, ""), unit if unit in _SIGN_OF else "")


def add_up(notes: Sequence[Note]) -> Reading | None:
    """The sum of what the notes name; None if fewer than two name an amount, or their currencies differ."""
    of_turn: dict[object, tuple[Note, Amount]] = {}
    for note, amount in _amounts(notes):
        of_turn.setdefault(note.memory.turn_ids or note.memory.id, (note, amount))
    counted = list(of_turn.values())
    of_currency = [each for each in counted if each[1].sign]
    # Beside prices with their currency, a bare number counts something else.
    return _added(of_currency if len(of_currency) > 1 else counted, notes, 2)


def _amounts(notes: Sequence[Note]) -> Iterator[tuple[Note, Amount]]:
    """The notes that answer and name one amount, with it."""
    yield from ((note, amount) for note in notes if answers(note) and (amount := amount_in(note.words)))


def _added(counted: Sequence[tuple[Note, Amount]], notes: Sequence[Note], least: int) -> Reading | None:
    signs = {amount.sign for _, amount in counted} - {""}
    if len(counted) < least or len(signs) > 1:
        return None
    sign, total = "".join(signs), sum((amount.number for _, amount in counted), Decimal(0))
    units = {amount.unit for _, amount in counted}
    unit = units.pop() if len(units) == 1 else ""
    reading = _in_a_row([(note.words.strip(" .,;:!"), [note]) for note, _ in counted], notes)
    return replace(reading, answer=f"I know of {f'{total:,} {unit}' if unit else f'{sign}{total:,}'}: {reading.answer}")
