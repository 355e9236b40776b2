"""A persona's card gives a chat model example turns, and the chat its first message."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.replies.card import example_turns, first_message
from memory.types import Persona

EXAMPLES = """Iris is in the garden.
<START>
{{user}}: Hello.
Are you there?
{{char}}: Mind the smoke, {{user}}.
<start>
<BOT>: {{char}} waves.
Iris: So do I.
"""


def iris(**texts):
    return Persona("Iris", id=1, created_at=datetime(2024, 7, 1, tzinfo=UTC), **texts)


def test_example_dialogue_becomes_turns_of_the_user_and_the_persona():
    assert example_turns(iris(examples=EXAMPLES), "Noor") == (
        ("human", "Hello.\nAre you there?"),
        ("ai", "Mind the smoke, Noor."),
        ("ai", "Iris waves."),
        ("ai", "So do I."),
    )


def test_turns_may_begin_with_the_names_themselves():
    examples = "Noor: Is it C++?\nYou: Well?\nIris: No.\nTim: Hm."
    said = (("human", "Is it C++?"), ("human", "Well?"), ("ai", "No.\nTim: Hm."))
    assert example_turns(iris(examples=examples), "Noor") == said


@pytest.mark.parametrize(
    ("text", "named", "unnamed"),
    [
        ("Good morning, {{user}}. It rains.", "Good morning, Noor. It rains.", "Good morning. It rains."),
        ("{{user}}, come in.", "Noor, come in.", "Come in."),
        ("I take {{user}}'s coat.", "I take Noor's coat.", "I take your coat."),
        ("*{{char}} sees {{User}}*", "*Iris sees Noor*", "*Iris sees you*"),
        ("<USER>!", "Noor!", "You!"),
        ("", "", ""),
    ],
)
def test_the_first_message_has_the_names_filled_in(text, named, unnamed):
    assert first_message(iris(first_message=text), "Noor") == named
    assert first_message(iris(first_message=text), "") == unnamed


pieces = st.sampled_from(
    ["<START>", "{{user}}", "{{char}}", "<BOT>", ":", "\n", ",", "'s", "Iris", " ", "{{", "}}", "\\1"]
)
texts = st.lists(pieces | st.text(max_size=8), max_size=30).map("".join)


@given(texts, texts, texts)
def test_any_card_gives_turns_with_words_and_without_placeholders_of_its_own(name, user, text):
    persona = Persona(name, first_message=text, examples=text, id=1, created_at=datetime(2024, 7, 1, tzinfo=UTC))
    first_message(persona, user)
    for role, said in example_turns(persona, user):
        assert role in ("human", "ai")
        assert said == said.strip() != ""
        if "{" not in name + user:
            assert "{{user}}" not in said
            assert "{{char}}" not in said
