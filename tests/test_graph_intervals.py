"""Intervals are counted by code, in whole days and in the words that people use."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.readers.counting.intervals import (
    ASKS_LASTING,
    age_in,
    ages_on,
    asks_interval,
    duration_by_now,
    length,
    pair_intervals,
)
from memory.types import PersonaDraft


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ((2024, 3, 3), (2024, 3, 3), "0 days"),
        ((2024, 3, 3), (2024, 3, 4), "1 day"),
        ((2024, 3, 3), (2024, 3, 9), "6 days"),
        ((2024, 3, 3), (2024, 3, 10), "7 days (1 week)"),
        ((2024, 2, 28), (2024, 3, 1), "2 days"),
        ((2023, 2, 28), (2023, 3, 28), "28 days (4 weeks; 1 month)"),
        ((2024, 3, 4), (2024, 4, 18), "45 days (6 weeks 3 days; 1 month 14 days)"),
        ((2022, 1, 31), (2024, 2, 29), "759 days (108 weeks 3 days; 2 years 1 month)"),
    ],
)
def test_a_length_is_told_in_days_weeks_and_months(first, second, words):
    assert length(date(*first), date(*second)) == words == length(date(*second), date(*first))


@given(st.dates(date(1900, 1, 1), date(2100, 1, 1)), st.integers(0, 40_000))
def test_days_are_never_wrong(start, days):
    assert length(start, start + timedelta(days)).split(" ")[0] == str(days)


@pytest.mark.parametrize(
    ("question", "so"),
    [
        ("How many days passed between the fair and the regatta?", True),
        ("Which came first?", True),
        ("When did I move?", True),
        ("我多久以前搬家的？", True),
        ("What is my dog called?", False),
        ("Who visited me?", False),
    ],
)
def test_intervals_are_given_where_a_question_may_need_them(question, so):
    assert asks_interval(question) is so


@pytest.mark.parametrize(
    ("words", "age"),
    [
        ("Turned thirteen", 13),
        ("she's fifty-two", 52),
        ("9 years old", 9),
        ("8 weeks old", None),
        ("a 1,200 euro bike", None),
        ("10 or 11", None),
        ("old as the hills", None),
        ("in 1984", None),
    ],
)
def test_an_age_is_read_from_digits_or_words(words, age):
    assert age_in(words) == age


@pytest.mark.parametrize(
    ("day", "told", "named", "ages"),
    [
        ((2026, 12, 25), "Turned thirteen in November", (2025, 11, 1), [14]),
        ((2026, 3, 1), "Turned thirteen in November", (2025, 11, 1), [13]),
        ((2025, 10, 1), "Turned thirteen in November", (2025, 11, 1), [12]),
        ((2026, 1, 18), "hes thirteen", None, [13]),
        ((2026, 12, 25), "hes thirteen", None, [13, 14]),
        ((2028, 12, 25), "hes thirteen", None, [15, 16]),
        ((2009, 1, 1), "hes thirteen", None, []),
    ],
)
def test_an_age_is_counted_from_the_day_it_was_told_or_the_birthday_that_was(day, told, named, ages):
    on = (date(*day), date(*day))
    assert ages_on(on, 13, told, date(2026, 1, 18), date(*named) if named else None) == ages


@pytest.mark.parametrize(
    ("question", "words", "days", "lasts"),
    [
        ("how many months have I been on the machine now", "Two weeks", 229, "8 months"),
        ("How long have I had the dog?", "two weeks", 229, "8 months"),
        ("how long have we been married", "36 years", 250, None),
        ("how long have we been married", "36 years", 400, "37 years"),
        ("how long has she been away", "3 days", 4, "7 days"),
        ("how long has she been away", "0 days", 1, "1 day"),
        ("how long has she been away", "since spring", 40, None),
    ],
)
def test_what_goes_on_has_lasted_longer_than_when_it_was_told(question, words, days, lasts):
    assert ASKS_LASTING.search(question)
    told_on = date(2026, 3, 5)
    assert duration_by_now(question, words, told_on, told_on + timedelta(days=days)) == lasts


@pytest.mark.parametrize("question", ["How long did she stay?", "how long ago have you moved", "how long is the ride"])
def test_what_is_over_does_not_grow(question):
    assert not ASKS_LASTING.search(question)


DAYS = st.dates(date(2000, 1, 1), date(2050, 1, 1))


@given(st.dates(date(1950, 1, 1), date(1999, 12, 31)), DAYS, DAYS)
def test_the_true_age_is_among_the_possible_ones_whenever_the_birthday_is(born, told_on, asked_on):
    def age(day):
        return day.year - born.year - ((day.month, day.day) < (born.month, born.day))

    ages = ages_on((asked_on, asked_on), age(told_on), "is so old", told_on, None)
    assert age(asked_on) in ages
    assert len(ages) <= 2


def test_what_was_told_of_one_time_counts_from_then_and_what_of_several_from_when_it_was_said(marlow, at):
    memories = {m.text: m for m in marlow.services.bank.memories(marlow.persona.id)}
    adopted = next(m for t, m in memories.items() if "Biscuit yesterday" in t)
    regatta = next(m for t, m in memories.items() if "regatta" in t)
    fair = next(m for t, m in memories.items() if "bagpipes" in t)
    undated = next(m for t, m in memories.items() if "lock keeper" in t)
    lines = pair_intervals([(1, adopted), (2, regatta), (3, fair), (4, undated)], datetime(2024, 7, 1, tzinfo=UTC))
    assert lines == [
        "from 2 to 1: 22 days (3 weeks 1 day)",
        "from 2 to 3: 100 days (14 weeks 2 days; 3 months 10 days)",
        "from 1 to 3: 78 days (11 weeks 1 day; 2 months 17 days)",
    ]


def test_the_day_of_a_birthday_is_no_age(services, marlow, at):
    chat = replace(marlow, persona=services.bank.create_persona(PersonaDraft("Quill")), now=at(11, 28), dialogue=[])
    chat.say("gareth's birthday is 12 december")
    answer = chat.again(now=at(11, 28, 12)).say("when is gareth's birthday and how old will he be?").reading.answer
    assert not answer.startswith("11")


def test_the_birthday_of_another_is_not_counted(services, marlow, at):
    chat = replace(marlow, persona=services.bank.create_persona(PersonaDraft("Quill")), now=at(11, 28), dialogue=[])
    chat.say("my stepson is called Hanno, he's 11. juna turns 2 on the 3rd of january")
    answer = chat.again(now=at(11, 28, 12)).say("how old is hanno?").reading.answer
    assert "10" not in answer
    assert "11" in answer
