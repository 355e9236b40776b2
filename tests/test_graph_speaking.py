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


def spoken(found, text, cuts):
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    said = []
    stream = AnswerStream(found, said.append)
    for piece in pieces:
        stream.feed(piece)
    stream.end()
    return "".join(said)


WORDS = st.lists(
    st.sampled_from("You| went| home|[1]| [2]| [3, 1]| [9]|[|]| [x]|.|\n| 12|*|U|<".split("|")),
    min_size=1,
    max_size=12,
).map("".join)


@given(WORDS, st.data())
def test_however_it_is_cut_the_stream_is_the_answer_with_its_marks_numbered(found, text, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    assert spoken(found, text, cuts).strip() == cite(parse_words(text)[0], (), found).answer


@given(st.lists(st.integers(0, 60), max_size=6))
def test_reasoning_is_never_shown_and_an_abstention_is_held_back(found, cuts):
    reasoned = "<think>Hm [1], secret.</think>  You went home [2]."
    assert spoken(found, reasoned, sorted(min(c, len(reasoned)) for c in cuts)) == "You went home [1]."
    unknown = "UNKNOWN: nothing found\nI do not know [1]."
    assert spoken(found, unknown, sorted(min(c, len(unknown)) for c in cuts)) == ""


@pytest.mark.parametrize("text", ["Unknown to me, you went.", "UN headquarters.", "<thin> air", "U", "<"])
def test_what_only_begins_like_a_mark_is_shown(found, text):
    assert spoken(found, text, range(1, len(text))) == text


def test_a_quote_holds_whatever_its_case_spaces_and_quotation_marks(found):
    memory = replace(found.hits[0].memory, text="She said: “I’ll  be there”,\nat noon.")
    assert contains(memory.text, 'she said: "I\'ll be there", at NOON')
    assert not contains(memory.text, "I'll not be there")
    assert not contains(memory.text, " … ")
