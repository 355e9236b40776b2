"""Times in text: what each expression means, what must not be taken for one, and what holds for any text."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from memory.dates.expressions import MOMENTS, YEARS_BEFORE, TimeExpression, describe_span, find_times, read_date
from memory.dates.phrases import MAX_EXPRESSIONS
from memory.types import TimeSpan

THURSDAY = datetime(2023, 5, 25, 13, 56, tzinfo=UTC)

# The sentence, the words found, the start, and the end (which is no longer part of the span); "?" marks vague words.
SAID_ON_THURSDAY_25_MAY_2023 = """
I went to a support group yesterday.|yesterday|2023-05-24|2023-05-25
Today was hard|Today|2023-05-25|2023-05-26
She comes tomorrow!|tomorrow|2023-05-26|2023-05-27
It broke the day before yesterday|the day before yesterday|2023-05-23|2023-05-24
We fly the day after tomorrow|the day after tomorrow|2023-05-27|2023-05-28
I ran 3 days ago|3 days ago|2023-05-22|2023-05-23
a day ago|a day ago|2023-05-24|2023-05-25
ten days ago we met|ten days ago|2023-05-15|2023-05-16
We met two weeks ago|two weeks ago|2023-05-08|2023-05-15
a week ago|a week ago|2023-05-15|2023-05-22
a fortnight ago|a fortnight ago|2023-05-08|2023-05-15
a month ago|a month ago|2023-04-01|2023-05-01
two months ago|two months ago|2023-03-01|2023-04-01
six months back|six months back|2022-11-01|2022-12-01
a year ago|a year ago|2022-01-01|2023-01-01
She left three years ago|three years ago|2020-01-01|2021-01-01
half a year ago|half a year ago|2022-11-01|2022-12-01
a year and a half ago|a year and a half ago|2021-11-01|2021-12-01
an hour ago|an hour ago|2023-05-25T12:26|2023-05-25T13:26
10 minutes ago|10 minutes ago|2023-05-25T13:46|2023-05-25T13:47
half an hour ago|half an hour ago|2023-05-25T13:26|2023-05-25T13:27
two nights ago|two nights ago|2023-05-23T18|2023-05-24T06
two weekends ago|two weekends ago|2023-05-13|2023-05-15
two Fridays ago|two Fridays ago|2023-05-12|2023-05-13
a couple of weeks ago|a couple of weeks ago|2023-05-08|2023-05-15|?
a couple days ago|a couple days ago|2023-05-23|2023-05-24|?
a few days ago|a few days ago|2023-05-20|2023-05-24|?
a few years ago|a few years ago|2018-01-01|2022-01-01|?
several months ago|several months ago|2022-10-01|2023-03-01|?
two or three weeks ago|two or three weeks ago|2023-05-01|2023-05-15|?
2-3 days ago|2-3 days ago|2023-05-22|2023-05-24|?
a week or so ago|a week or so ago|2023-05-08|2023-05-22|?
about two weeks ago|about two weeks ago|2023-05-08|2023-05-15|?
almost 3 years ago|almost 3 years ago|2020-01-01|2021-01-01|?
What about last week?|last week|2023-05-15|2023-05-22
last week was long|last week|2023-05-15|2023-05-22
this week|this week|2023-05-22|2023-05-29
next week|next week|2023-05-29|2023-06-05
the week before last|the week before last|2023-05-08|2023-05-15
the week after next|the week after next|2023-06-05|2023-06-12
I painted last weekend|last weekend|2023-05-20|2023-05-22
this past weekend|this past weekend|2023-05-20|2023-05-22
this weekend|this weekend|2023-05-27|2023-05-29
over the weekend|the weekend|2023-05-20|2023-05-22
the weekend before last|the weekend before last|2023-05-13|2023-05-15
last month|last month|2023-04-01|2023-05-01
this month|this month|2023-05-01|2023-06-01
next month|next month|2023-06-01|2023-07-01
last year|last year|2022-01-01|2023-01-01
this year|this year|2023-01-01|2024-01-01
the year before last|the year before last|2021-01-01|2022-01-01
last quarter|last quarter|2023-01-01|2023-04-01
last decade|last decade|2010-01-01|2020-01-01
the last two weeks|the last two weeks|2023-05-11|2023-05-26
in the past year|the past year|2022-05-25|2023-05-26
in the last month|the last month|2023-04-25|2023-05-26
the past few days|the past few days|2023-05-20|2023-05-26|?
over the next three months|the next three months|2023-05-25|2023-08-26
We move in two weeks|in two weeks|2023-06-05|2023-06-12
a month from now|a month from now|2023-06-01|2023-07-01
last Friday|last Friday|2023-05-19|2023-05-20
I saw him on Friday|Friday|2023-05-19|2023-05-20
on Thursday|Thursday|2023-05-18|2023-05-19
I'll see him on Friday|Friday|2023-05-26|2023-05-27
this Friday|this Friday|2023-05-26|2023-05-27
next Monday|next Monday|2023-05-29|2023-05-30
last Tues|last Tues|2023-05-23|2023-05-24
Friday of last week|Friday of last week|2023-05-19|2023-05-20
the Friday before last|the Friday before last|2023-05-12|2023-05-13
yesterday morning|yesterday morning|2023-05-24T05|2023-05-24T12
Friday afternoon|Friday afternoon|2023-05-19T12|2023-05-19T18
last night|last night|2023-05-24T18|2023-05-25T06
this morning|this morning|2023-05-25T05|2023-05-25T12
tonight|tonight|2023-05-25T18|2023-05-26T06
yesterday at 5 pm|yesterday at 5 pm|2023-05-24T17|2023-05-24T18
on Friday at 17:30|Friday at 17:30|2023-05-19T17:30|2023-05-19T17:31
yesterday at noon|yesterday at noon|2023-05-24T12|2023-05-24T13
7 May 2023|7 May 2023|2023-05-07|2023-05-08
on May 7th, 2023, we|May 7th, 2023|2023-05-07|2023-05-08
the 7th of May 2023|7th of May 2023|2023-05-07|2023-05-08
Sunday, 7 May 2023|Sunday, 7 May 2023|2023-05-07|2023-05-08
on Dec 25|Dec 25|2022-12-25|2022-12-26
moved to Tuesday 13 June|Tuesday 13 June|2023-06-13|2023-06-14
on Monday, June 13th|Monday, June 13th|2022-06-13|2022-06-14
the 7th of May|7th of May|2023-05-07|2023-05-08
on May 25|May 25|2023-05-25|2023-05-26
on 26 May|26 May|2022-05-26|2022-05-27
I'll fly on 26 May|26 May|2023-05-26|2023-05-27
on February 29|February 29|2020-02-29|2020-03-01
on 5/13/22|5/13/22|2022-05-13|2022-05-14
on 13.05.2022|13.05.2022|2022-05-13|2022-05-14
2023-05-08|2023-05-08|2023-05-08|2023-05-09
at 2023-05-08T13:56:00Z|2023-05-08T13:56:00Z|2023-05-08T13:56|2023-05-08T13:57
at 2023-05-08 13:56:00+02:00|2023-05-08 13:56:00+02:00|2023-05-08T11:56|2023-05-08T11:57
2023/05/01 (Mon) 11:16|2023/05/01 (Mon) 11:16|2023-05-01T11:16|2023-05-01T11:17
1:56 pm on 8 May, 2023|1:56 pm on 8 May, 2023|2023-05-08T13:56|2023-05-08T13:57
8 May 2023 at 5 p.m.|8 May 2023 at 5 p.m.|2023-05-08T17|2023-05-08T18
on the 5th we met|the 5th|2023-05-05|2023-05-06
on the 25th.|the 25th|2023-05-25|2023-05-26
on the 31st.|the 31st|2023-03-31|2023-04-01
the 5th of last month|the 5th of last month|2023-04-05|2023-04-06
in March|March|2023-03-01|2023-04-01
in May|May|2023-05-01|2023-06-01
in september|september|2022-09-01|2022-10-01
in June I will graduate|June|2023-06-01|2023-07-01
last March|last March|2023-03-01|2023-04-01
last May|last May|2022-05-01|2022-06-01
next March|next March|2024-03-01|2024-04-01
this March|this March|2023-03-01|2023-04-01
in May last year|May last year|2022-05-01|2022-06-01
last year in May|last year in May|2022-05-01|2022-06-01
in March two years ago|March two years ago|2021-03-01|2021-04-01
October 2021|October 2021|2021-10-01|2021-11-01
in Oct. 2021|Oct. 2021|2021-10-01|2021-11-01
in 2018|2018|2018-01-01|2019-01-01
in early June|early June|2022-06-01|2022-06-11|?
mid-May|mid-May|2023-05-11|2023-05-21|?
in late February 2023|late February 2023|2023-02-21|2023-03-01|?
the end of April|the end of April|2023-04-21|2023-05-01|?
in mid-2022|mid-2022|2022-05-01|2022-09-01|?
early last week|early last week|2023-05-15|2023-05-17|?
summer 2021|summer 2021|2021-06-01|2021-09-01
the winter of 2021|winter of 2021|2021-12-01|2022-03-01
last summer|last summer|2022-06-01|2022-09-01
last winter|last winter|2022-12-01|2023-03-01
this summer|this summer|2023-06-01|2023-09-01
in the fall|fall|2022-09-01|2022-12-01
in the 1990s|the 1990s|1990-01-01|2000-01-01
the early 80s|the early 80s|1980-01-01|1983-05-01|?
in the nineties|the nineties|1990-01-01|2000-01-01
in the 1800s|the 1800s|1800-01-01|1900-01-01
at Christmas|Christmas|2022-12-24|2022-12-27
on Christmas Eve|Christmas Eve|2022-12-24|2022-12-25
Christmas 2021|Christmas 2021|2021-12-24|2021-12-27
on New Year’s Eve|New Year’s Eve|2022-12-31|2023-01-01
last Thanksgiving|last Thanksgiving|2022-11-24|2022-11-25
at Easter|Easter|2023-04-07|2023-04-11
on Mother's Day|Mother's Day|2023-05-14|2023-05-15
on Memorial Day 2022|Memorial Day 2022|2022-05-30|2022-05-31
What did I do in the first week of May?|the first week of May|2023-05-01|2023-05-08
the last week of April|the last week of April|2023-04-24|2023-05-01
the first weekend of May|the first weekend of May|2023-05-06|2023-05-08
the second Friday of March 2023|the second Friday of March 2023|2023-03-10|2023-03-11
the last Monday in April|the last Monday in April|2023-04-24|2023-04-25
the first two weeks of May|the first two weeks of May|2023-05-01|2023-05-15
the first half of 2022|the first half of 2022|2022-01-01|2022-07-01
the second quarter of 2022|the second quarter of 2022|2022-04-01|2022-07-01
the Sunday before 25 May 2023|the Sunday before 25 May 2023|2023-05-21|2023-05-22
the Friday after Christmas|the Friday after Christmas|2022-12-30|2022-12-31
the week before 25 May 2023|the week before 25 May 2023|2023-05-15|2023-05-22
the weekend before 25 May 2023|the weekend before 25 May 2023|2023-05-20|2023-05-22
the day after 7 May|the day after 7 May|2023-05-08|2023-05-09
the month before March 2023|the month before March 2023|2023-02-01|2023-03-01
two days before Christmas|two days before Christmas|2022-12-22|2022-12-23
two weeks before 25 May 2023|two weeks before 25 May 2023|2023-05-08|2023-05-15
a week after Christmas Eve|a week after Christmas Eve|2022-12-28|2023-01-04
the week of 3 May 2023|the week of 3 May 2023|2023-05-01|2023-05-08
the night of 7 May 2023|the night of 7 May 2023|2023-05-07T18|2023-05-08T06
between March and May|between March and May|2023-03-01|2023-06-01
between October and March|between October and March|2022-10-01|2023-04-01
from 3 to 7 May|from 3 to 7 May|2023-05-03|2023-05-08
between 3 and 7 May 2022|between 3 and 7 May 2022|2022-05-03|2022-05-08
May 3-7, 2023|May 3-7, 2023|2023-05-03|2023-05-08
1–3 May 2023|1–3 May 2023|2023-05-01|2023-05-04
March–May 2022|March–May 2022|2022-03-01|2022-06-01
from December to February 2022|from December to February 2022|2021-12-01|2022-03-01
from 2018 to 2020|from 2018 to 2020|2018-01-01|2021-01-01
from 30 April 2023 to 2 May 2023|from 30 April 2023 to 2 May 2023|2023-04-30|2023-05-03
from Monday to Wednesday|from Monday to Wednesday|2023-05-22|2023-05-25
from 7 March to 9 April|from 7 March to 9 April|2023-03-07|2023-04-10
7 May to 9 May|7 May to 9 May|2023-05-07|2023-05-10
around May|around May|2023-05-01|2023-06-01|?
recently|recently|2023-04-25|2023-05-26|?
the other day|the other day|2023-05-15|2023-05-25|?
a while ago|a while ago|2022-05-25|2023-05-19|?
this time last year|this time last year|2022-05-10|2022-06-10|?
昨天我去了医院|昨天|2023-05-24|2023-05-25
我们上周五见过|上周五|2023-05-19|2023-05-20
两周前|两周前|2023-05-08|2023-05-15
三天前|三天前|2023-05-22|2023-05-23
2023年5月7日|2023年5月7日|2023-05-07|2023-05-08
十二月三号|十二月三号|2022-12-03|2022-12-04
去年夏天|去年夏天|2022-06-01|2022-09-01
上个月|上个月|2023-04-01|2023-05-01
昨天晚上|昨天晚上|2023-05-24T18|2023-05-25T06
几天前|几天前|2023-05-20|2023-05-24|?
"""

CASES = [line.split("|") for line in SAID_ON_THURSDAY_25_MAY_2023.strip().splitlines()]


def span(start: str, end: str) -> TimeSpan:
    return TimeSpan(datetime.fromisoformat(start).replace(tzinfo=UTC), datetime.fromisoformat(end).replace(tzinfo=UTC))


@pytest.mark.parametrize("case", CASES, ids=[case[0] for case in CASES])
def test_find_gives_the_span_that_people_mean(case):
    sentence, words, start, end, *vague = case
    found = find_times(sentence, THURSDAY)
    assert [one.text for one in found] == [words]
    assert found[0].span == span(start, end)
    assert found[0].sure is not bool(vague)
    assert found[0].relation == "in"


# What "before" and "after" open is bounded, so each case gives the end that the words do name.
@pytest.mark.parametrize(
    ("sentence", "words", "relation", "start", "end"),
    [
        ("before Christmas", "before Christmas", "before", None, "2022-12-24"),
        ("I lived there until 2020", "until 2020", "before", None, "2020-01-01"),
        ("by the end of last week", "by the end of last week", "before", None, "2023-05-22"),
        ("prior to 7 May 2023", "prior to 7 May 2023", "before", None, "2023-05-07"),
        ("since March", "since March", "after", "2023-03-01", "2023-05-26"),
        ("ever since last summer", "ever since last summer", "after", "2022-06-01", "2023-05-26"),
        ("after 7 May 2023", "after 7 May 2023", "after", "2023-05-08", "2023-05-26"),
        ("from March on", "from March on", "after", "2023-03-01", "2023-05-26"),
        ("after tomorrow", "after tomorrow", "after", "2023-05-27", "2024-05-27"),
    ],
)
def test_before_and_after_open_one_side_as_far_as_is_sensible(sentence, words, relation, start, end):
    (found,) = find_times(sentence, THURSDAY)
    assert (found.text, found.relation) == (words, relation)
    assert found.span.end == datetime.fromisoformat(end).replace(tzinfo=UTC)
    expected = (
        datetime.fromisoformat(start) if start else found.span.end.replace(year=found.span.end.year - YEARS_BEFORE)
    )
    assert found.span.start == expected.replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("words", "anchor", "start", "end"),
    [
        ("last weekend", "2023-05-27", "2023-05-20", "2023-05-22"),  # said on a Saturday
        ("over the weekend", "2023-05-28", "2023-05-27", "2023-05-29"),  # said on a Sunday
        ("last week", "2023-05-28", "2023-05-15", "2023-05-22"),
        ("last week", "2023-01-02", "2022-12-26", "2023-01-02"),
        ("last month", "2023-03-31", "2023-02-01", "2023-03-01"),
        ("next month", "2023-12-15", "2024-01-01", "2024-02-01"),
        ("last year", "2024-02-29", "2023-01-01", "2024-01-01"),
        ("yesterday", "2024-03-01", "2024-02-29", "2024-03-01"),
        ("in May", "2023-02-10", "2022-05-01", "2022-06-01"),
        ("last summer", "2023-07-10", "2022-06-01", "2022-09-01"),
        ("last summer", "2023-10-10", "2023-06-01", "2023-09-01"),
        ("this winter", "2023-01-10", "2022-12-01", "2023-03-01"),
        ("last Friday", "2023-05-26", "2023-05-19", "2023-05-20"),  # said on a Friday
        ("next Friday", "2023-05-26", "2023-06-02", "2023-06-03"),
        ("at Christmas", "2023-12-25", "2023-12-24", "2023-12-27"),
        ("the last week of February", "2024-03-10", "2024-02-23", "2024-03-01"),
    ],
)
def test_find_minds_where_in_the_week_and_the_year_it_is_said(words, anchor, start, end):
    (found,) = find_times(words, datetime.fromisoformat(f"{anchor}T13:56+00:00"))
    assert found.span == span(start, end)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "When did she move to Sweden?",
        "How long ago did we meet?",
        "How many weeks ago did I start?",
        "I may go",
        "May I ask you something?",
        "these 3 may be enough",
        "They march on",
        "March to the sea",
        "a second ago",
        "wait a second",
        "in the second place",
        "I walked 2,000 steps",
        "in 2000 steps",
        "it has 1994 pages",
        "it costs $2018",
        "I have 3 cats",
        "one day",
        "someday",
        "these days",
        "every Friday",
        "on Fridays",
        "on Monday mornings",
        "every Monday, Wednesday and Friday",
        "Monday to Friday",
        "a Sunday",
        "all day",
        "the day",
        "the next day",
        "two days later",
        "the following week",
        "the last time",
        "for two weeks",
        "I read it in four days",
        "three times a week",
        "the sun sat low",
        "we wed",
        "in the sun",
        "June said hello to April and May",
        "an august company",
        "spring cleaning",
        "she fell in the fall of Rome",
        "on the 5th floor",
        "the 4th quarter was close",
        "in his eighties",
        "Merry Christmas!",
        "the Christmas tree",
        "call 555-2018",
        "version 1.2.2019.3",
        "on 31 June",
        "Ready in 20 minutes",
        "What have you been up to?",
        "一周一次",
        "每周五",
        "三个月",
    ],
)
def test_words_that_name_no_time_give_nothing(text):
    assert find_times(text, THURSDAY) == ()


def test_find_gives_several_expressions_from_left_to_right():
    text = "Yesterday I read what I wrote in May 2022, before last weekend, and 🎉 in the summer of 2019."
    found = find_times(text, THURSDAY)
    assert [one.text for one in found] == ["Yesterday", "May 2022", "before last weekend", "summer of 2019"]
    assert [text[one.start : one.end] for one in found] == [one.text for one in found]


def test_the_same_name_leans_by_its_own_sentence():
    past, future = find_times("We met on Friday. I will see her on Friday.", THURSDAY)
    assert (past.span, future.span) == (span("2023-05-19", "2023-05-20"), span("2023-05-26", "2023-05-27"))


def test_a_list_on_several_lines_is_not_one_date():
    assert find_times("in 7\nMay 3 cats\n2023", THURSDAY)[0].text == "May 3"


def test_days_begin_at_the_speakers_own_midnight():
    tokyo = datetime(2023, 5, 26, 1, 0, tzinfo=ZoneInfo("Asia/Tokyo"))  # 25 May, 16:00 in UTC
    (found,) = find_times("yesterday", tokyo)
    assert found.span.start == datetime(2023, 5, 25, tzinfo=ZoneInfo("Asia/Tokyo"))
    assert found.span.start.astimezone(UTC) == datetime(2023, 5, 24, 15, tzinfo=UTC)
    assert describe_span(found.span) == "25 May 2023"


def test_a_day_on_which_the_clocks_change_is_one_whole_day():
    berlin = ZoneInfo("Europe/Berlin")
    (found,) = find_times("yesterday", datetime(2023, 3, 27, 9, tzinfo=berlin))
    assert (found.span.start, found.span.end) == (
        datetime(2023, 3, 26, tzinfo=berlin),
        datetime(2023, 3, 27, tzinfo=berlin),
    )
    assert describe_span(found.span) == "26 March 2023"


def test_an_anchor_without_a_zone_is_refused():
    with pytest.raises(ValueError, match="needs a time zone"):
        find_times("yesterday", datetime(2023, 5, 25))


@pytest.mark.parametrize("anchor", [datetime.min, datetime.max, datetime(1, 3, 1), datetime(9999, 12, 1)])
@pytest.mark.parametrize(
    "words", ["last year", "next year", "before May", "in 999 decades", "500 years ago", "tomorrow", "easter"]
)
def test_the_ends_of_the_calendar_are_no_error(words, anchor):
    find_times(f"around {words}", anchor.replace(tzinfo=UTC))
    find_times(f"at {words} since {words}", anchor.replace(tzinfo=timezone(timedelta(hours=-12))))


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
        ("2023-05-08T13:00", "2023-05-08T14:00", "8 May 2023, 13:00 – 14:00"),
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


ANCHORS = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)).map(lambda moment: moment.replace(tzinfo=UTC))
GLUE = "in since before after between and from to the of last next this early 3 7th 2023 may - , . 🎉 will ago week 年"
SENTENCES = st.lists(st.sampled_from([case[1] for case in CASES] + GLUE.split()), max_size=12).map(" ".join)


@settings(max_examples=400, deadline=None)
@given(text=st.one_of(st.text(max_size=200), SENTENCES), anchor=ANCHORS)
@example(text="\0 yesterday \ud800 \u202eyadretsey", anchor=THURSDAY)
def test_find_never_fails_and_its_spans_and_offsets_hold(text, anchor):
    found = find_times(text, anchor)
    assert found == find_times(text, anchor)
    edge = 0
    for one in found:
        assert edge <= one.start < one.end <= len(text)
        assert text[one.start : one.end] == one.text
        assert one.span.start.tzinfo is not None
        assert one.span.start < one.span.end
        assert describe_span(one.span)
        edge = one.end


@settings(max_examples=200, deadline=None)
@given(text=st.one_of(st.text(max_size=80), SENTENCES))
def test_read_date_never_fails(text):
    found = read_date(text)
    assert found is None or found.start < found.end


# Words whose meaning moves with the week; months, years and holidays do not.
WEEKLY = (
    "today,yesterday,3 days ago,two weeks ago,last week,next week,last weekend,over the weekend,last Friday,on Tuesday,"
    "next Monday,this Sunday,last night,the week before last,the other day,a few days ago,the past two weeks,recently"
).split(",")


@settings(max_examples=150, deadline=None)
@given(words=st.sampled_from(WEEKLY), anchor=ANCHORS, weeks=st.integers(-500, 500))
def test_a_shift_of_whole_weeks_moves_what_counts_in_days_as_far(words, anchor, weeks):
    shift = timedelta(weeks=weeks)
    (here,), (there,) = find_times(words, anchor), find_times(words, anchor + shift)
    assert (there.span.start, there.span.end) == (here.span.start + shift, here.span.end + shift)


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


def test_a_long_text_is_read_up_to_a_documented_number_of_expressions():
    text = "We met on 7 May 2023 and last week, since March. " * 1100
    assert len(text) > 50_000
    assert len(find_times(text, THURSDAY)) == MAX_EXPRESSIONS


@pytest.mark.parametrize(
    "text", ["x" * 50_000, "a " * 25_000, "May " * 12_500, "the last " * 5_000, " " * 50_000, "1 " * 25_000]
)
def test_long_texts_without_a_time_are_read_to_their_end(text):
    # A pattern that tried every stretch of such a text would take hours.
    assert find_times(text, THURSDAY) == ()


def test_importing_does_not_load_the_date_library():
    code = "import sys, memory.dates.expressions; sys.exit('dateparser' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    "text", ["1" * 59 + "x", "2023 " + "1" * 50 + "x", "1 " * 27 + "2023x", "may " * 12 + "2023 é", "." * 50 + "2023x"]
)
def test_a_date_gone_wrong_is_refused_at_once(text):
    """A gate that tries every way of cutting up a run of digits does not come back from these in a lifetime."""
    assert read_date(text) is None
