"""What users told about themselves is said in the second person, and what is of others is not."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from graph.replies.facts import state_fact, told_me
from memory.types import Memory, Relation

DAY = datetime(2026, 5, 3, tzinfo=UTC)
ASKED_AT = datetime(2026, 11, 22, 21, 30, tzinfo=UTC)


def memory(attribute, what, store="profile", **changes):
    texts = {"text": what, "key": what, "speaker": "You", "attribute": attribute}
    known = Memory(store, **texts, said_at=DAY, id=1, persona_id=1, recorded_at=DAY)
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
    assert state_fact(memory(attribute, what), ASKED_AT) == f"{said} You told me on 3 May."


def test_a_relation_is_said_of_its_person():
    assert state_fact(memory("", "Ana", "relationship"), ASKED_AT) == "Ana is your sister. You told me on 3 May."


def test_what_is_of_others_or_over_is_quoted():
    assert state_fact(memory("home", "Porto", speaker="Ida"), ASKED_AT) == ""
    assert state_fact(memory("home", "Porto", valid_to=DAY), ASKED_AT) == ""
    assert state_fact(memory("", "likes tea"), ASKED_AT) == ""


@pytest.mark.parametrize(
    ("before", "said"),
    [
        (timedelta(hours=3), "today"),
        (timedelta(hours=22), "yesterday"),
        (timedelta(days=3), "on 19 November"),
        (timedelta(days=327), "on 30 December 2025"),
        (-timedelta(days=2), "on 24 November"),
    ],
)
def test_the_day_of_telling_is_said_as_a_person_would(before, said):
    assert told_me(ASKED_AT - before, ASKED_AT) == f"You told me {said}"


def test_the_day_of_telling_is_that_of_the_person_who_asks():
    in_tokyo = ASKED_AT.astimezone(timezone(timedelta(hours=9)))
    assert told_me(ASKED_AT - timedelta(hours=8), ASKED_AT) == "You told me today"
    assert told_me(ASKED_AT - timedelta(hours=8), in_tokyo) == "You told me yesterday"
    assert told_me(None, ASKED_AT) == "You told me"
