"""A feeling or a scene brings up at most one memory that fits, with its source, and the persona can have it off."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from graph.assistant import Answer, Assistant
from graph.replies.phrases import NEWS, manner
from graph.state import TraceLine
from memory.bank.queries.deletion import select_session
from memory.errors import MemoirError
from memory.forgetting.forget import forget_selected
from memory.search import indexer
from memory.types import MemoryDraft, PersonaDraft, SessionDraft, TimeSpan, TurnDraft

NERVES = "I was so nervous before my piano exam that I shook. Breathing slowly behind the curtain helped me."
FEELING = "I'm so nervous about my driving test tomorrow, I can't stop shaking."
SCENE = "I'm swimming in the lake at dawn again with Olaf, all alone in the mist."


def told(chat, text, month, day, speaker="You", role="user", **more):
    session = SessionDraft((TurnDraft(speaker, role, text, **more),), chat.now.replace(month=month, day=day))
    chat.services.bank.remember(chat.persona.id, [session])


@pytest.fixture
def quill(services, marlow):
    """A chat with Quill, who was told of a fright in March."""
    chat = replace(marlow, persona=services.bank.create_persona(PersonaDraft("Quill")))
    told(chat, NERVES, 3, 3)
    told(chat, "The gutters are full of leaves and I'm waiting for the neighbour's ladder.", 3, 9)
    return chat


def traced(answer):
    return next(line.decided for line in answer.trace if line.node == "read")


def test_a_feeling_brings_up_the_memory_that_fits_with_its_source(quill):
    answer = quill.say(FEELING)
    acknowledged, reminded = answer.reading.answer.split("\n\n")
    assert acknowledged.startswith(tuple(NEWS["hard"]["plain"]))
    assert reminded == f"That reminds me: on 3 March 2024 you told me, “{NERVES}” [1]"
    (citation,) = answer.reading.citations
    assert (citation.number, citation.memory.text) == (1, NERVES)
    assert citation.quote in NERVES
    assert not answer.reading.abstained
    assert "brought up a memory: a feeling" in traced(answer)


@pytest.mark.parametrize("forgotten", ["the chat of the memory", "this chat"])
def test_what_is_said_while_another_window_forgets_a_chat_is_answered_and_kept(quill, forgotten):
    quill.say("My rowing boat is called Wren.")
    indexer.embed_all(quill.services.bank, quill.services.searcher.embedder)
    bank, persona = quill.services.bank, quill.persona.id
    gone = next(s for s in bank.sessions(persona) if (s.external_id == quill.chat_id) == (forgotten == "this chat"))

    async def answered():
        async for event in Assistant(quill.services).stream(quill.asks(FEELING)):
            if isinstance(event, TraceLine) and event.node == "retrieve":
                forget_selected(bank, [persona], select_session(gone.id))
        assert isinstance(event, Answer)
        return event.reading

    reading = asyncio.run(answered())
    assert reading.answer
    assert (NERVES in reading.answer) == (forgotten == "this chat")
    assert gone.id not in [session.id for session in bank.sessions(persona)]
    kept = next(s for s in bank.sessions(persona) if s.external_id == quill.chat_id)
    assert FEELING in [turn.text for turn in bank.turns(persona, kept.id)]


def test_what_is_brought_up_is_kept_and_all_else_is_dropped_as_unasked(quill):
    answer = quill.say(FEELING)
    kept = [hit.memory.text for hit in answer.hits if hit.kept]
    assert kept == [NERVES]
    assert {hit.dropped for hit in answer.hits if not hit.kept} == {"unasked"}


@pytest.mark.parametrize("text", ["Priya landed safely in Mumbai, thank god!", "Priya is back from Mumbai now."])
def test_no_loss_is_brought_up_and_nothing_of_the_same_day(quill, text):
    told(quill, "Bad news: Priya's grandad died last night, the funeral is in Mumbai.", 3, 20)
    told(quill, "Priya is flying to Mumbai tomorrow, I hope she lands safely.", quill.now.month, quill.now.day)
    indexer.embed_all(quill.services.bank, quill.services.searcher.embedder)
    answer = quill.say(text)
    assert not answer.reading.citations


@pytest.mark.parametrize("text", ["Comma has been fed.", "I bought two lamps today."])
def test_most_of_what_is_said_brings_nothing_up(quill, text):
    answer = quill.say(text)
    assert answer.reading.citations == ()
    assert "nothing brought up" in traced(answer)


@pytest.mark.parametrize("text", ["Thanks!", "Good morning", "My grandmother died last night."])
def test_small_talk_and_a_death_bring_nothing_up(quill, text):
    answer = quill.say(text)
    assert answer.reading.citations == ()
    assert "nothing was asked" in traced(answer)


def test_a_feeling_that_no_memory_fits_brings_nothing_up(quill):
    answer = quill.say("I'm so angry at the tax office, I could scream.")
    assert answer.reading.citations == ()
    assert "best match" in traced(answer)


def test_the_same_scene_again_brings_its_memory_up_whatever_is_felt(quill):
    told(quill, "Olaf and I swam in the lake at dawn, all alone in the mist, and saw a heron.", 4, 2)
    answer = quill.say(SCENE)
    assert "saw a heron" in answer.reading.answer
    assert "no feeling" in traced(answer)


def test_a_memory_is_not_brought_up_twice_in_one_chat(quill):
    assert quill.say(FEELING).reading.citations
    second = quill.say("I'm still so nervous about that driving test, my hands are shaking.")
    assert NERVES not in second.reading.answer
    quill.again(now=quill.now.replace(month=8))
    assert quill.again().say("I'm so nervous about the driving test, I am shaking.").reading.citations


def test_what_an_answer_has_quoted_is_not_brought_up_after_it(quill):
    (cited,) = quill.say("What was I nervous before?").reading.citations
    assert cited.memory.text == NERVES
    assert quill.say(FEELING).reading.citations == ()


def test_nothing_of_this_chat_is_brought_up(quill):
    chat = quill.again(persona=quill.services.bank.create_persona(PersonaDraft("Otto")))
    chat.say("I was so nervous before my piano exam that I shook, and slow breathing behind the curtain helped.")
    assert chat.say(FEELING).reading.citations == ()
    later = chat.again(chat_id="chat-3", now=chat.now + timedelta(days=1))
    assert later.say(FEELING).reading.citations


def test_words_said_before_are_not_said_back(quill):
    assert quill.say(NERVES).reading.citations == ()


def test_nothing_said_later_is_brought_up(quill):
    early = quill.again(now=quill.now.replace(month=2))
    assert early.say(FEELING, remember=False).reading.citations == ()


@pytest.mark.parametrize("ended", ["valid_to", "taken_back"])
def test_what_holds_no_more_or_is_taken_back_is_not_brought_up(quill, ended):
    with quill.services.bank.writing() as db:
        db.execute(f"UPDATE memories SET {ended} = '2024-05-01T00:00:00+00:00' WHERE text = ?", [NERVES])
    assert quill.say(FEELING).reading.citations == ()


def test_what_the_persona_said_itself_and_what_is_a_mere_fact_are_not_brought_up(services, marlow):
    chat = replace(marlow, persona=services.bank.create_persona(PersonaDraft("Otto")))
    told(chat, NERVES, 3, 3, speaker="Otto", role="assistant")
    services.bank.add_memories(chat.persona.id, [MemoryDraft("profile", "Is nervous before every driving test.")])
    assert chat.say(FEELING).reading.citations == ()


def test_a_persona_can_have_it_off_and_on_again(quill):
    bank = quill.services.bank
    silent = bank.change_persona(quill.persona.id, proactive=False)
    assert bank.persona(silent.id) == silent
    answer = quill.again(persona=silent).say(FEELING, remember=False)
    assert answer.reading.citations == ()
    assert "bringing up memories is off for this persona" in traced(answer)
    assert bank.change_persona(silent.id, proactive=True) == quill.persona


@pytest.mark.parametrize("name", ["warm", "playful", "formal"])
def test_it_is_brought_up_in_the_personas_manner(quill, name):
    spoken = quill.again(persona=replace(quill.persona, manner=name)).say(FEELING, remember=False).reading.answer
    assert manner(name).reminded.split("{")[0] in spoken


def test_what_was_brought_up_is_not_learned_as_new(quill):
    bank = quill.services.bank
    before = bank.counts(quill.persona.id)["dialogue"]
    assert quill.say(FEELING).reading.citations
    texts = [m.text for m in bank.memories(quill.persona.id)]
    assert bank.counts(quill.persona.id)["dialogue"] == before + 1
    assert texts.count(NERVES) == 1


def test_an_event_is_brought_up_with_its_day(quill, at):
    event = "Tilde trembled with nerves before the sailing test and passed it in the end."
    day = TimeSpan(at(5, 4, 0), at(5, 5, 0))
    chat = quill.again(persona=quill.services.bank.create_persona(PersonaDraft("Otto")))
    quill.services.bank.add_memories(chat.persona.id, [MemoryDraft("event", event, event=day)])
    assert f"4 May 2024, “{event}” [1]" in chat.say(FEELING).reading.answer


def test_a_question_brings_nothing_up_beside_its_answer(quill):
    answer = quill.say("Where is the ladder?")
    assert NERVES not in answer.reading.answer


def test_a_persona_that_is_not_there_cannot_be_switched(services):
    with pytest.raises(MemoirError):
        services.bank.change_persona(99, proactive=False)


def test_a_long_chat_of_long_messages_brings_a_memory_up_like_any_other(quill):
    for day, said in enumerate(("I bought new curtains.", "The bread was stale.", "My phone needs a new screen."), 10):
        told(quill, said, 3, day)
    page = "“The weather was dull, " * 4_000
    quill.dialogue += [TurnDraft("You", "user", page), TurnDraft("Quill", "assistant", page)] * 10
    assert quill.say(FEELING).reading.citations
