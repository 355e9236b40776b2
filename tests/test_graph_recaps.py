"""What was said is told back by its time, facts first, to the one who said it."""

from dataclasses import replace
from datetime import timedelta

import pytest

from graph.replies.second_person import said_to_user
from graph.understanding import acts
from graph.understanding.parts import KNOWN_OF_USER
from graph.understanding.requests import parse_recap
from memory.types import LearnedMemory, MemoryDraft, PersonaDraft, Quote, Relation, SessionDraft, TurnDraft


@pytest.fixture
def ida(services, marlow, at):
    """A chat with a persona who knows nothing."""
    return marlow.again(persona=services.bank.create_persona(PersonaDraft("Ida")), now=at(7, 1))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("What did I just tell you?", "just"),
        ("what did i just say", "just"),
        ("what did we talk about last time?", "last time"),
        ("what did we chat about in our last conversation", "last time"),
        ("what did we talk about?", "so far"),
        ("what have we discussed so far", "so far"),
        ("whats new with me", "so far"),
        ("what's going on in my life?", "so far"),
        ("what was my news again", "so far"),
        ("what have i told you today", "today"),
        ("What did I tell you this morning?", "today"),
    ],
)
def test_a_question_for_what_was_told(text, kind):
    assert parse_recap(text) == kind


@pytest.mark.parametrize(
    "text",
    [
        "what do you know about me?",
        "tell me everything you know about me",
        "so what all do u remember about me by now",
        "what have you learned about me",
        "show me all you have on me",
    ],
)
def test_a_question_for_all_that_is_known_about_oneself(text):
    assert acts.said(text).act == KNOWN_OF_USER


@pytest.mark.parametrize(
    "text",
    [
        "what did I just tell you about the fern?",
        "what do you know about Dana?",
        "what did we talk about in May?",
        "what did Dana say last time",
        "what did you just say",
        "what's new with you",
        "what was the news about the school",
        "what have I done today",
    ],
)
def test_a_question_for_something_in_particular(text):
    assert parse_recap(text) is None


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("i sold my boat", "You sold your boat."),
        ("I'm tired and we were late", "You're tired and you were late."),
        ("I was ill, it got me down!", "You were ill, it got you down!"),
        ("i start at 5am, i am up at 4 am", "You start at 5am, you are up at 4 am."),
        ("I like your hat", ""),
    ],
)
def test_what_was_said_in_the_second_person(said, told):
    assert said_to_user(said) == told


def test_what_is_known_about_the_user(ida):
    told = ("i love rowing", "My sister is called Wen.", "i live in leeds", "im allergic to wasps", "I'm a nurse")
    for text in (*told, "my brother and his wife expect twins in september"):
        ida.say(text)
    known = ida.again(now=ida.now + timedelta(days=3)).say("what do you know about me?")
    assert known.reading.answer.splitlines() == [
        "This is what I know about you:",
        "- You live in Leeds. [1]",
        "- You work as a nurse. [2]",
        "- Wen is your sister. [3]",
        "- You like rowing. [4]",
        "- You are allergic to wasps. [5]",
        "- September 2024: Your brother and his wife expect twins. [6]",
    ]
    assert [citation.number for citation in known.reading.citations] == [1, 2, 3, 4, 5, 6]


def test_what_was_told_just_now_today_and_last_time(ida):
    ida.say("I planted a quince tree.")
    ida.say("The gate is stuck.")
    assert ida.say("What did I just tell you?").reading.answer == "You just told me:\n- The gate is stuck. [1]"
    later = ida.again(now=ida.now + timedelta(days=2), chat_id="later")
    assert later.say("what have i told you today").reading.answer == "You haven't told me anything today."
    later.say("I sold the boat.")
    last = later.say("what did we talk about last time?").reading.answer
    assert last == "On 1 July 2024 you told me:\n- You planted a quince tree. [1]\n- The gate is stuck. [2]"
    assert later.say("what have i told you today").reading.answer == "Today you told me:\n- You sold the boat. [1]"


def test_of_two_names_the_latest_is_told(services, ida):
    said_at = ida.now - timedelta(days=9)
    fact = MemoryDraft("profile", "Name: Noor", said_at=said_at, speaker="Noor", attribute="name")
    learned = LearnedMemory(replace(fact, relation=Relation("Noor", "name", "Noor")), (Quote(0, "I am Noor"),))
    turn = TurnDraft("Noor", "user", "I am Noor", said_at)
    services.bank.remember(ida.persona.id, [SessionDraft((turn,), said_at, external_id="old", learned=(learned,))])
    ida.say("My name is Anna.")
    told = ida.say("what do you know about me?").reading.answer
    assert ("Anna" in told, "Noor" in told) == (True, False)


def test_who_is_known_is_told_without_the_rest(marlow):
    quill = marlow.again(persona=marlow.services.bank.create_persona(PersonaDraft("Quill")))
    quill.say("I live in Porto.")
    quill.say("My sister Ana is a vet.")
    told = quill.say("who do i know?").reading
    assert (told.answer.splitlines()[1:], len(told.citations)) == (["- Ana is your sister. [1]"], 1)


def test_nothing_later_than_the_moment_asked_about_is_told(ida):
    before = ida.now - timedelta(days=1)
    ida.say("My name is Anna.")
    asked = ida.again(now=before)
    assert "Anna" not in asked.say("what do you know about me?", remember=False).reading.answer
    assert "1 thing" not in asked.say("how much do you remember", remember=False).reading.answer
