"""Answer questions for a sum ("how much did the vet cost in total") with the amounts that the notes name, added up.

The lines need not be all there were, so the answer says what is known and lists what was added.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from graph.language.patterns import by_word, first_search, load, phrasing_list, phrasings
from graph.readers.composing import enumerate_notes
from graph.readers.updates import answers
from graph.state import Note, Reading

_FORMS = phrasings("totals")
_OF_ITEMS = phrasing_list("totals", "of_items")
_SIGN_OF = by_word(load("phrasings.toml")["totals"]["units"])


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of something, with the sign of a currency, if one is told, and its name, if that is."""

    number: Decimal
    sign: str
    unit: str = ""


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


def compose_items(read: Sequence[Sequence[Note]]) -> Reading | None:
    """The sum of the best amount of each of several things; None if one of them has none."""
    best = [next((note for note in notes if answers(note) and amount_in(note.words)), None) for notes in read]
    found = [note for note in best if note is not None]
    return _added([(note, amount) for note in found if (amount := amount_in(note.words))], found, len(read))


def amount_in(words: str) -> Amount | None:
    """The one amount that words name; None if they name none or several."""
    found = [match for match in _FORMS["amount"].finditer(words) if match["number"]]
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


def compose(notes: Sequence[Note]) -> Reading | None:
    """The sum of what the notes name; None if fewer than two name an amount, or their currencies differ."""
    of_turn: dict[object, tuple[Note, Amount]] = {}
    for note in notes:
        amount = amount_in(note.words) if answers(note) else None
        if amount is not None:
            of_turn.setdefault(note.memory.turn_ids or note.memory.id, (note, amount))
    counted = list(of_turn.values())
    of_currency = [each for each in counted if each[1].sign]
    # Beside prices with their currency, a bare number counts something else.
    return _added(of_currency if len(of_currency) > 1 else counted, notes, 2)


def _added(counted: Sequence[tuple[Note, Amount]], notes: Sequence[Note], least: int) -> Reading | None:
    signs = {amount.sign for _, amount in counted} - {""}
    if len(counted) < least or len(signs) > 1:
        return None
    sign, total = "".join(signs), sum((amount.number for _, amount in counted), Decimal(0))
    units = {amount.unit for _, amount in counted}
    unit = units.pop() if len(units) == 1 else ""
    reading = enumerate_notes([(note.words.strip(" .,;:!"), [note]) for note, _ in counted], notes)
    return replace(reading, answer=f"I know of {f'{total:,} {unit}' if unit else f'{sign}{total:,}'}: {reading.answer}")
