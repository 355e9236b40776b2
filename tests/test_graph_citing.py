"""What is shown of a chat model's answer is what it said, with the marks of the lines that it read."""

import re
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.readers.chain_of_note.prompts import PromptContent
from graph.readers.chain_of_note.reply_formats import cite, parse_words
from graph.state import Ask
from memory.search.quotes import contains
from memory.types import Hit


@pytest.fixture(scope="module")
def found(marlows_bank):
    persona = marlows_bank.persona("Marlow")
    hits = tuple(Hit(m, 1.0, {}) for m in marlows_bank.memories(persona.id)[:5])
    ask = Ask(persona, "Who?", datetime(2024, 7, 1, tzinfo=UTC), "chat")
    return PromptContent(ask, "Who?", (), hits, (1, 2), 2000)


PIECES = "You| went| home|[1]| [2]| [3, 1]| [9]|[|]| [x]|.|\n| 12|*|U|<".split("|")


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=12))
def test_marks_are_numbered_as_they_appear_and_all_else_stays(found, pieces):
    answer, citations, _ = cite("".join(pieces), (), found)
    assert [citation.number for citation in citations] == list(range(1, len(citations) + 1))
    marks = {"[1]", " [2]", " [3, 1]", " [9]"}
    said = "".join(piece for piece in pieces if piece not in marks)
    left = re.sub(r"\[\d+\]", "", answer)
    assert "".join(left.split()) == "".join(said.split())


def test_reasoning_is_never_shown_and_an_abstention_is_told_from_an_answer():
    assert parse_words("<think>Hm [1], secret.</think>  You went home [2].") == ("You went home [2].", None)
    unknown = "UNKNOWN: nothing found\nI do not know."
    assert parse_words(unknown) == ("I do not know.", "nothing found")


@pytest.mark.parametrize("text", ["Unknown to me, you went.", "UN headquarters.", "<thin> air"])
def test_what_only_begins_like_a_mark_is_shown(text):
    assert parse_words(text) == (text, None)


def test_a_quote_holds_whatever_its_case_spaces_and_quotation_marks(found):
    memory = replace(found.hits[0].memory, text="She said: “I’ll  be there”,\nat noon.")
    assert contains(memory.text, 'she said: "I\'ll be there", at NOON')
    assert not contains(memory.text, "I'll not be there")
    assert not contains(memory.text, " … ")
