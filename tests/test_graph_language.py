"""The vocabulary that rules share: what people are to somebody, the slots of patterns, and the registry of facts."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from graph.language import patterns
from graph.language.facts import FACTS, kind_of
from graph.language.people import canonical, wider
from graph.learning.facts import facts
from graph.replies.facts import fact_to_user
from memory.types import Memory

JUNE = datetime(2026, 6, 15, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "same"),
    [
        ("Mum", "mother"),
        ("older brother", "brother"),
        ("sister's daughter", "niece"),
        ("wife's mum", "mother-in-law"),
        ("landlord", "landlord"),
        ("best mate", "friend"),
        ("labrador", "dog"),
        ("florist", "florist"),
    ],
)
def test_words_for_one_relation_are_one(kind, same):
    assert canonical(kind) == same


def test_somebody_is_found_by_a_wider_word():
    assert canonical("brother") in wider("sibling")
    assert canonical("kitten") in wider("pet")
    assert canonical("sibling") not in wider("brother")


def test_a_slot_stands_for_its_words_and_an_unknown_one_is_an_error():
    assert patterns.pattern(r"<MY>(?:<RELATIVE>|<ROLE>)\Z").search("my big sister")
    assert patterns.any_word("now|<DAY>").search("on Monday")
    with pytest.raises(KeyError):
        patterns.pattern("<NOBODY>")


def test_every_phrasing_is_used_and_every_one_that_is_used_is_written():
    used = set()
    for file in Path(patterns.__file__).parents[1].rglob("*.py"):
        source = file.read_text("utf-8")
        known = {name for topic in re.findall(r'phrasings\("(\w+)"\)', source) for name in patterns.phrasings(topic)}
        names = set(re.findall(r'_(?:FORMS|QUESTION|ANSWERS|FEELINGS|UPDATES|FOLLOW_UPS)\["(\w+)"\]', source))
        assert names <= known, file
        used |= names | set(re.findall(r'"(\w+)"', source))
    by_kind = ("expects", "recaps")
    written = {
        name for topic, names in patterns.load("phrasings.toml").items() if topic not in by_kind for name in names
    }
    assert written <= used


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ("I live in Porto", "You live in Porto."),
        ("I'm a nurse", "You work as a nurse."),
        ("my sister is called Wen", "Wen is your sister."),
        ("Ida's brother Tom is here", "Tom is Ida's brother."),
        ("my favourite tea is mint", "Your favourite tea is mint."),
        ("I hate olives", "You don't like olives."),
        ("I'm allergic to wasps", "You are allergic to wasps."),
        ("I've got an egg allergy", "You have an egg allergy."),
        ("I have no kids", "You have no kids."),
        ("we got married", "You are married."),
        ("I speak Welsh", "You speak Welsh."),
    ],
)
def test_a_fact_is_said_from_its_relation_whatever_its_text(told, said):
    (fact,) = facts(told, "You", JUNE)
    stored = Memory(fact.store, "x", "x", id=1, persona_id=1, recorded_at=JUNE, speaker="You", relation=fact.relation)
    assert fact_to_user(stored) == said


def test_every_kind_of_fact_can_be_stored_and_said():
    filled = dict.fromkeys(("what", "whose", "kind"), "x")
    for kind in FACTS.values():
        assert "x" in kind.stored.format(**filled)
        assert "x" in kind.said.format(**filled)
        assert not re.search(r"[{}]", kind.ask.format(**filled))
    assert kind_of(None, "profile") is None
