"""A quotation is found in a text whatever its case, spaces and marks, and is then spelled as the text spells it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.search.quotes import contains, find_quote, normalize


@pytest.mark.parametrize(
    ("words", "spelled"),
    [
        ("I live in Porto", "I live in Porto"),
        ("i LIVE in porto.", "I live in Porto"),
        ("“live in  Porto”", "live in Porto"),
        ("porto – and it's", "Porto —  and it’s"),
        ("fine...", "fine"),
        ("lisbon", ""),
        ("", ""),
        ("...", ""),
    ],
)
def test_a_quote_is_spelled_as_in_the_text(words, spelled):
    assert find_quote(words, "I live in Porto —  and it’s fine…") == spelled


@given(st.text(max_size=40), st.integers(0, 40), st.integers(0, 40), st.sampled_from([str.upper, str.lower, str.title]))
def test_what_is_found_stands_in_the_text_and_says_the_same(text, start, end, respell):
    words = respell(text[start:end])
    found = find_quote(words, text)
    assert found in text
    assert bool(found) or not contains(text, words)
    assert not found or found == words.strip() or normalize(words) in normalize(found)
