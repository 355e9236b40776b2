"""What the user told is said back to them in the second person."""

import pytest

from graph.replies.second_person import second_person

SAID = {
    "I got my glasses": "you got your glasses",
    "im allergic to nuts": "you're allergic to nuts",
    "i was ill and my mum was too": "you were ill and your mum was too",
    "was I wrong?": "were you wrong?",
    "we're moving because our lease ends": "you're moving because your lease ends",
    "she gave it to me, it is mine now": "she gave it to you, it is yours now",
    "I've hurt myself, I’ll rest": "you've hurt yourself, you'll rest",
    "we lived in the US": "you lived in the US",
    "the red one": "the red one",
    "Mine, 30 of them": "yours, 30 of them",
    "i quit smoking last month btw": "you quit smoking last month",
    "my landlord put the rent up again, ugh lol!": "your landlord put the rent up again!",
    "i dont eat meat and tom cant cook": "you don't eat meat and tom can't cook",
    "we read about LOL dolls": "you read about LOL dolls",
    "": "",
}


@pytest.mark.parametrize(("told", "said"), SAID.items())
def test_the_speaker_becomes_you(told, said):
    assert second_person(told) == said


@pytest.mark.parametrize("told", ["I told you so", "is that your plan", "thank u so much"])
def test_what_speaks_to_somebody_is_not_turned(told):
    assert second_person(told) == ""
