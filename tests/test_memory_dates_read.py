"""Dates read and described: absolute dates of any precision, and spans of time in words."""

import subprocess
import sys
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.dates.expressions import MOMENTS, TimeExpression, describe_span, find_times, read_date
from memory.types import TimeSpan
from support.time_expressions import SENTENCES, THURSDAY, span


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2018", "2018-01-01", "2019-01-01"),
        ("October 2021", "2021-10-01", "2021-11-01"),
        ("2021-10", "2021-10-01", "2021-11-01"),
        ("May 12, 2022", "2022-05-12", "2022-05-13"),
        ("12th of May 2022", "2022-05-12", "2022-05-13"),
        ("September 22, 1994", "1994-09-22", "1994-09-23"),
        ("5/13/22", "2022-05-13", "2022-05-14"),
        ("13/5/2022", "2022-05-13", "2022-05-14"),
        ("07.05.2023", "2023-05-07", "2023-05-08"),
        ("2023/05/01 (Mon) 11:16", "2023-05-01T11:16", "2023-05-01T11:17"),
        ("2023/5/1 9:16", "2023-05-01T09:16", "2023-05-01T09:17"),
        ("1:56 pm on 8 May, 2023", "2023-05-08T13:56", "2023-05-08T13:57"),
        ("8 May 2023, 13:56", "2023-05-08T13:56", "2023-05-08T13:57"),
        ("5 pm on 8 May 2023", "2023-05-08T17:00", "2023-05-08T18:00"),
        ("2023-05-08T13:56:42Z", "2023-05-08T13:56", "2023-05-08T13:57"),
        ("2023-05-08T13:56:42.123+02:00", "2023-05-08T11:56", "2023-05-08T11:57"),
        ("Mon, 08 May 2023 13:56:00 +0000", "2023-05-08T13:56", "2023-05-08T13:57"),
        ("Mon May  8 13:56:00 2023", "2023-05-08T13:56", "2023-05-08T13:57"),
        ("8 May 2023 13:56 EST", "2023-05-08T18:56", "2023-05-08T18:57"),
        ("2023年5月7日", "2023-05-07", "2023-05-08"),
        ("2023年", "2023-01-01", "2024-01-01"),
        ("summer 2021", "2021-06-01", "2021-09-01"),
        ("the 1990s", "1990-01-01", "2000-01-01"),
        ("the week of 1 May 2023", "2023-05-01", "2023-05-08"),
    ],
)
def test_read_date_reads_absolute_dates_of_any_precision(text, start, end):
    assert read_date(text) == span(start, end)


NO_DATES = (
    "|May|7 May|yesterday|last year|during an election|73 BC|early May 2022|since 2018|on Friday|32 May 2023|\0|20230"
    "|29 February 2023|2023-13-01|10 2018 cats|2,000|0000|25:61 8 May 2023"
).split("|")


@pytest.mark.parametrize("text", NO_DATES)
def test_read_date_gives_none_for_what_is_relative_vague_or_no_date(text):
    assert read_date(text) is None


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        ("2023-05-07", "2023-05-08", "7 May 2023"),
        ("2023-05-01", "2023-06-01", "May 2023"),
        ("2022-01-01", "2023-01-01", "2022"),
        ("2018-01-01", "2021-01-01", "2018–2020"),
        ("1990-01-01", "2000-01-01", "the 1990s"),
        ("2023-05-01", "2023-05-08", "the week of 1 May 2023"),
        ("2023-05-01", "2023-05-04", "1–3 May 2023"),
        ("2023-04-30", "2023-05-03", "30 April – 2 May 2023"),
        ("2022-12-30", "2023-01-03", "30 December 2022 – 2 January 2023"),
        ("2023-03-01", "2023-06-01", "March–May 2023"),
        ("2022-12-01", "2023-03-01", "December 2022 – February 2023"),
        ("2023-05-08T13:56", "2023-05-08T13:57", "8 May 2023, 13:56"),
        ("2023-05-08T13:00", "2023-05-08T14:00", "8 May 2023, 13:00"),
        ("2023-05-07T18", "2023-05-08T06", "the night of 7 May 2023"),
        ("2023-05-07T18", "2023-05-08", "the evening of 7 May 2023"),
        ("2023-05-07T18:30", "2023-05-08T06", "7 May 2023, 18:30 – 8 May 2023, 06:00"),
    ],
)
def test_describe_says_a_span_to_people(start, end, words):
    assert describe_span(span(start, end)) == words


def test_an_event_said_in_a_note_is_dated_and_described():
    said = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    (found,) = find_times("I went to a LGBTQ support group yesterday and it was so powerful.", said)
    assert found == TimeExpression("yesterday", 32, 41, span("2023-05-07", "2023-05-08"))
    assert describe_span(found.span) == "7 May 2023"


@settings(max_examples=200, deadline=None)
@given(text=st.one_of(st.text(max_size=80), SENTENCES))
def test_read_date_never_fails(text):
    found = read_date(text)
    assert found is None or found.start < found.end


@settings(max_examples=200, deadline=None)
@given(
    first=st.dates(date(1500, 1, 1), date(2090, 12, 1)),
    unit=st.sampled_from(["day", "month", "year", "week", "minute"]),
)
def test_read_date_understands_what_describe_says(first, unit):
    start = datetime(first.year, first.month, first.day, tzinfo=UTC)
    match unit:
        case "day":
            spoken = TimeSpan(start, start + timedelta(days=1))
        case "week":
            start -= timedelta(days=start.weekday())
            spoken = TimeSpan(start, start + timedelta(days=7))
        case "minute":
            spoken = TimeSpan(start + timedelta(minutes=836), start + timedelta(minutes=837))
        case "month":
            start = start.replace(day=1)
            spoken = TimeSpan(start, (start + timedelta(days=32)).replace(day=1))
        case _:
            start = start.replace(month=1, day=1)
            spoken = TimeSpan(start, start.replace(year=start.year + 1))
    assert read_date(describe_span(spoken)) == spoken
    assert find_times(f"It was on {describe_span(spoken)}.", THURSDAY) or unit == "year"


def test_the_moments_that_prove_a_date_absolute_are_unlike_each_other():
    assert MOMENTS[0].weekday() != MOMENTS[1].weekday()
    assert MOMENTS[0].month != MOMENTS[1].month


def test_importing_does_not_load_the_date_library():
    code = "import sys, memory.dates.expressions; sys.exit('dateparser' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "text", ["1" * 59 + "x", "2023 " + "1" * 50 + "x", "1 " * 27 + "2023x", "may " * 12 + "2023 é", "." * 50 + "2023x"]
)
def test_a_date_gone_wrong_is_refused_at_once(text):
    """A gate that tries every way of cutting up a run of digits does not come back from these in a lifetime."""
    assert read_date(text) is None
