"""The card of a memory shows what is known of it, where it was said, and which answers relied on it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memory.bank.bank import Bank
from memory.bank.corrections import edit
from memory.bank.queries.deletion import select_session
from memory.forgetting import forget
from memory.tab.memory_card import render_memory
from memory.types import LearnedMemory, MemoryDraft, PersonaDraft, Quote, SessionDraft, TurnDraft

MAY = datetime(2023, 5, 8, tzinfo=UTC)
JUNE = MAY + timedelta(days=30)


@pytest.fixture
def bank(tmp_path):
    bank = Bank(tmp_path / "bank.db")
    bank.create_persona(PersonaDraft("Ana"))
    return bank


def tell(bank, text, at=MAY, place="Porto"):
    fact = MemoryDraft("profile", f"Lives in {place}", said_at=at, attribute="home", speaker="You")
    learned = (LearnedMemory(fact, (Quote(0, f"I live in {place}"),)),)
    bank.remember(1, [SessionDraft((TurnDraft("You", "user", text, at),), at, external_id=text, learned=learned)])
    return next(m for m in bank.memories(1, store="profile") if m.text == f"Lives in {place}")


def answered(bank, memory, question="Where do I live?", answer="In <b>Porto</b> [1]"):
    asked = TurnDraft("You", "user", question, JUNE, recallable=False)
    reply = TurnDraft("Ana", "assistant", answer, JUNE, recallable=False, cites=(memory.id, memory.id))
    bank.remember(1, [SessionDraft((asked, reply), JUNE, external_id="chat", source="chat")])


def test_the_words_a_fact_comes_from_are_marked_in_their_turn(bank):
    fact = tell(bank, "So I live in Porto, as you know.")
    assert "So <mark>I live in Porto</mark>, as you know." in render_memory(bank, fact)


def test_every_conversation_that_says_it_is_shown(bank):
    tell(bank, "I live in Porto, see.")
    fact = tell(bank, "Yes, I live in Porto.", JUNE)
    shown = render_memory(bank, fact)
    assert "Also said in 1 other conversation" in shown
    assert shown.index("see.") < shown.index("Yes, ")


def test_the_answers_that_relied_on_it_are_listed_and_nothing_in_them_is_markup(bank):
    fact = tell(bank, "I live in Porto, see.")
    assert "Answers that relied on it" not in render_memory(bank, fact)
    answered(bank, fact)
    shown = render_memory(bank, fact)
    assert "Where do I live? — In &lt;b&gt;Porto&lt;/b&gt; [1]" in shown
    ((question, answer),) = bank.citing_answers(1, fact.id, 10)
    assert (question, answer.role) == ("Where do I live?", "assistant")


def test_another_personas_answers_are_not_shown(bank):
    fact = tell(bank, "I live in Porto, see.")
    answered(bank, fact)
    other = bank.create_persona(PersonaDraft("Bea"))
    assert bank.citing_answers(other.id, fact.id, 10) == []
    assert bank.quotes(other.id, fact.id) == {}
    assert bank.memories_from_same_turns(other.id, fact.id) == []
    assert bank.chat_memories(other.id, "chat", 10) == []


def test_a_forgotten_answer_relied_on_nothing(bank):
    fact = tell(bank, "I live in Porto, see.")
    answered(bank, fact)
    (chat,) = [s.id for s in bank.sessions(1) if s.source == "chat"]
    forget.forget_selected(bank, [1], select_session(chat))
    assert bank.citing_answers(1, fact.id, 10) == []


def test_a_fact_says_since_when_it_holds_as_it_was_written(bank):
    fact = tell(bank, "I live in Porto.")
    assert "<dt>Valid</dt>" not in render_memory(bank, fact)
    edited = edit(bank, replace(fact, valid_from=datetime(2019, 1, 1, tzinfo=UTC)))
    assert "<dt>Valid</dt><dd>since 2019</dd>" in render_memory(bank, edited)


def test_an_outdated_fact_says_how_long_it_was_true(bank):
    fact = tell(bank, "I live in Porto.")
    tell(bank, "I live in Lisbon.", JUNE, "Lisbon")
    shown = render_memory(bank, bank.memory(1, fact.id))
    assert "<dt>Valid</dt><dd>from 8 May 2023 to 7 June 2023</dd>" in shown
    assert "Lives in Lisbon" in shown
