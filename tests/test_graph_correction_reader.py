"""The trained reader of corrections tells what puts right what, also in messages that it has not learned from."""

import pytest

from graph.learning.correction_reader import MOST_TOKENS, SURE, read
from graph.training.corrections import examples_of, in_lower_case
from graph.understanding.classifier import read_rows

HELD_OUT = [row for row in read_rows("corrections.jsonl") if row.get("held_out")]


def outcome(row):
    """The line that a message surely puts right, with the wrong words and the right ones; None if it does none."""
    found = read(row["message"], row["lines"])
    place = max(range(len(found)), key=lambda n: found[n].probability)
    surest, line = found[place], row["lines"][place]
    words = line[slice(*surest.wrong)], row["message"][slice(*surest.right)]
    return (place, *words) if surest.probability >= SURE else None


@pytest.mark.parametrize("typed", [dict, in_lower_case])
def test_most_corrections_are_carried_out_and_little_else(typed):
    rows = [typed(row) for row in HELD_OUT]
    corrections = [row for row in rows if row["which"] >= 0]
    others = [row for row in rows if row["which"] < 0]
    assert min(len(corrections), len(others)) > 150
    right = [row for row in corrections if outcome(row) == (row["which"], row["wrong"], row["right"])]
    assert len(right) > 0.6 * len(corrections)
    assert sum(outcome(row) is not None for row in others) < 0.1 * len(others)


def test_words_are_whole_and_of_their_own_text():
    line, message = "My eye test at Specsavers-on-Sea is on the 14th, with Siobhán.", "No, Niamh-Áine."
    (found,) = read(message, [line])
    assert (line[slice(*found.wrong)], message[slice(*found.right)]) == ("Siobhán", "Niamh-Áine")


@pytest.mark.parametrize(("message", "lines"), [("No, 5.", ["", "   "]), ("", ["I have 4 cats."]), ("No, 5.", [])])
def test_nothing_is_put_right_where_nothing_stands(message, lines):
    assert all(each.probability < SURE or not lines for each in read(message, lines))


def test_a_text_beyond_what_is_read_is_no_example():
    long = "word " * MOST_TOKENS
    row = {"lines": [f"{long} on Monday"], "message": "No, Tuesday.", "which": 0, "wrong": "Monday", "right": "Tuesday"}
    assert examples_of(row) == []
    (found,) = read("No, Tuesday.", [f"{long} on Monday"])
    assert found.wrong[1] <= len(long)
