"""Which choice an answer in words amounts to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.play.simulation.choices import choose, dont_know, show

BOATS = ("the blue dinghy", "the pilot cutter", "the old blue ferry", "Wilma's lamp", "I don't know.")
NOUNS = ("anchor", "buoy", "lamp", "oar", "rope", "sail")


@pytest.mark.parametrize(
    ("answer", "choice"),
    [
        ("(B)", 1),
        ("b)", None),
        ("B", 1),
        ("C. The ferry", 2),
        ("(d) the lamp", 3),
        ("The answer is (A).", 0),
        ("Not (A): the answer is (B).", 1),
        ("It was the pilot cutter that carried it.", 1),
        ("Pilots and cutters", 1),
        ("an old blue ferry", 2),
        ("The dinghy, I think; not the ferry.", 0),
        ("They took a lamp", 3),
        ("I don't know.", 4),
        ("The notes do not say which; I cannot tell.", 4),
        ("I don't know why, but the pilot cutter did", 1),
        ("A train", None),
        ("(A) or (B)", None),
        ("", 4),
    ],
)
def test_an_answer_is_a_letter_a_choice_in_words_or_none(answer, choice):
    assert choose(answer, False, BOATS) == choice


def test_the_article_a_is_no_letter():
    assert choose("The answer is a pilot cutter", False, BOATS) == 1


def test_an_abstention_is_the_choice_that_says_so_if_there_is_one():
    assert choose("the pilot cutter", True, BOATS) == 4
    assert choose("the pilot cutter", True, BOATS[:4]) is None


def test_a_choice_that_somebody_could_not_tell_something_is_an_answer_like_others():
    assert dont_know(("He couldn't tell Pia the truth", "a lie")) is None
    assert [dont_know([t]) for t in ("Unknown", "I do not know", "you don’t know", "It cannot be known.")] == [0] * 4


@given(st.lists(st.frozensets(st.sampled_from(NOUNS), min_size=1), min_size=2, max_size=5, unique=True), st.data())
def test_a_choice_given_back_word_for_word_is_that_choice(kinds, data):
    choices = [" and the ".join(sorted(kind)) for kind in kinds]
    taken = data.draw(st.integers(0, len(choices) - 1))
    assert choose(f"It was the {choices[taken]}.", False, choices) == taken


def test_choices_are_lines_a_sentence_or_not_there():
    question = "Pia: Which boat?"
    assert show(question, BOATS[-2:], "multiple-choice") == "Pia: Which boat?\n(A) Wilma's lamp\n(B) I don't know."
    assert show(question, BOATS[-3:], "unstructured") == (
        "Pia: Which boat? Is it the old blue ferry, or Wilma's lamp, or do you not know?"
    )
    assert show(question, BOATS, "open") == question
