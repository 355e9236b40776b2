"""A question for a list or a count is answered with the distinct things that were told, with their sources."""

import re
from dataclasses import replace

import pytest

from graph.readers.stating import MAX_WORDS
from memory.types import MemoryDraft, PersonaDraft, Relation, SessionDraft, TurnDraft

TRIPS = (
    (2, 3, "I made a trip to the salt mines at Hallein."),
    (3, 9, "I made a trip to Lisbon and ate far too many custard tarts."),
    (3, 10, "My trip to Lisbon, with all those custard tarts, was made in three days."),
    (5, 20, "Last week I made a trip to the lighthouse at Cape Wrath. The bus broke down."),
)


@pytest.fixture
def quill(services, marlow):
    """A chat with Quill, who was told of three trips, of one of them twice."""
    chat = replace(marlow, persona=services.bank.create_persona(PersonaDraft("Quill")))
    told(chat, TRIPS)
    return chat


def told(chat, said, speaker="You", role="user"):
    sessions = [
        SessionDraft((TurnDraft(speaker, role, text),), chat.now.replace(month=month, day=day))
        for month, day, text in said
    ]
    chat.services.bank.remember(chat.persona.id, sessions)


def ask(chat, text):
    return chat.again().say(text, remember=False).reading


def test_a_count_says_the_number_of_what_was_found_and_names_each_in_order_of_time(quill):
    answer = ask(quill, "How many trips have I made?").answer
    assert answer.startswith("I know of 3: ")
    assert answer.index("salt mines") < answer.index("tarts") < answer.index("lighthouse")


def test_what_tells_the_same_is_one_item_with_both_its_sources(quill):
    told(quill, [(6, 9, "I made another trip to the salt mines.")])
    reading = ask(quill, "How many trips have I made?")
    marks = re.findall(r"\[(\d+)\]", reading.answer)
    assert reading.answer.startswith("I know of 3: ")
    assert re.search(r"the salt mines \[\d\]\[\d\]", reading.answer)
    assert marks == ["1", "2", "3", "4"] == [str(c.number) for c in reading.citations]


def test_what_is_cited_stands_in_the_memory(quill):
    for question in ("How many trips have I made?", "Which trips have I made?"):
        reading = ask(quill, question)
        assert len(reading.citations) >= 3
        assert all(c.quote in c.memory.text for c in reading.citations)
        assert len(reading.answer.split()) <= MAX_WORDS


def test_a_list_names_no_number(quill):
    assert not ask(quill, "Which trips have I made?").answer.startswith("I know of")


def test_a_number_that_was_told_is_given_and_nothing_counted(quill):
    told(quill, [(6, 1, "All in all I made seven trips by train.")])
    answer = ask(quill, "How many trips have I made by train?").answer
    assert "seven" in answer.lower()
    assert "I know of" not in answer


def test_a_number_of_something_else_is_no_count(quill):
    told(quill, [(6, 2, "I scored 67 at the quiz after my holiday.")])
    answer = ask(quill, "How many trips have I made so far?").answer
    assert answer.startswith("I know of ")
    assert "67" not in answer


def test_one_line_that_lists_several_is_the_list(quill):
    told(quill, [(6, 1, "The instruments that I play are the cello, the drums and the accordion.")])
    reading = ask(quill, "Which instruments do I play?")
    assert "the cello, the drums and the accordion" in reading.answer.lower()
    assert len(reading.citations) == 1


def test_remarks_that_name_nothing_are_no_items(quill):
    told(quill, [(6, 1, "Trips are great!")])
    assert ask(quill, "How many trips have I made?").answer.startswith("I know of 3:")


def test_facts_of_a_list_are_listed(services, marlow):
    chat = replace(marlow, persona=services.bank.create_persona(PersonaDraft("Otto")))
    drafts = [
        MemoryDraft("relationship", f"{name} is your colleague.", relation=Relation("You", "colleague", name))
        for name in ("Petra Lind", "Olaf Berg")
    ]
    services.bank.add_memories(chat.persona.id, drafts)
    answers = ("Petra Lind [1] and Olaf Berg [2].", "Olaf Berg [1] and Petra Lind [2].")
    assert ask(chat, "Who are my colleagues?").answer in answers


def test_what_is_not_known_is_not_listed(quill):
    assert ask(quill, "Which operas has Zebulon written?").abstained


def test_allergies_told_in_one_line_are_all_named(services, marlow):
    chat = replace(marlow, persona=services.bank.create_persona(PersonaDraft("Otto")))
    chat.say("Allergic to peanuts, dust and cats")
    answer = ask(chat, "what am i allergic to").answer.lower()
    assert all(what in answer for what in ("peanuts", "dust", "cats"))


def test_what_is_no_count_is_not_counted(quill):
    told(quill, [(6, 3, "I spent 40 euros on the trip to Hallein."), (6, 4, "I spent 90 euros on the trip to Lisbon.")])
    assert "I know of 2:" not in ask(quill, "How much have I spent on trips?").answer
