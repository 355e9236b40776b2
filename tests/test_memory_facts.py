"""Plain statements become facts; what is unsure, asked, or might mean something else does not."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.learning.plain_facts import facts
from memory.bank.bank import Bank
from memory.types import PersonaDraft

JULY = datetime(2024, 7, 1, 10, tzinfo=UTC)


def read(text):
    return [fact.text for fact in facts(text, "Tilde", JULY)]


@pytest.mark.parametrize(
    ("said", "fact"),
    [
        ("My name is Noor.", "Name: Noor"),
        ("my name is noor", "Name: Noor"),
        ("my names noor btw", "Name: Noor"),
        ("call me noor", "Name: Noor"),
        ("Hi, I'm Noor.", "Name: Noor"),
        ("Hello, my name is Noor Haddad and I'm new here.", "Name: Noor Haddad"),
        ("I live in Porto with two cats.", "Lives in Porto"),
        ("I now live in Stoke-on-Trent, near the canal.", "Lives in Stoke-on-Trent"),
        ("I moved to Lisbon.", "Lives in Lisbon"),
        ("I've just moved to the Isle", None),
        ("I’ve just moved to New York City in March", "Lives in New York City"),
        ("We moved back to the sofa.", None),
        ("I moved to Lisbon two weeks ago to study.", "Lives in Lisbon"),
        ("I work as a nurse at St Mary's.", "Works as nurse"),
        ("I work for the Royal Mint.", "Works at Royal Mint"),
        ("I work at night.", None),
        ("My birthday is on the 4th of May.", "Birthday: 4th of May"),
        ("My birthday is next week.", None),
        ("My favourite colour is now green, by the way.", "Favourite colour: green"),
        ("My favorite food is rice with beans.", "Favourite food: rice with beans"),
        ("My sister is called Ana.", "Ana is Tilde's sister"),
        ("My dog's name is Rex!", "Rex is Tilde's dog"),
        ("My dog’s name is Rex!", "Rex is Tilde's dog"),
        ("I saw my best friend, Kim, today.", "Kim is Tilde's best friend"),
        ("My sister Ana's car broke down.", "Ana is Tilde's sister"),
        ("My doctor Dr. Silva was late.", "Dr. Silva is Tilde's doctor"),
        ("I have a sister called Ana.", "Ana is Tilde's sister"),
        ("I've got a little brother named Tom.", "Tom is Tilde's brother"),
        ("So Ana Lopez is my older sister, and she sings.", "Ana Lopez is Tilde's sister"),
        ("Ana is my sister's friend.", None),
        ("Ana is my sister-in-law.", "Ana is Tilde's sister-in-law"),
        ("This is my brother.", None),
        ("Coffee is my best friend.", None),
        ("My mother is my best friend.", None),
        ("I'm not allergic to cats.", None),
        ("I was born in Rio de Janeiro.", "Born in Rio de Janeiro"),
        ("I was born in winter.", None),
        ("My sister is tired.", None),
        ("I'm a bit tired.", None),
        ("My name is on the list.", None),
        ("call me later", None),
        ("hi im pregnant", None),
        ("Is my name on the list? My name is Noor?", None),
        ("If I moved to Lisbon I would be happy.", None),
        ("I used to live in Porto.", None),
        ("I don't live in Porto.", None),
        ("I don’t live in Porto.", None),
        ("", None),
    ],
)
def test_a_form_is_read_or_left(said, fact):
    assert read(said) == ([fact] if fact else [])


def test_each_value_of_a_list_is_a_fact():
    assert read("I'm allergic to peanuts, dust and cats, so no.") == [
        f"Allergic to {x}" for x in ("peanuts", "dust", "cats")
    ]
    assert read("We have a cat and two dogs.") == ["Has a cat", "Has two dogs"]
    assert read("I love rock and roll.") == ["Likes rock and roll"]


def test_what_one_has_not_is_a_fact():
    assert read("I'm an only child.") == ["Has no siblings"]
    assert read("We don't have any kids.") == ["Has no kids"]
    assert read("I'm single.") == ["Marital status: single"]


def test_a_fact_carries_the_words_it_was_read_from():
    (fact,) = facts("Guess what. I moved to Lisbon.", "Tilde", JULY)
    assert fact.key == "Lives in Lisbon. I moved to Lisbon."
    assert (fact.said_at, fact.speaker, fact.attribute) == (JULY, "Tilde", "home")


def test_who_speaks_as_you_is_spoken_to():
    assert [fact.text for fact in facts("My sister Ana is here.", "You", JULY)] == ["Ana is your sister"]


def test_an_unsure_sentence_does_not_silence_its_neighbours():
    assert read("Maybe I moved to Rome. I live in Porto.") == ["Lives in Porto"]


def test_a_move_of_long_ago_does_not_close_where_one_lives_now(tmp_path):
    bank = Bank(tmp_path / "bank.db")
    persona = bank.create_persona(PersonaDraft("Marlow"))
    bank.add_memories(persona.id, list(facts("I live in Porto.", "Tilde", JULY)))
    bank.add_memories(persona.id, list(facts("I moved to Rome in 2005.", "Tilde", JULY.replace(month=8))))
    held = {m.text: m for m in bank.memories(persona.id)}
    assert held["Lives in Porto"].valid_to is None
    assert held["Lives in Rome"].valid_from == datetime(2005, 1, 1, tzinfo=UTC)
    assert held["Lives in Rome"].valid_to == JULY


def test_a_move_to_come_holds_from_when_it_was_said():
    (fact,) = facts("We moved to Rome on Monday.", "Tilde", JULY)
    assert fact.valid_from <= JULY


@given(st.text(max_size=200))
def test_any_text_can_be_read(text):
    for fact in facts(text, "Tilde", JULY):
        assert fact.text
        assert fact.store in ("profile", "relationship")
