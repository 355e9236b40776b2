"""What the tests of dates share: sentences that name times and what they mean, and generated ones."""

from datetime import UTC, datetime

from hypothesis import strategies as st

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
Monday a week ago, in his sleep|Monday a week ago|2023-05-15|2023-05-16
He left on Sunday two weeks ago|Sunday two weeks ago|2023-05-14|2023-05-15
they rang a week ago on Friday|a week ago on Friday|2023-05-19|2023-05-20
The party is Saturday week.|Saturday week|2023-06-03|2023-06-04
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
on 26 May|26 May|2023-05-26|2023-05-27
in September|September|2023-09-01|2023-10-01
in February|February|2023-02-01|2023-03-01
we met on 26 May|26 May|2022-05-26|2022-05-27
I'll fly on 26 May|26 May|2023-05-26|2023-05-27
we met on February 29|February 29|2020-02-29|2020-03-01
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
we met on the 31st.|the 31st|2023-03-31|2023-04-01
the 5th of last month|the 5th of last month|2023-04-05|2023-04-06
in March|March|2023-03-01|2023-04-01
in May|May|2023-05-01|2023-06-01
we met in september|september|2022-09-01|2022-10-01
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
we met in early June|early June|2022-06-01|2022-06-11|?
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
we met in the fall|fall|2022-09-01|2022-12-01
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


ANCHORS = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1)).map(lambda moment: moment.replace(tzinfo=UTC))

GLUE = "in since before after between and from to the of last next this early 3 7th 2023 may - , . 🎉 will ago week 年"

SENTENCES = st.lists(st.sampled_from([case[1] for case in CASES] + GLUE.split()), max_size=12).map(" ".join)
