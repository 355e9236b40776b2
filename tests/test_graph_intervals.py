"""Intervals are counted by code, in whole days and in the words that people use."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.readers.intervals import between, compares, length


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
    assert compares(question) is so


def test_what_was_told_of_one_time_counts_from_then_and_what_of_several_from_when_it_was_said(marlow, at):
    memories = {m.text: m for m in marlow.services.bank.memories(marlow.persona.id)}
    adopted = next(m for t, m in memories.items() if "Biscuit yesterday" in t)
    regatta = next(m for t, m in memories.items() if "regatta" in t)
    fair = next(m for t, m in memories.items() if "bagpipes" in t)
    undated = next(m for t, m in memories.items() if "lock keeper" in t)
    lines = between([(1, adopted), (2, regatta), (3, fair), (4, undated)], datetime(2024, 7, 1, tzinfo=UTC))
    assert lines == [
        "from 2 to 1: 22 days (3 weeks 1 day)",
        "from 2 to 3: 100 days (14 weeks 2 days; 3 months 10 days)",
        "from 1 to 3: 78 days (11 weeks 1 day; 2 months 17 days)",
    ]
