"""How long ago, how long between and which came first are counted from the days of what was told."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.readers.counting import intervals as elapsed
from graph.readers.stating import MAX_WORDS
from graph.understanding.question import parse
from memory.types import PersonaDraft, SessionDraft, TurnDraft

APART = {
    "How many days passed between my visit to Porto and the regatta?": ("my visit to Porto", "the regatta"),
    "How long was it between the storm and the day I sold the canoe?": ("the storm", "the day I sold the canoe"),
    "How many weeks after the storm did I sell the canoe?": ("the storm", "I sell the canoe"),
    "How many days before the regatta was the storm?": ("the regatta", "the storm"),
    "How many days ago did I seal the canoe when Olaf came?": ("I seal the canoe", "Olaf came"),
}
ORDER = {
    "Which came first, the storm or the regatta?": ("first", ("the storm", "the regatta")),
    "Which did I do last: sell the canoe, or buy the kayak?": ("last", ("sell the canoe", "buy the kayak")),
}


@pytest.mark.parametrize(("text", "sides"), APART.items())
def test_a_question_may_ask_how_far_apart_two_things_are(text, sides):
    assert elapsed.parse(text) == elapsed.Comparison("apart", sides)


@pytest.mark.parametrize(("text", "asked"), ORDER.items())
def test_a_question_may_ask_which_of_two_things_came_first_or_last(text, asked):
    assert elapsed.parse(text) == elapsed.Comparison(*asked)


@pytest.mark.parametrize(
    "text",
    [
        "What is the difference between tea and coffee?",
        "Which book did I read first?",
        "How many dogs have I had?",
        "Who lives between Olaf and Tilde?",
    ],
)
def test_other_questions_compare_nothing(text):
    assert elapsed.parse(text) is None


@pytest.mark.parametrize(
    "words", ["from ", "which first, ", "how long between ", "how long is it ", "how long ago did "]
)
def test_a_page_compares_nothing_and_is_not_tried_at_every_word(words):
    page = "How long, and which came first: " + words * 20_000
    assert elapsed.parse(page) is None
    assert parse(page, 0, {}).text == page


@pytest.mark.parametrize(
    ("text", "expects"),
    [
        ("How long ago did I adopt Biscuit?", "ago"),
        ("How many weeks ago was that?", "ago"),
        ("How many days has it been since I moved?", "ago"),
        ("How long did it take?", "thing"),
        ("When did I move?", "time"),
    ],
)
def test_how_long_ago_is_no_duration(text, expects):
    assert parse(text, 0, {}).expects == expects


@given(st.text(max_size=300))
def test_whatever_is_asked_can_be_taken_apart(text):
    compared = elapsed.parse(text)
    assert compared is None or all(side in text for side in compared.sides)


def test_how_long_ago_counts_days_weeks_and_months():
    assert elapsed.ago(date(2024, 5, 1), date(2024, 5, 3)) == "2 days ago"
    assert elapsed.ago(date(2024, 3, 3), date(2024, 4, 17)) == "45 days (6 weeks 3 days; 1 month 14 days) ago"
    assert elapsed.ago(date(2024, 5, 3), date(2024, 5, 3)) == "Today"
    assert elapsed.ago(date(2024, 5, 4), date(2024, 5, 3)) == "1 day from now"


@pytest.fixture
def told(marlow):
    """Ask a persona that was told of two things on two days."""
    bank = marlow.services.bank
    persona = bank.create_persona(PersonaDraft("Wren"))
    days = {
        datetime(2024, 3, 3, 18, tzinfo=UTC): "The storm took the roof off the boathouse yesterday.",
        datetime(2024, 4, 17, 18, tzinfo=UTC): "I sold the green canoe to a schoolteacher today.",
        datetime(2024, 4, 20, 18, tzinfo=UTC): "Supper was soup. The radio is broken.",
    }
    for at, text in days.items():
        bank.remember(persona.id, [SessionDraft((TurnDraft("You", "user", text, at),), at)])
    marlow.persona = persona
    marlow.now = datetime(2024, 5, 1, 12, tzinfo=UTC)
    return lambda text: marlow.again().say(text, remember=False).reading


def test_how_long_ago_is_counted_from_when_it_is_asked(told):
    reading = told("How many days ago did I sell the green canoe?")
    assert reading.answer.startswith("14 days (2 weeks) ago. ")
    assert "schoolteacher" in reading.citations[0].memory.text


def test_the_days_between_two_things_are_counted_and_both_are_cited(told):
    reading = told("How many days passed between the storm that took the roof and the day I sold the green canoe?")
    assert reading.answer.startswith("46 days (6 weeks 4 days; 1 month 15 days), from 2 March 2024 to 17 April 2024.")
    assert len({citation.memory.id for citation in reading.citations}) == 2
    assert len(reading.answer.split()) <= MAX_WORDS


def test_what_came_first_is_told_by_the_days(told):
    reading = told("Which came first, selling the green canoe or the storm that took the roof?")
    assert reading.answer.startswith("The storm that took the roof, on 2 March 2024. The other was on 17 April 2024.")


def test_where_one_of_the_two_is_not_remembered_nothing_is_counted(told):
    reading = told("How many days passed between the wedding of Ottilie and the day I sold the green canoe?")
    assert "days" not in reading.answer.split(":")[0]
