"""What is shown of an answer while it is written is what stands there at its end."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.readers.chain_of_note.citing import AnswerStream, cite
from graph.readers.chain_of_note.prompts import PromptContent
from graph.readers.chain_of_note.reply_formats import parse_words
from graph.state import Ask
from memory.search.quotes import contains
from memory.types import Hit


@pytest.fixture(scope="module")
def found(marlows_bank):
    persona = marlows_bank.persona("Marlow")
    hits = tuple(Hit(m, 1.0, {}) for m in marlows_bank.memories(persona.id)[:5])
    ask = Ask(persona, "Who?", datetime(2024, 7, 1, tzinfo=UTC), "chat")
    return PromptContent(ask, "Who?", (), hits, (1, 2), 2000)


def spoken(found, text, cuts, answer):
    """What was shown of a text that came in pieces, before and after it was checked."""
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    screen = ""

    def say(piece, *, restart=False):
        nonlocal screen
        screen = piece if restart else screen + piece

    stream = AnswerStream(found, say)
    for piece in pieces:
        stream.feed(piece)
    streamed = screen
    stream.finish(answer)
    return streamed, screen


WORDS = st.lists(
    st.sampled_from("You| went| home|[1]| [2]| [3, 1]| [9]|[|]| [x]|.|\n| 12|*|U|<".split("|")),
    min_size=1,
    max_size=12,
).map("".join)


@given(WORDS, st.data())
def test_however_it_is_cut_the_stream_is_the_answer_with_its_marks_numbered(found, text, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    answer = cite(parse_words(text)[0], (), found).answer
    streamed, screen = spoken(found, text, cuts, answer)
    assert answer.startswith(streamed.strip())
    assert screen == answer


@given(st.lists(st.integers(0, 60), max_size=6))
def test_reasoning_is_never_shown_and_an_abstention_is_held_back(found, cuts):
    reasoned = "<think>Hm [1], secret.</think>  You went home [2], and sat by the fire for more than an hour."
    answer = "You went home [1], and sat by the fire for more than an hour."
    streamed, screen = spoken(found, reasoned, sorted(min(c, len(reasoned)) for c in cuts), answer)
    assert streamed
    assert answer.startswith(streamed)
    assert screen == answer
    unknown = "UNKNOWN: nothing found\nI do not know [1], and nobody told me anything about it, I am afraid."
    assert spoken(found, unknown, sorted(min(c, len(unknown)) for c in cuts), "") == ("", "")


@pytest.mark.parametrize("text", ["Unknown to me, you went.", "UN headquarters.", "<thin> air"])
def test_what_only_begins_like_a_mark_is_shown(found, text):
    told = f"{text} That is what was said of it, and nothing more of it."
    assert spoken(found, told, range(1, len(told)), told)[0].startswith(text)


def test_a_quote_holds_whatever_its_case_spaces_and_quotation_marks(found):
    memory = replace(found.hits[0].memory, text="She said: “I’ll  be there”,\nat noon.")
    assert contains(memory.text, 'she said: "I\'ll be there", at NOON')
    assert not contains(memory.text, "I'll not be there")
    assert not contains(memory.text, " … ")
