"""A time asked about drops what it rules out: facts that did not hold then and, if nothing else is asked, the rest."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from graph.nodes.time_filter import drop_outside_time, within_budget
from graph.understanding.times import is_of_time
from memory.dates.expressions import TimeExpression, find_times
from memory.types import Hit, Memory, PersonaDraft, TimeSpan

NOW = datetime(2024, 7, 1, 12, tzinfo=UTC)


def day(month, date, days=1):
    start = datetime(2024, month, date, tzinfo=UTC)
    return TimeSpan(start, start + timedelta(days=days))


def hit(number, said=None, event=None, text="", store="dialogue", **more):
    values = {"valid_from": said, "valid_to": None} | more
    memory = Memory(
        store, text, key=text, event=event, said_at=said, id=number, persona_id=1, recorded_at=NOW, **values
    )
    return Hit(memory, 1.0, {})


MARCH = hit(1, datetime(2024, 3, 4, 10, tzinfo=UTC), text="I adopted a dog.")
APRIL = hit(2, datetime(2024, 4, 18, 10, tzinfo=UTC), text="My brother visited me yesterday.")
UNDATED = hit(3, text="Occupation: lock keeper", store="profile")


def asked(text):
    return find_times(text, NOW)


def kept(hits):
    return [h.memory.id for h in hits if h.kept]


def test_without_a_time_everything_is_kept():
    hits, decided = drop_outside_time([MARCH, APRIL, UNDATED], ())
    assert (kept(hits), decided) == ([1, 2, 3], "the question names no time")


def test_an_open_question_drops_what_is_of_another_time_and_says_why():
    hits, decided = drop_outside_time([MARCH, APRIL, UNDATED], asked("What happened in April?"), is_open=True)
    assert kept(hits) == [2, 3]
    assert hits[0].why == "not of the time named: April 2024"
    assert decided == "April 2024: kept 2 of 3"


def test_an_open_question_asks_what_happened_then_unless_it_asks_what_was_talked_about():
    told = hit(4, datetime(2024, 4, 2, 10, tzinfo=UTC), event=day(6, 3), text="The regatta is on 3 June.")
    assert kept(drop_outside_time([APRIL, told], asked("What was on in April?"), is_open=True)[0]) == [2]
    talk = drop_outside_time([APRIL, told], asked("What did we talk about in April?"), is_open=True, is_of_talk=True)
    assert kept(talk[0]) == [2, 4]


def test_of_a_vague_time_an_open_question_gets_no_other():
    soon = hit(4, NOW - timedelta(days=3), event=day(7, 4), text="The regatta is on 4 July.")
    assert kept(drop_outside_time([APRIL, soon], asked("What is coming up?"), is_open=True)[0]) == [4]


def test_what_is_on_is_told_by_its_day_and_not_by_the_day_it_was_said(marlow):
    chat = marlow.again(persona=marlow.services.bank.create_persona(PersonaDraft("Wren")), chat_id="wren")
    chat.say("I work at the clinic now.")
    chat.say("The dentist is on 5 July at ten.")
    assert "dentist" in (answer := chat.say("What's on this week?").reading.answer)
    assert "clinic" not in answer
    assert "clinic" in chat.say("What did I say this week?").reading.answer
    assert "dentist" in chat.again(now=chat.now.replace(day=4)).say("what's on tomorrow?").reading.answer
    chat.say("Remind me to ring mum on Sunday.")
    nearest = chat.say("Is there anything I'm supposed to do on Sunday?").reading.answer
    assert "Remind me to ring mum on Sunday." in nearest
    assert "clinic" not in nearest


def test_a_question_that_names_more_than_a_time_loses_no_talk_and_no_event():
    race = hit(4, NOW, event=day(2, 10), store="event")
    hits, decided = drop_outside_time([MARCH, APRIL, race, UNDATED], asked("Who visited me in April?"))
    assert kept(hits) == [1, 2, 4, 3]
    assert decided == "April 2024: kept 4 of 4; memories from that time rank higher"


def test_a_fact_that_did_not_hold_then_is_dropped_whatever_else_is_asked():
    old, new = (
        hit(number, since, store="profile", valid_to=until)
        for number, since, until in ((4, day(2, 1).start, day(5, 1).start), (5, day(5, 1).start, None))
    )
    hits, _ = drop_outside_time([MARCH, new, old], asked("Where did I live in March?"))
    assert kept(hits) == [1, 4]


@pytest.mark.parametrize("is_open", [True, False])
def test_a_time_that_leaves_nothing_drops_nothing(is_open):
    hits, decided = drop_outside_time([MARCH, APRIL], asked("What happened in January?"), is_open=is_open)
    assert kept(hits) == [1, 2]
    assert decided == "nothing of the time named (January 2024): all kept"


def test_an_unsure_time_drops_nothing_where_more_than_a_time_is_asked():
    about_april = [TimeExpression("around then", 0, 11, day(4, 1, 30), sure=False)]
    ended = hit(4, day(1, 1).start, store="profile", valid_to=day(2, 1).start)
    hits, _ = drop_outside_time([MARCH, APRIL, ended], about_april)
    assert kept(hits) == [1, 2, 4]


def test_of_several_times_one_is_enough():
    hits, _ = drop_outside_time([MARCH, APRIL, hit(4, NOW)], asked("Was it in March or in April?"), is_open=True)
    assert kept(hits) == [1, 2]


@pytest.mark.parametrize(
    ("question", "others"), [("What did I do in April?", False), ("Who visited me in April?", True)]
)
def test_only_a_question_of_a_time_and_nothing_else_is_open(marlow, question, others):
    answer = marlow.say(question, remember=False)
    assert answer.window
    talk = [h for h in answer.hits if h.memory.store == "dialogue" and h.dropped != "budget"]
    assert any(h.kept and not is_of_time(h.memory, answer.window[0].span) for h in talk) is others


@pytest.mark.parametrize(
    ("memory", "span", "fits"),
    [
        (APRIL, day(4, 18), True),  # said
        (APRIL, day(4, 17), True),  # tells of
        (APRIL, day(4, 16), False),
        (hit(5, NOW, event=day(2, 10)), day(2, 10), True),  # happened
        (hit(5, NOW, event=day(2, 10)), day(7, 1), True),  # said, though it happened before
        (hit(5, NOW, event=day(2, 10)), day(2, 11), False),
        (hit(5, event=day(2, 10)), day(3, 1), False),
        (UNDATED, day(3, 1), True),  # not known to be outside
    ],
)
def test_a_memory_is_of_when_it_happened_when_it_was_said_and_what_it_tells_of(memory, span, fits):
    assert is_of_time(memory.memory, span) is fits


def test_a_fact_is_of_all_the_time_it_held():
    porto = hit(
        6, valid_from=datetime(2024, 2, 1, tzinfo=UTC), valid_to=datetime(2024, 5, 1, tzinfo=UTC), store="profile"
    )
    assert [is_of_time(porto.memory, day(month, 10)) for month in (1, 2, 4, 5)] == [False, True, True, False]


def test_the_day_is_the_speakers_own():
    tokyo = datetime.fromisoformat("2024-04-18T01:00+09:00")
    assert is_of_time(hit(7, tokyo).memory, TimeSpan(tokyo.replace(hour=0), tokyo.replace(hour=23)))
    assert not is_of_time(hit(7, tokyo).memory, TimeSpan(tokyo - timedelta(hours=10), tokyo.replace(hour=0)))


def test_no_more_are_kept_than_will_be_read():
    dropped = drop_outside_time([MARCH, APRIL, hit(4, APRIL.memory.said_at)], asked("In April?"), is_open=True)[0]
    cut = within_budget(dropped, 1)
    assert kept(cut) == [2]
    assert [h.why for h in cut] == ["not of the time named: April 2024", "", "below the 1 best"]


def test_a_future_memory_is_not_shown_even_where_its_day_is_asked_about(marlow, at):
    early = marlow.again(now=at(4, 1))
    for question in ("What did I say in May 2024?", "What happened on 20 May 2024?", "Who is my neighbour?"):
        answer = early.say(question, remember=False)
        assert all(h.memory.said_at is None or h.memory.said_at <= at(4, 1) for h in answer.hits)
        assert "Petra" not in answer.reading.answer
        assert "June" not in answer.reading.answer
        assert "May 2024" not in answer.reading.answer


def test_switched_off_it_keeps_all(marlow):
    services = replace(marlow.services, settings=replace(marlow.services.settings, time_filter=False))
    answer = marlow.again(services=services).say("Which dog did I adopt in March?", remember=False)
    assert answer.window == ()
    assert all(h.kept for h in answer.hits)


def test_a_time_in_what_is_told_is_not_asked_about(marlow):
    answer = marlow.say("I planted a quince tree yesterday. When did I adopt Biscuit?")
    assert answer.window == ()
    assert "3 March 2024" in answer.reading.answer
