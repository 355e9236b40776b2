"""What people tell of themselves becomes facts; what is unsure, asked, or means something else hardly ever does."""

import json
import random
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.learning.fact_reader import LABELS, read, tokens_of
from graph.learning.facts import facts, facts_and_ends, stated_facts
from graph.training.facts import example_of, in_lower_case, with_other_names
from memory.bank.bank import Bank
from memory.types import PersonaDraft

CASES = Path(__file__).parent / "data" / "told_facts.jsonl"
JULY = datetime(2024, 7, 1, 10, tzinfo=UTC)

MIN_PRECISION, MIN_RECALL = 0.84, 0.88
"""Of what is read, and of what is told."""


def texts(said, speaker="Tilde"):
    return [fact.text for fact in facts(said, speaker, JULY)]


def values(facts):
    """The relation and the value of facts, as counted."""
    return Counter((relation, what.casefold(), ends) for relation, what, ends in facts)


@pytest.mark.quality
def test_most_of_what_is_told_is_read_and_little_else():
    rows = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
    found = [values((f.relation, f.what, f.ended) for f in each) for each in read([row["text"] for row in rows])]
    told = [values((f["relation"], f["what"], bool(f.get("ends"))) for f in row["facts"]) for row in rows]
    right = sum((each & wanted).total() for each, wanted in zip(found, told, strict=True))
    assert right / sum(map(Counter.total, found)) >= MIN_PRECISION
    assert right / sum(map(Counter.total, told)) >= MIN_RECALL


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("my husbands name is callum", ["Callum is your husband"]),
        ("im meeting my sister ana", ["Ana is your sister"]),
        ("Sister is called Wen, boss is called Dana.", ["Wen is your sister", "Dana is your boss"]),
        ("My cats Miso and Tofu are asleep.", ["Miso is your cat", "Tofu is your cat"]),
        ("My freind Anders is learning the tuba.", ["Anders is your friend"]),
        ("I live in Porto.", ["Lives in Porto"]),
        ("i live in leeds", ["Lives in Leeds"]),
        ("I'm a nurse.", ["Works as nurse"]),
        ("I'm allergic to peanuts, dust and cats.", ["Allergic to peanuts", "Allergic to dust", "Allergic to cats"]),
        ("my favourite colour is green", ["Favourite colour: green"]),
        ("My birthday is on the 4th of May.", ["Birthday: 4th of May"]),
        ("its my birthday tomorrow", ["Birthday: 2 July"]),
    ],
)
def test_a_fact_is_written_down_from_the_words_that_tell_it(said, known):
    assert texts(said, "You") == known


def test_somebody_belongs_to_whom_the_words_say():
    assert texts("We have a parrot called Coco and a dog called Bruno.") == [
        "Coco is Tilde's parrot",
        "Bruno is Tilde's dog",
    ]
    assert "Jo is Dave's wife" in texts("My mate Dave came with his wife Jo.")


@pytest.mark.parametrize(
    "said",
    [
        "Is my dog called Rex?",
        "If I moved to Lisbon I would be happy.",
        "My sister lives in Leeds.",
        "I don't live in Porto.",
        "I'm a bit tired.",
        "My name is on the list.",
        "",
        "我住在上海",
    ],
)
def test_what_is_not_so_of_the_speaker_is_no_fact(said):
    assert texts(said) == []


def test_what_is_no_more_ends_a_fact():
    (fact,) = facts_and_ends("I no longer live in Porto.", "Tilde", JULY)
    assert (fact.memory.text, fact.ends) == ("Lives in Porto", True)
    assert facts("I no longer live in Porto.", "Tilde", JULY) == []


def test_a_fact_carries_the_sentences_that_tell_it():
    said = "Guess what. We got a kitten! She's called Biscuit. It rains."
    (fact,) = facts_and_ends(said, "Tilde", JULY)
    assert fact.quotes[0].words == "We got a kitten! She's called Biscuit."
    assert fact.memory.key == "Biscuit is Tilde's kitten. We got a kitten! She's called Biscuit."


def test_those_present_are_spoken_to():
    said = "my father, Ida, laughs a lot"
    assert list(stated_facts(said, read([said])[0], "You", JULY, 0, ("You", "Ida"))) == []


def test_a_move_of_long_ago_does_not_close_where_one_lives_now(tmp_path):
    bank = Bank(tmp_path / "bank.db")
    persona = bank.create_persona(PersonaDraft("Marlow"))
    bank.add_memories(persona.id, facts("I live in Porto.", "Tilde", JULY))
    bank.add_memories(persona.id, facts("I moved to Rome in 2005.", "Tilde", JULY.replace(month=8)))
    held = {m.text: m for m in bank.memories(persona.id)}
    assert held["Lives in Porto"].valid_to is None
    assert held["Lives in Rome"].valid_from == datetime(2005, 1, 1, tzinfo=UTC)
    assert held["Lives in Rome"].valid_to == JULY


def test_a_long_text_is_read_to_its_end_in_parts():
    text = "It was a long and quiet day at the sea, and nothing came of it. " * 60 + "I live in Porto."
    (fact,) = read([text])[0]
    assert text[slice(*fact.place)] == fact.what == "Porto"


@given(st.text(max_size=200))
def test_any_text_can_be_read(text):
    for fact in facts_and_ends(text, "Tilde", JULY):
        assert fact.memory.text
        assert fact.memory.store in ("profile", "relationship")
        assert fact.quotes[0].words in text


def test_a_row_teaches_the_same_words_in_haste_and_with_other_names():
    row = {
        "text": "Sam's wife Jo and my dog Rex",
        "facts": [
            {"relation": "{kind}", "what": "Jo", "kind": "wife", "whose": "Sam"},
            {"relation": "{kind}", "what": "Rex", "kind": "dog"},
        ],
    }
    for shown in (row, in_lower_case(row), with_other_names(row, ["Noor"], random.Random(1))):
        example, ((_, offsets),) = example_of(shown), tokens_of([shown["text"]])
        told = {}
        for label, (start, end) in zip(example.labels, offsets, strict=True):
            if label:
                told[LABELS[label]] = told.get(LABELS[label], "") + shown["text"][start:end]
        names = "".join(fact["what"] for fact in shown["facts"])
        assert told == {
            "other": shown["facts"][0]["whose"],
            "kind of another's": "wife",
            "kind": "dog",
            "{kind}": names,
        }
        assert len(example.links) == 3  # Jo, Sam's wife, and Rex
