"""What a question asks for is told by its words, and a name that nobody mentioned is noticed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.understanding.question import MAX_TERMS, names_something, parse, proper_names, terms_of


@pytest.mark.parametrize(
    ("text", "expects"),
    [
        ("who rescued me when the motor quit", "person"),
        ("did i cry when i fell", "yes or no"),
        ("When I fell, who helped?", "person"),
        ("do you know when pieter lands", "time"),
        ("remind me when rent is due", "time"),
        ("can you remind me what i'm allergic to", "thing"),
        ("when, roughly, is the wedding", "time"),
        ("When did I adopt Biscuit?", "time"),
        ("How long ago did I adopt Biscuit?", "ago"),
        ("In what year was that?", "time"),
        ("How long did it take?", "thing"),
        ("How many canoes do I have?", "number"),
        ("How old is Biscuit?", "number"),
        ("Who visited me?", "person"),
        ("Whose canoe is it?", "person"),
        ("Where is the key?", "thing"),
        ("Which town does Olaf live in?", "thing"),
        ("Did Olaf visit me?", "yes or no"),
        ("What did we repair?", "thing"),
        ("", "thing"),
    ],
)
def test_what_is_expected(text, expects):
    assert parse(text, 10, {}).expects == expects


def test_a_rare_word_weighs_more_than_a_common_one_and_a_frame_word_least():
    weights = parse(
        "Do you remember the name of the canoe that Olaf repaired?", 100, {"olaf": 90, "cano": 2, "name": 2}
    ).weights
    assert weights["cano"] > weights["olaf"]
    assert weights["name"] < weights["cano"] / 2
    assert "the" not in weights


def test_a_name_that_no_memory_holds_is_unheard():
    asked = parse("When did Zebulon meet Olaf in March?", 10, {"olaf": 1})
    assert asked.unknown_names == ("Zebulon",)


def test_what_begins_a_sentence_and_what_the_calendar_names_is_no_name():
    assert proper_names("When was it? Maybe on Monday or in March, I think.") == {}
    assert list(proper_names("Was it Olaf's?")) == ["Olaf"]


@pytest.mark.parametrize(
    ("text", "named"),
    [("And when was that?", False), ("Where?", False), ("", False), ("And when was the regatta?", True)],
)
def test_whether_it_names_what_it_is_about(text, named):
    assert names_something(text) is named


def test_a_pasted_page_is_not_asked_word_by_word():
    assert len(terms_of(" ".join(f"word{n}" for n in range(1000)))) == MAX_TERMS


@given(st.text(max_size=200), st.integers(0, 1000))
def test_any_text_is_a_question_with_weights_above_zero(text, total):
    asked = parse(text, total, dict.fromkeys(terms_of(text), total))
    assert all(weight >= 0 for weight in asked.weights.values())
