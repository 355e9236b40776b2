"""What a message states, what it asks, and how it is looked for, told by one call of the encoder."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from graph.nodes.classify import classify
from graph.understanding.classifier import STORES
from graph.understanding.message import MAX_SENTENCES
from memory.search.searcher import Searcher
from memory.types import TurnDraft


def classified(services, ask):
    return asyncio.run(classify({"ask": ask}, SimpleNamespace(context=services)))


@pytest.fixture
def message(marlow):
    """What classifying a message, after what the user said before it, gives."""

    def of(text, *before, **settings):
        services = replace(marlow.services, settings=replace(marlow.services.settings, **settings))
        ask = replace(marlow.asks(text), dialogue=tuple(TurnDraft("You", "user", said) for said in before))
        return classified(services, ask)["message"]

    return of


def test_a_question_states_nothing(message):
    asked = message("When did I adopt Biscuit?")
    assert asked.classes.is_question
    assert asked.statements == ()
    assert asked.question.text == "When did I adopt Biscuit?"


def test_a_statement_is_stated_whole(message):
    told = message("I planted a quince tree.")
    assert not told.classes.is_question
    assert told.statements == ("I planted a quince tree.",)


def test_a_statement_with_a_question_mark_asks(message):
    assert message("I sold the canoe on Sunday?").classes.is_question


TOLD = (
    "They landed on Saturday afternoon, she sent a picture of rain.",
    "Priya has been offered a post in Glasgow. She told me at the Old Man of Hoy, so that I couldn't run off.",
    "Nine pianos out of the calf shed, and into the sail loft by four o'clock. I paid him for the whole eight weeks.",
    "She was only two. I'm sitting in the bike shed and I don't know what to do with myself.",
)


@pytest.mark.parametrize("text", TOLD)
def test_what_closes_with_a_full_stop_is_told(message, text):
    told = message(text)
    assert not told.classes.is_question
    assert told.statements


@pytest.mark.parametrize(
    "text", ["Tell me about the boathouse.", "what did Olaf repair", "I'd like to know who repaired the canoe."]
)
def test_what_asks_without_a_question_mark_still_asks(message, text):
    assert message(text).classes.is_question


@pytest.mark.parametrize("text", ["." * 100_000, "a" + '."' * 50_000 + "x", "“" * 100_000, "a. " * 33_000 + "b"])
def test_a_page_of_marks_is_classified_like_any_message(message, text):
    assert message(text).classes.likeliest_kind


def test_small_talk_neither_states_nor_asks(message):
    for text in ("Thanks!", "How are you?", "Good morning"):
        assert message(text).classes.likeliest_kind == "smalltalk"
        assert message(text).statements == ()


def test_what_is_told_and_what_is_asked_in_one_message_are_kept_apart(message):
    both = message("I planted a quince tree yesterday. When did I adopt Biscuit?")
    assert both.statements == ("I planted a quince tree yesterday.",)
    assert both.question.text == "When did I adopt Biscuit?"
    assert both.classes.is_question
    assert both.subject.times == ()


def test_nothing_of_a_long_message_is_left_out(message):
    told = [f"I planted tree number {n}." for n in range(2 * MAX_SENTENCES)]
    assert " ".join(message(" ".join(told)).statements) == " ".join(told)


def test_a_question_that_names_nothing_is_put_after_the_last_words_that_did(message):
    before = ("Who is Zebulon?", "Where did I find Biscuit?", "And why was that?")
    asked = message("And when was that?", *before)
    assert asked.question.text == "Where did I find Biscuit? And when was that?"
    assert message("And when was that?").question.text == "And when was that?"


@pytest.mark.parametrize("text", ["What is my name?", "How old am I?"])
def test_a_question_of_common_words_does_not_refer_back(message, text):
    assert message(text, "Where did I find Biscuit?").question.text == text


def test_a_question_that_names_something_stands_alone_but_is_also_looked_for_in_its_context(message):
    asked = message("Who repaired the canoe?", "I went out on the lake.")
    assert asked.question.text == "Who repaired the canoe?"
    assert [(v.text, v.weight) for v in asked.views] == [
        ("Who repaired the canoe?", 1.0),
        ("I went out on the lake. Who repaired the canoe?", 1.0),
    ]


def test_what_the_assistant_said_is_looked_up(marlow):
    marlow.dialogue.append(TurnDraft("Marlow", "assistant", "The regatta was won by Tilde."))
    asked = asyncio.run(
        classify({"ask": marlow.asks("Where does she live?")}, SimpleNamespace(context=marlow.services))
    )["message"]
    assert [(v.text, v.weight) for v in asked.views] == [
        ("Where does she live?", 1.0),
        ("The regatta was won by Tilde. Where does she live?", 1.0),
    ]


def test_a_statement_is_looked_up_with_all_that_was_said_before_it(message):
    told = message("I cannot stop shaking.", "They took Bo to the hospital.")
    assert not told.classes.is_question
    assert len({view.weight for view in told.views}) == 1


def test_a_statement_is_no_follow_up_although_it_says_it(message):
    told = message("But I still liked it.", "The parade was long.", "Ada had a stall there.")
    assert "The parade was long. Ada had a stall there. But I still liked it." in [view.text for view in told.views]


def test_a_profile_is_of_those_whose_memory_it_is(message):
    assert message("What is Bo Lindqvist's job?").classes.stores["profile"] == 0
    assert message("What is your job?").classes.stores["profile"] > 0.5
    assert message("What is Marlow's job?").classes.stores["profile"] > 0.5


def test_without_a_classifier_every_store_is_as_likely(message):
    stores = message("When did I adopt Biscuit?", classifier="none").classes.stores
    assert stores == dict.fromkeys(STORES, 1 / len(STORES))


def test_the_times_that_are_asked_about_are_read_from_when_it_is_asked(message, marlow):
    (time,) = message("What did I do last month?").subject.times
    assert (time.span.start.month, time.span.start.year) == (marlow.now.month - 1, marlow.now.year)


def test_one_call_of_the_encoder_is_enough(marlow, embedder):
    calls = []

    class Counting:
        model, dimensions = embedder.model, embedder.dimensions

        def encode_query(self, texts):
            calls.append(list(texts))
            return embedder.encode(texts)

    services = replace(marlow.services, searcher=Searcher(marlow.services.bank, Counting()))
    marlow.dialogue.append(TurnDraft("You", "user", "I bought a lamp."))
    text = "I sold it again. Who bought it? Was it Olaf? Thank you."
    done = classified(services, marlow.asks(text))
    assert len(calls) == 1
    assert np.linalg.norm(done["message"].question.vector) == pytest.approx(1, abs=1e-5)


def test_a_question_about_a_speaker_is_looked_up_in_the_first_person(message, embedder):
    asked = message("What instruments does Tilde play?")
    assert asked.subject.names == ("Tilde",)
    assert asked.question.text == asked.views[0].text == "What instruments does Tilde play?"
    np.testing.assert_allclose(asked.views[0].vector, embedder.encode(["What instruments does I play?"])[0], atol=1e-5)
    np.testing.assert_allclose(asked.question.vector, embedder.encode([asked.question.text])[0], atol=1e-5)


@pytest.mark.parametrize("name", ["Olaf", "Petra", "Zebulon"])
def test_who_is_only_talked_of_keeps_their_name(message, embedder, name):
    text = f"What did {name} repair?"
    asked = message(text)
    assert asked.subject.names == ()
    np.testing.assert_allclose(asked.views[0].vector, embedder.encode([text])[0], atol=1e-5)


def test_who_is_spoken_to_is_not_asked_about(message):
    assert message("Marlow, when did I adopt Biscuit?").subject.names == ()
    assert message("Where is my key, Marlow?").subject.names == ()
    assert message("What did Marlow ask me about the canoe?").subject.names == ("Marlow",)


def test_a_name_is_of_those_asked_about_only_if_the_question_holds_it(message):
    assert message("I spoke to Tilde yesterday. When did Olaf visit?").subject.names == ()
    assert message("I spoke to Olaf yesterday. When did Tilde win?").subject.names == ("Tilde",)


def test_a_question_with_my_is_about_the_one_who_asks(message):
    assert message("When did I adopt Biscuit?").subject.about_self
    assert not message("When was Biscuit adopted?").subject.about_self


def test_what_is_told_is_looked_up_with_what_both_said(marlow):
    marlow.dialogue += [
        TurnDraft("You", "user", "I feel low."),
        TurnDraft("Marlow", "assistant", "Is it the rain again?"),
    ]
    done = asyncio.run(
        classify({"ask": marlow.asks("I took the canoe out.")}, SimpleNamespace(context=marlow.services))
    )
    views = done["message"].views
    assert {view.weight for view in views} == {1.0}
    assert views[-1].text == "I feel low. Is it the rain again? I took the canoe out."


def test_without_views_only_the_message_is_looked_up(message):
    assert [v.text for v in message("Who repaired the canoe?", "I went out.", views=False).views] == [
        "Who repaired the canoe?"
    ]
