"""A follow-up is about whom and what the last question and its answer named."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from graph.assistant import Assistant
from graph.state import Ask, Services
from graph.training.recognisers import questions
from graph.understanding.classifier import Classifier
from graph.understanding.question import answer_to, refers_back
from memory.bank.bank import Bank
from memory.embedding import e5
from memory.embedding.embedder import Embedder
from memory.search.indexer import embed_all
from memory.search.searcher import Searcher
from memory.types import PersonaDraft, TurnDraft


def dialogue(*said):
    return [TurnDraft("", "assistant" if n % 2 else "user", text) for n, text in enumerate(said)]


@pytest.mark.parametrize(
    "text",
    [
        "did it go well?",
        "and where was that?",
        "what did it cost",
        "when?",
        "and Petra's?",
        "and the blue one",
        "so what about english",
    ],
)
def test_what_names_no_thing_or_leaves_out_what_is_asked_of_it_refers_back(text):
    assert refers_back(text)


@pytest.mark.parametrize(
    "text",
    [
        "what does my bike cost",
        "is it true that Anna moved",
        "where do I work",
        "what's on this week?",
        "And Petra got a new dog yesterday",
        "so I bought a kettle for 90 pounds",
    ],
)
def test_what_names_its_thing_does_not(text):
    assert not refers_back(text)


@pytest.mark.quality
def test_most_follow_ups_that_were_held_out_are_recognised():
    held_out = questions(held_out=True)
    found = {
        kind: [refers_back(text) for text, follows in held_out.items() if follows == kind] for kind in (True, False)
    }
    assert sum(found[True]) >= 0.8 * len(found[True])
    assert sum(found[False]) <= 0.03 * len(found[False])


def test_what_was_answered_to_a_question_is_read_with_the_one_that_goes_on_from_it():
    said = dialogue(
        "whose dog is it", "You told me today: “It is Petra's” [1]", "and the cat", "Huw's. You told me. [1]"
    )
    assert answer_to("whose dog is it", said) == "It is Petra's"
    assert answer_to("and the cat", said) == "Huw's."
    assert answer_to("and the hen", said) == ""


def test_a_follow_up_finds_the_line_about_whom_the_answer_named(marlow):
    marlow.say("My boss is called Dana.")
    marlow.say("Dana repairs church organs on Sundays.")
    marlow.say("It rained on the market.")
    later = marlow.again()
    later.say("who is my boss?", remember=False)
    found = later.say("what does she repair?", remember=False)
    assert "Dana repairs church organs on Sundays." in [h.memory.text for h in found.hits if h.kept][:3]


def test_what_leaves_out_the_question_is_asked_as_the_one_before(marlow):
    for told in (
        "The lamp from the flea market was 12 pounds.",
        "I paid 90 pounds for the kettle.",
        "The stove hisses.",
    ):
        marlow.say(told)
    later = marlow.again()
    later.say("how much was the lamp?", remember=False)
    later.say("and the stove?", remember=False)
    assert "90 pounds" in later.say("and the kettle?", remember=False).reading.answer


@pytest.mark.skipif(not e5.is_installed(), reason="the encoder is not installed")
def test_what_is_asked_after_a_statement_is_read_by_itself(tmp_path):
    bank = Bank(tmp_path / "bank.db")
    services = Services(bank, Searcher(bank, Embedder(e5.NAME)), Classifier.load(e5.NAME))
    for told, asked, answer in (
        ("the wifi password is heron22", "what's the password?", "Heron22."),
        ("dentist on friday at 11", "when's the dentist?", "at 11."),
        ("i put the passports in the loft", "where are they?", "in the loft"),
    ):
        persona = bank.create_persona(PersonaDraft(answer))
        ask = Ask(persona, told, datetime(2026, 11, 22, 12, tzinfo=UTC), "chat")
        reply = Assistant(services).ask(ask).reading.answer
        embed_all(bank, services.searcher.embedder)
        later = replace(ask, text=asked, dialogue=tuple(dialogue(told, reply)), remember=False)
        assert refers_back(asked)
        assert answer in Assistant(services).ask(later).reading.answer
