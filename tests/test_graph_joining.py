"""A question that names somebody by what they did is taken apart into who that is and what is asked of them."""

import pytest

from graph.readers.joining import Joined, parse


@pytest.mark.parametrize(
    ("text", "who", "then"),
    [
        ("Where does the man who fixed my car live?", "who fixed my car", "Where does {} live"),
        ("how old is the boy who gets my old bike", "who gets my old bike", "how old is {}"),
        ("where is the guy from whom i got my phone", "who i got my phone from", "where is {}"),
        ("what does the boyfriend of the girl that sang do", "who sang", "what does the boyfriend of {} do"),
    ],
)
def test_who_is_meant_is_asked_first(text, who, then):
    assert parse(text) == Joined(who, then)


@pytest.mark.parametrize(
    "text", ["who fixed my car", "what is the thing that i like", "where does the man live", "is the one " * 90]
)
def test_other_questions_stay_whole(text):
    assert parse(text) is None
