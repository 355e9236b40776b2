"""A follow-up is about whom and what the last question and its answer named."""

import pytest

from graph.training.recognisers import questions
from graph.understanding.question import answer_to, refers_back
from memory.types import TurnDraft


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
