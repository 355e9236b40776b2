"""What users told about themselves is said in the second person, and what is of others is not."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from graph.replies.facts import state_fact
from memory.types import Memory, Relation

DAY = datetime(2026, 5, 3, tzinfo=UTC)


def memory(attribute, what, store="profile", **changes):
    known = Memory(1, 1, store, what, what, "You", attribute, None, "", DAY, DAY, None, None, None, "", "", "", None)
    return replace(known, relation=Relation("You", attribute or "sister", what), **changes)


@pytest.mark.parametrize(
    ("attribute", "what", "said"),
    [
        ("name", "Anna", "Your name is Anna."),
        ("home", "Porto", "You live in Porto."),
        ("occupation", "nurse", "You work as a nurse."),
        ("occupation", "optician", "You work as an optician."),
        ("birthday", "3rd of May", "Your birthday is the 3rd of May."),
        ("birthday", "3 May", "Your birthday is 3 May."),
        ("favourite tea", "mint", "Your favourite tea is mint."),
    ],
)
def test_a_fact_is_said_with_its_day(attribute, what, said):
    assert state_fact(memory(attribute, what)) == f"{said} You told me on 3 May 2026."


def test_a_relation_is_said_of_its_person():
    assert state_fact(memory("", "Ana", "relationship")) == "Ana is your sister. You told me on 3 May 2026."


def test_what_is_of_others_or_over_is_quoted():
    assert state_fact(memory("home", "Porto", speaker="Ida")) == ""
    assert state_fact(memory("home", "Porto", valid_to=DAY)) == ""
    assert state_fact(memory("", "likes tea")) == ""
