"""A text is cut where a sentence ends, and nothing of it is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.understanding.sentences import MAX_TEXT, split


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("I came. I saw. I left.", ["I came.", "I saw.", "I left."]),
        ("Is it? It is! Well… Perhaps", ["Is it?", "It is!", "Well…", "Perhaps"]),
        ("Dr. Silva met Mrs. Roe at 5 p.m. Sunday.", ["Dr. Silva met Mrs. Roe at 5 p.m. Sunday."]),
        ("the dog sees dr. Silva, her ear", ["the dog sees dr. Silva, her ear"]),
        ("It cost 3.50 at e.g. the kiosk.", ["It cost 3.50 at e.g. the kiosk."]),
        ('He said "Go." Then he went.', ['He said "Go."', "Then he went."]),
        ("(So she said.) “Not I.” That was all.", ["(So she said.)", "“Not I.”", "That was all."]),
        ("Milk\n- eggs\n\n- flour\n", ["Milk", "- eggs", "- flour"]),
        ("她来了。他走了！", ["她来了。", "他走了！"]),
        ("we met. what was it called? does she bite", ["we met.", "what was it called?", "does she bite"]),
        ("it is may, and what did i say about Bo?", ["it is may,", "and what did i say about Bo?"]),
        ("what can I bring her? she's diabetic btw", ["what can I bring her?", "she's diabetic btw"]),
        ("got it!!! start monday", ["got it!!!", "start monday"]),
        ('he asked "why?" and left', ['he asked "why?" and left']),
        ("who's Bo and how old am i?", ["who's Bo", "and how old am i?"]),
        ("do you know where we met and what she wore?", ["do you know where we met and what she wore?"]),
        ("", []),
        (" \n ", []),
    ],
)
def test_sentences_end_where_readers_end_them(text, sentences):
    assert split(text) == sentences


@given(
    st.text(st.sampled_from("aB c.!?…\"'”)]\n\t。Dr1-,é😀") | st.characters(exclude_categories=["Cs"]), max_size=200)
)
def test_no_character_but_space_is_lost(text):
    assert "".join("".join(split(text)).split()) == "".join(text.split())


def test_a_pasted_book_is_cut_to_its_beginning():
    assert sum(len(sentence) for sentence in split("Once more. " * MAX_TEXT)) <= MAX_TEXT
