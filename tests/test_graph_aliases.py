"""A person is found by name and by what they are to the user."""

import time
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from graph.understanding.aliases import names_by_kind, with_names
from memory.bank.queries.told import known_relations
from memory.types import LearnedMemory, MemoryDraft, PersonaDraft, Quote, Relation, SessionDraft, TurnDraft

PEOPLE = names_by_kind(
    [
        Relation("You", "husband", "Callum"),
        Relation("You", "supervisor", "Dr Whitfield"),
        Relation("You", "sister", "Wen"),
        Relation("Wen", "daughter", "Tilly"),
        Relation("You", "friend", "Will"),
        Relation("You", "cat", "Miso"),
        Relation("You", "cat", "Tofu"),
        *(Relation("You", "cousin", name) for name in ("Ana", "Ben", "Cleo")),
        Relation("Ben", "dog", "Rex"),
    ]
)


@pytest.mark.parametrize(
    ("asked", "full"),
    [
        ("what does my husband do?", "what does my husband Callum do?"),
        ("what's my husband's job", "what's my husband Callum's job"),
        ("when did my boss call", "when did my boss Dr Whitfield call"),
        ("how old is my niece", "how old is my niece Tilly"),
        ("is my sister's daughter at school", "is my sister's daughter Tilly at school"),
        ("is my sisters daughter at school", "is my sisters daughter Tilly at school"),
        ("how old is my sister's cat", "how old is my sister Wen's cat"),
        ("what do my cats eat", "what do my cats Miso Tofu eat"),
    ],
)
def test_a_question_names_people_with_their_names(asked, full):
    assert with_names(asked, PEOPLE) == full


@pytest.mark.parametrize(
    "asked",
    [
        "who is my husband?",
        "what's my sister's name",
        "is Callum my husband",
        "will you call me",
        "where does my cousin live",
        "what does my neighbour do",
    ],
)
def test_a_question_for_a_name_or_of_nobody_or_of_many_stays_as_it_is(asked):
    assert with_names(asked, PEOPLE) == asked


def test_the_people_of_somebody_else_are_not_the_users():
    people = names_by_kind([Relation("Tom", "wife", "Judy")])
    assert with_names("what does my wife do", people) == "what does my wife do"


def test_the_people_of_an_imported_history_are_the_users(services):
    persona = services.bank.create_persona(PersonaDraft("Ida"))
    said_at = datetime(2024, 5, 1, tzinfo=UTC)
    fact = MemoryDraft("relationship", "Comma is Noor's cat", said_at=said_at, speaker="Noor")
    learned = LearnedMemory(replace(fact, relation=Relation("Noor", "cat", "Comma")), (Quote(0, "my cat Comma"),))
    turn = TurnDraft("Noor", "user", "I fed my cat Comma", said_at)
    services.bank.remember(persona.id, [SessionDraft((turn,), said_at, external_id="old", learned=(learned,))])
    assert known_relations(services.bank, persona.id, said_at) == [Relation("You", "cat", "Comma")]


def test_lines_that_say_the_name_answer_a_question_about_the_husband(marlow):
    marlow.say("My husband is called Callum.")
    marlow.say("Callum mends lifts in Halstead.")
    for other in ("My sister sells paint.", "I was at the market.", "The lift at the market is broken."):
        marlow.say(other)
    found = marlow.again().say("what does my husband do for a living?", remember=False)
    dialogue = [hit.memory.text for hit in found.hits if hit.kept and hit.memory.store == "dialogue"]
    assert "Callum mends lifts in Halstead." in dialogue[:3]


def test_lines_that_say_what_somebody_is_answer_a_question_by_name(marlow):
    marlow.say("My supervisor is Dr Whitfield.")
    marlow.say("My supervisor is away until the frost is over.")
    marlow.say("It was cold at the lake.")
    found = marlow.again().say("Where is Dr Whitfield?", remember=False)
    assert "My supervisor is away until the frost is over." in [hit.memory.text for hit in found.hits[:3]]


def test_a_long_text_that_names_people_again_and_again_takes_no_time_that_grows_with_its_square():
    began = time.process_time()
    assert with_names("my cat and sister, or my boss. " * 3_000, PEOPLE).count("Miso Tofu") == 3_000
    assert time.process_time() - began < 1
