"""A question about somebody is put as they would have put it, and no other word of it changes."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.search.names import MAX_NAME_WORDS, is_about_others, is_about_self, possible_names, to_first_person

NAMES = ("Ana", "Bo Lindqvist", "Chris", "Zoë")


@pytest.mark.parametrize(
    ("text", "heard"),
    [
        ("What does Ana do to destress?", "What does I do to destress?"),
        ("What is Ana's dog called?", "What is my dog called?"),
        ("Is it Ana’s?", "Is it my?"),
        ("Where is Chris' boat?", "Where is my boat?"),
        ("Where is Chris's boat?", "Where is my boat?"),
        ("When did Bo Lindqvist's brother visit Zoë?", "When did my brother visit I?"),
        ("Did Anabel or Bo call Hana?", "Did Anabel or Bo call Hana?"),
        ("What did the analyst say of Petra?", "What did the analyst say of Petra?"),
    ],
)
def test_who_is_named_says_it_themselves(text, heard):
    assert to_first_person(text, NAMES) == heard


def test_the_longer_of_two_names_is_read_first():
    assert to_first_person("Did Ana Maria or Ana ring?", ("Ana", "Ana Maria")) == "Did I or I ring?"


@given(st.lists(st.sampled_from([*NAMES, "met", "Petra", "the", "canoe", "Ana's", "?", ","]), max_size=12))
def test_no_name_is_left_and_no_other_word_changes(words):
    text = " ".join(words)
    heard = to_first_person(text, NAMES)
    assert not re.search(rf"\b(?:{'|'.join(NAMES)})\b", heard)
    others = [word for word in text.split() if word in ("met", "Petra", "the", "canoe", "?", ",")]
    assert [word for word in heard.split() if word not in ("I", "my")] == others


@given(st.text(max_size=200))
def test_a_text_without_the_names_stays_as_it_is(text):
    assert to_first_person(text, ()) == text
    assert to_first_person(text.replace("Ana", ""), ("Ana",)) == text.replace("Ana", "")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("When did Ana leave?", "Ana"),
        ("What is Ana's dog called?", "Ana"),
        ("Did Bo Lindqvist call?", "Bo Lindqvist"),
        ("Did Juan O'Neill Pérez call?", "Juan O'Neill Pérez"),
        ("What did Jean-Luc and Zoë say?", "Zoë"),
    ],
)
def test_a_name_is_among_the_possible_ones(text, name):
    assert name in set(possible_names(text))


@pytest.mark.parametrize(
    "text",
    [
        "where is the canoe?",
        "",
        "Ana, where is my key?",
        "I met Bo. Ana, where was that?",
        "Where is my key, Ana?",
        "Hey Ana, where is my key?",
    ],
)
def test_who_is_only_spoken_to_is_not_asked_about(text):
    assert "Ana" not in set(possible_names(text))


def test_the_user_of_a_chat_is_not_you():
    assert "You" not in set(possible_names("You said that I sold it. What did You mean?"))


@pytest.mark.parametrize("text", ["Where does Li Ming invest?", "In which field is Professor Wang an expert?"])
def test_a_question_may_be_about_others_than_those_who_are_known(text):
    assert is_about_others(text, ("Ida Marlow",))


@pytest.mark.parametrize(
    "text",
    [
        "What is Ida's job?",
        "Does Ida know Bo?",
        "What is Marlow's job at Rexam?",
        "What did I tell Bo?",
        "Where did you meet Bo?",
        "What is the job?",
        "Which job is it?",
    ],
)
def test_what_names_one_who_is_known_or_is_about_me_or_you_or_names_nobody_is_not_about_others(text):
    assert not is_about_others(text, ("Ida Marlow",))


@pytest.mark.parametrize(
    "text", ["A" * 100_000, "A " * 50_000, "Ab'Ab’s-" * 12_500, ", A" * 33_333, "A" + " " * 99_998]
)
def test_the_possible_names_of_a_long_text_are_no_more_than_its_words_allow(text):
    found = list(possible_names(text))
    assert len(found) <= MAX_NAME_WORDS * len(text.split())
    assert sum(map(len, found)) <= 2 * MAX_NAME_WORDS * len(text)


@pytest.mark.parametrize(
    ("text", "of_self"), [("Where is my key?", True), ("What did WE do?", True), ("Where is Myra?", False), ("", False)]
)
def test_my_and_we_are_about_the_one_who_asks(text, of_self):
    assert is_about_self(text) is of_self
