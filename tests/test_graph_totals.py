"""A question for a sum is answered with the amounts that were told, added up, each with its source."""

from dataclasses import replace
from decimal import Decimal

import pytest

from graph.readers.counting.several import amount_in, asks_total, split_items, without_total
from memory.types import PersonaDraft, SessionDraft, TurnDraft

BILLS = (
    (2, 3, "The vet came for the dog's paw and it cost 85 euros."),
    (4, 9, "Vet again, the dog had an ear infection, that cost 140 euros."),
    (5, 20, "The plumber wanted 60 euros for ten minutes."),
)


@pytest.mark.parametrize(
    ("words", "number", "sign"),
    [
        ("85 euros", "85", "€"),
        ("£1,250", "1250", "£"),
        ("€ 12.50", "12.50", "€"),
        ("3,50 euro", "3.50", "€"),
        ("6200", "6200", ""),
        ("29k", "29000", ""),
        ("40 quid", "40", "£"),
    ],
)
def test_an_amount_is_read_with_its_currency(words, number, sign):
    amount = amount_in(words)
    assert amount is not None
    assert (amount.number, amount.sign) == (Decimal(number), sign)


@pytest.mark.parametrize("words", ["a lot", "for 3 years", "2 kg", "10 or 12 euros", "at 10:30", "", "2/3"])
def test_what_names_no_one_amount_is_none(words):
    assert amount_in(words) is None


@pytest.mark.parametrize(
    ("text", "one"),
    [
        ("How much did the vet cost in total?", "How much did the vet cost ?"),
        ("how much have i spent on stamps altogether", "how much have i spent on stamps"),
        ("what did the bike and the washing machine come to together", None),
        ("What is the total of my vet bills?", None),
    ],
)
def test_a_sum_is_asked_for(text, one):
    assert asks_total(text)
    assert one is None or without_total(text) == one


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("how much did the tea, the bread n the milk cost me all together", ["the tea", "the bread", "the milk"]),
        ("the bike and the lock together, what did that come to", ["the bike", "the lock"]),
        ("what did the bike and the lock come to altogther", ["the bike", "the lock"]),
        ("how much did the vet cost in total", []),
    ],
)
def test_a_sum_may_be_of_things_that_are_named(text, items):
    assert asks_total(text)
    assert split_items(without_total(text)) == [f"how much did {item} cost" for item in items]


@pytest.mark.parametrize("text", ["How much did the vet cost?", "Do we live together?", "Who won in total silence?"])
def test_other_questions_ask_for_no_sum(text):
    assert not asks_total(text)


def test_the_amounts_of_what_is_asked_about_are_added_up(services, marlow):
    chat = replace(marlow, persona=services.bank.create_persona(PersonaDraft("Quill")))
    sessions = [
        SessionDraft((TurnDraft("You", "user", text),), chat.now.replace(month=month, day=day))
        for month, day, text in BILLS
    ]
    services.bank.remember(chat.persona.id, sessions)
    reading = chat.say("how much did the vet cost in total", remember=False).reading
    assert reading.answer.startswith("I know of 225 euros: ")
    assert {c.memory.text for c in reading.citations} == {text for *_, text in BILLS[:2]}


def test_things_that_are_named_are_added_up_and_nothing_else(services, marlow):
    chat = replace(marlow, persona=services.bank.create_persona(PersonaDraft("Quill")))
    for told in ("bought a washing machine, 749 euros", "new bike, 2,899 euros!", "the train to leeds was 60 euros"):
        chat.say(told)
    answer = chat.again().say("how much did the bike and the washing machine cost together").reading.answer
    assert answer.startswith("I know of 3,648 euros: ")
    assert "60" not in answer
