"""A question and a line become tokens from which each word of the line can be found again."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.readers.line_reader import BEFORE_TOKENS, LINE_TOKENS, PARTS, QUESTION_TOKENS, Line, tokens_of
from memory.embedding.embedder import installed

WORDS = st.text(max_size=600)


@pytest.mark.parametrize("encoder", installed())
@given(question=WORDS, text=WORDS, before=WORDS, speaker=st.text(max_size=20))
def test_every_token_of_the_line_has_its_place_in_the_text(encoder, question, text, before, speaker):
    parts = PARTS[encoder]()
    (tokens,) = tokens_of(parts, question, date(2026, 5, 3), [Line(text, speaker, date(2026, 3, 3), before)])
    assert (tokens.ids[0], tokens.ids[-1]) == (parts.start, parts.end)
    assert len(tokens.ids) == len(tokens.types) == tokens.first + len(tokens.offsets) + 1
    assert all(0 <= a <= b <= len(text) for a, b in tokens.offsets)
    assert not any(text[a:b] != text[a:b].lstrip() for a, b in tokens.offsets)
    assert tokens.types == sorted(tokens.types)
    assert len(tokens.offsets) <= LINE_TOKENS
    assert tokens.types.index(1) <= QUESTION_TOKENS + BEFORE_TOKENS + 3


@pytest.mark.parametrize("encoder", installed())
def test_the_line_says_who_and_how_long_ago(encoder):
    told, untold = Line("i got a dog", "You", date(2026, 3, 3)), Line("i got a dog")
    first, second = tokens_of(PARTS[encoder](), "what pet do i have", date(2026, 5, 3), [told, untold])
    assert len(first.ids) > len(second.ids)
    assert [("i got a dog"[a:b]) for a, b in first.offsets] == ["i", "got", "a", "dog"]
    assert first.ids[first.first : -1] == second.ids[second.first : -1]
