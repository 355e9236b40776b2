"""A persona's card gives a chat model example turns, and the chat its first message; a persona knows itself by it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.learning.learner import learn_from_sessions
from graph.replies.card import OF_ASSISTANT, example_turns, fill_names
from memory.search.indexer import embed_all
from memory.types import Persona, PersonaDraft, SessionDraft, TurnDraft

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
    assert fill_names(text, iris(), "Noor") == named
    assert fill_names(text, iris(), "") == unnamed


pieces = st.sampled_from(
    ["<START>", "{{user}}", "{{char}}", "<BOT>", ":", "\n", ",", "'s", "Iris", " ", "{{", "}}", "\\1"]
)
texts = st.lists(pieces | st.text(max_size=8), max_size=30).map("".join)


@given(texts, texts, texts)
def test_any_card_gives_turns_with_words_and_without_placeholders_of_its_own(name, user, text):
    persona = Persona(name, first_message=text, examples=text, id=1, created_at=datetime(2024, 7, 1, tzinfo=UTC))
    fill_names(persona.first_message, persona, user)
    for role, said in example_turns(persona, user):
        assert role in ("human", "ai")
        assert said == said.strip() != ""
        if "{" not in name + user:
            assert "{{user}}" not in said
            assert "{{char}}" not in said


@pytest.fixture
def rosa(services, marlow):
    lines = ("I was born in Trieste, but Bologna is my home since 1961.", "My sister Carla is a midwife.")
    persona = services.bank.create_persona(PersonaDraft("Nonna Rosa", kept_apart=False))
    turns = tuple(TurnDraft("Nonna Rosa", "other", text, marlow.now) for text in lines)
    services.bank.remember(persona.id, [SessionDraft(turns, marlow.now, "", "import")])
    learn_from_sessions(services.bank, "rules", now=marlow.now + timedelta(days=2))
    embed_all(services.bank, services.searcher.embedder)
    return replace(marlow, persona=persona, now=marlow.now + timedelta(days=3))


def test_a_persona_knows_itself_by_its_own_life(rosa):
    born = rosa.say("where were you born?").reading
    assert "I was born in Trieste" in born.answer
    assert born.citations
    assert "Bologna is my home" in rosa.say("where do you live now?").reading.answer
    assert "My sister Carla" in rosa.say("what's your sister's name?").reading.answer
    assert rosa.again().say("who is carla?").reading.answer == "Carla is my sister. [1]"
    introduced = rosa.again().say("hi! who are you?").reading
    assert "I'm Nonna Rosa. " in introduced.answer
    assert "I was born in Trieste." in introduced.answer
    assert "keep" not in introduced.answer


def test_a_persona_knows_itself_by_its_card(services, marlow):
    card = "My running coach. {{char}} grew up in Busan and lives in Cardiff. Strict but kind."
    kim = replace(marlow, persona=services.bank.create_persona(PersonaDraft("Kim", description=card)))
    kim.say("my knee is a bit sore today")
    answer = kim.say("where do you live?").reading.answer
    assert answer == "My description says: “Kim grew up in Busan and lives in Cardiff.”"
    assert "My running coach." in kim.say("who are you?").reading.answer
    assert "sore" not in kim.say("what colour is your hair?").reading.answer


def test_a_program_is_asked_for_what_it_was_told_and_has_no_life(services, marlow):
    described = PersonaDraft("Notes", description=OF_ASSISTANT)
    notes = replace(marlow, persona=services.bank.create_persona(described))
    notes.say("the twins are due in March")
    notes.say("thx you're a star")
    assert "March" in notes.again(chat_id="2").say("did you write down when the twins are due?").reading.answer
    assert not notes.say("are you real?").reading.citations
