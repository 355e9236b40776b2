"""What was told to one persona is answered by another, with its place; a persona that is kept apart knows nothing."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from graph.tab.chat_box import describe_persona
from graph.tab.evidence import render_sources_of
from graph.tab.messages import PastAnswer
from memory.bank.queries.chats import find_chat
from memory.types import PersonaDraft


@pytest.fixture
def talks(marlow: Any, at: Any) -> tuple[Any, Any]:
    """A chat with Lena on 3 May, and one with Memoir two days later."""
    bank = marlow.services.bank
    lena, memoir = (bank.create_persona(PersonaDraft(name, kept_apart=False)) for name in ("Lena", "Memoir"))
    with_lena = marlow.again(persona=lena, now=at(5, 3), chat_id="lena")
    with_lena.say("I keep the spare key under the blue flowerpot.")
    with_lena.say("I live in Porto.")
    return with_lena, marlow.again(persona=memoir, now=at(5, 5), chat_id="memoir")


def test_what_was_told_to_one_is_answered_by_another_with_its_place(talks: tuple[Any, Any]) -> None:
    _, memoir = talks
    reading = memoir.say("Where is the spare key?").reading
    assert "blue flowerpot" in reading.answer
    assert "You told Lena on 3 May" in reading.answer
    (cited,) = (citation.memory for citation in reading.citations)
    given = PastAnswer("", ((1, cited.id, ""),))
    shown = render_sources_of(memoir.services.bank, memoir.persona.id, given)
    assert "You, to Lena" in shown
    assert "I keep the spare key under the blue flowerpot." in shown
    known = memoir.again(chat_id="m2").say("What do you know about me?").reading.answer
    assert "You live in Porto." in known


def test_an_empty_chat_says_that_what_others_were_told_is_known(talks: tuple[Any, Any]) -> None:
    _, memoir = talks
    bank = memoir.services.bank
    assert "Knows what you told the others" in describe_persona(memoir.services, memoir.persona)
    apart = bank.create_persona(PersonaDraft("Apart"))
    assert "remembers nothing yet" in describe_persona(memoir.services, apart)


def test_a_correction_said_to_one_holds_for_the_other(talks: tuple[Any, Any]) -> None:
    lena, memoir = talks
    lena.say("My dentist is on 3 June.")
    assert "3 June" in memoir.say("When is my dentist?").reading.answer
    memoir.say("No wait, it's on 4 June.")
    for chat in (lena, memoir):
        answer = chat.again(chat_id=f"{chat.chat_id}-2", now=memoir.now).say("When is my dentist?").reading.answer
        assert "4 June" in answer
        assert "3 June" not in answer


def test_forgetting_by_name_reaches_the_other_chat(talks: tuple[Any, Any]) -> None:
    lena, memoir = talks
    memoir.say("Where is the spare key?")
    assert memoir.say("Forget that.").stored is not None
    assert "flowerpot" not in lena.again(chat_id="l2", now=memoir.now).say("Where is the spare key?").reading.answer


def test_a_later_fact_told_to_another_is_the_one_that_holds(talks: tuple[Any, Any]) -> None:
    lena, memoir = talks
    memoir.say("I live in Faro now.")
    for chat in (lena, memoir):
        answer = chat.again(chat_id="where", now=memoir.now).say("Where do I live?").reading.answer
        assert "Faro" in answer
        assert "Porto" not in answer


def test_what_is_kept_apart_answers_from_its_own_chats_only(talks: tuple[Any, Any]) -> None:
    lena, memoir = talks
    bank = memoir.services.bank
    bank.change_persona(lena.persona.id, kept_apart=True)
    assert "flowerpot" not in memoir.say("Where is the spare key?").reading.answer
    memoir.say("My locker code is 4417.")
    assert "4417" not in lena.again(chat_id="l2", now=memoir.now).say("What is my locker code?").reading.answer
    assert find_chat(bank, "lena") is not None


def test_what_a_persona_said_itself_is_not_known_to_another(marlow: Any, at: Any) -> None:
    bank = marlow.services.bank
    bank.change_persona(marlow.persona.id, kept_apart=False)
    memoir = marlow.again(persona=bank.create_persona(PersonaDraft("Memoir", kept_apart=False)), chat_id="m")
    assert isinstance(memoir.now, datetime)
    answer = memoir.say("Who did I repair the canoe with?").reading
    assert "Olaf" in answer.answer
    hits = memoir.say("What a band! Good work. Did the canoe leak?").hits
    assert {hit.memory.text for hit in hits if hit.memory.told_to} >= {"Yes, badly. We sealed it with pine tar."}
    assert not {"What a band!", "Good work.", "Did the canoe leak?"} & {hit.memory.text for hit in hits}
