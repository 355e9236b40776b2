"""All that the user says is remembered, whole and once; a reply and a forgetful chat leave no memory."""

import asyncio
import sqlite3
import uuid
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graph.nodes import persist as node
from graph.nodes.classify import classify
from graph.nodes.persist import exchange
from graph.state import Reading, Services
from memory.bank import sessions
from memory.bank.bank import Bank
from memory.search.searcher import Searcher
from memory.types import PersonaDraft


def memories(chat):
    """What a chat with somebody new left behind, the oldest first."""
    return chat.services.bank.memories(chat.persona.id)[::-1]


@pytest.fixture
def quill(services, marlow):
    """A chat with somebody who knows nothing yet."""
    return replace(marlow, persona=services.bank.create_persona(PersonaDraft("Quill")))


def test_a_statement_is_remembered_with_its_date_and_found_after_a_restart(quill, embedder):
    quill.say("I planted a quince tree yesterday.")
    (kept,) = memories(quill)
    assert (kept.store, kept.speaker, kept.event_text) == ("dialogue", "You", "yesterday")
    assert kept.event.start.isoformat() == "2024-06-30T00:00:00+00:00"
    bank = Bank(quill.services.bank.path)
    restarted = Services(bank, Searcher(bank, embedder), quill.services.classifier)
    answer = quill.again(services=restarted, persona=bank.persona("Quill")).say("When did I plant the quince tree?")
    assert "30 June 2024" in answer.reading.answer
    assert [c.memory.id for c in answer.reading.citations] == [kept.id]


@pytest.mark.parametrize(
    "text",
    [
        "I started at the bakery on Monday and the party is on 20 December.",
        "I started at the bakery on Monday. The party is on 20 December.",
    ],
)
def test_a_message_of_two_dates_is_dated_by_neither_and_each_of_its_events_by_its_own(quill, text):
    assert "24 June" not in quill.say(text).reading.answer
    dated = [memory for memory in memories(quill) if memory.store != "profile"]
    told = sorted((memory.store, memory.event and memory.event.start.day) for memory in dated)
    assert told == [("dialogue", None), ("event", 20), ("event", 24)]
    later = quill.again(chat_id="later")
    assert "24 June 2024" in later.say("When did I start at the bakery?", remember=False).reading.answer
    assert "20 December 2024" in later.say("When is the party?", remember=False).reading.answer
    for question, thing in (("What is on 20 December?", "party"), ("What did I do last Monday?", "bakery")):
        (citation,) = later.say(question, remember=False).reading.citations
        assert thing in citation.memory.text


@pytest.mark.parametrize("text", ["I'm stuck at home until Friday.", "I haven't slept since Friday."])
def test_an_open_stretch_is_no_date_of_what_happened(quill, text):
    quill.say(text)
    assert [memory.event for memory in memories(quill)] == [None]


@pytest.mark.parametrize(
    "text",
    [
        "I'm allergic to nuts, ok?",
        "My boss Dana quit, what should I do?",
        "we adopted a cat called Miso last week and I can't sleep, any tips?",
        "When did I plant the quince tree?",
        "Good morning!",
        "I sold the tree?",
        "write me a poem about Rex",
    ],
)
def test_what_is_said_is_remembered_as_typed_whatever_its_kind(quill, text):
    quill.say(text)
    assert [(m.text, m.speaker) for m in memories(quill) if m.store == "dialogue"] == [(text, "You")]


def test_news_with_a_question_in_it_answers_a_later_question(quill):
    quill.say("My boss Dana quit, what should I do?")
    quill.say("we adopted a cat called Miso last week and I can't sleep, any tips?")
    later = quill.again(chat_id="later")
    assert "Dana" in later.say("Who quit?").reading.answer
    assert "Miso" in later.say("What is our cat called?").reading.answer


MESSAGES = st.builds(
    lambda words, mark: " ".join(words) + mark,
    st.lists(st.text("abdeghiklmnoprstuvwyäéñçжлщюαλω", min_size=3, max_size=10), min_size=2, max_size=25),
    st.sampled_from(["", ".", "?", "!", "??", ", ok?", ", right?"]),
)


@pytest.mark.slow
@given(texts=st.lists(MESSAGES, min_size=1, max_size=5, unique=True), data=st.data())
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_message_is_found_again_by_its_own_words(services, marlow, texts, data):
    quill = replace(marlow, persona=services.bank.create_persona(PersonaDraft(f"Quill {uuid.uuid4()}")))
    for text in texts:
        quill.say(text)
    text = data.draw(st.sampled_from(texts))
    found = quill.again(chat_id="later").say(text.rstrip("?!., "), remember=False)
    assert text in [hit.memory.text for hit in found.hits]


def test_a_reply_is_never_recalled(quill):
    quill.say("I planted a quince tree.")
    quill.say("What did I plant?")
    assert [m.speaker for m in memories(quill)] == ["You", "You"]
    answer = quill.say("What did I plant?")
    assert {h.memory.speaker for h in answer.hits} == {"You"}


def test_one_chat_is_one_session(quill):
    quill.say("I planted a quince tree.")
    quill.say("Thanks!")
    quill.again().say("What did I plant?")
    sessions = quill.services.bank.sessions(quill.persona.id)
    assert [(s.external_id, s.turn_count, s.source) for s in sessions] == [("chat-1", 4, "chat"), ("chat-2", 2, "chat")]
    assert sessions[0].title == "I planted a quince tree."


def test_a_forgetful_chat_writes_nothing(quill):
    def state():
        with quill.services.bank.reading() as db:
            revision = db.conn.execute("SELECT value FROM revision").fetchone()
        conn = sqlite3.connect(quill.services.bank.path)
        dump = list(conn.iterdump())
        conn.close()
        return revision, dump

    quill.say("I planted a quince tree.")
    quill.say("What did I plant?", remember=False)  # embeds what the message before it left
    before = state()
    for text in ("My name is Noor.", "What did I plant?", "Thanks!"):
        answer = quill.say(text, remember=False)
        assert answer.stored is None
        assert answer.trace[-1].decided == "not remembered, as asked"
    assert state() == before


def test_facts_are_learned_with_the_turn_that_said_them(quill):
    quill.say("My name is Noor.")
    quill.say("I moved to Lisbon. It is lovely here.")
    facts = {m.text: m for m in memories(quill) if m.store == "profile"}
    assert set(facts) == {"Name: Noor", "Lives in Lisbon"}
    (turn,) = quill.services.bank.sources(quill.persona.id, facts["Lives in Lisbon"].id)
    assert (turn.text, turn.role) == ("I moved to Lisbon. It is lovely here.", "user")


def test_the_users_name_is_known_again(quill):
    quill.say("My name is Noor.")
    assert "Noor" in quill.say("What is my name?").reading.answer


def test_the_newer_home_closes_the_older(quill, at):
    quill.say("I live in Porto.")
    quill.again(now=at(8, 1)).say("I moved to Lisbon.")
    homes = {m.text: m for m in memories(quill) if m.attribute == "home"}
    porto, lisbon = homes["Lives in Porto"], homes["Lives in Lisbon"]
    assert (porto.valid_to, porto.superseded_by, lisbon.valid_to) == (at(8, 1), lisbon.id, None)
    found = {m.memory.text for m in quill.again(now=at(8, 2)).say("Where do I live?", remember=False).hits}
    assert "Lives in Lisbon" in found
    assert "Lives in Porto" not in found


def test_a_fact_told_twice_in_one_breath_is_learned_once(quill):
    quill.say("My sister Ana is here. My sister Ana is funny.")
    assert [m.text for m in memories(quill) if m.store == "relationship"] == ["Ana is your sister"]


def test_a_question_teaches_no_fact(quill):
    quill.say("Do you know if my name is Noor?")
    assert [m.store for m in memories(quill)] == ["dialogue"]


def test_a_guess_and_an_open_stretch_are_no_date(quill):
    quill.say("I planted a quince tree recently.")
    quill.say("I repaired the fence before May.")
    assert [m.event for m in memories(quill)] == [None, None]


def holders(chat):
    """Who is what to the user now."""
    current = [memory for memory in memories(chat) if memory.valid_to is None and memory.retracted_at is None]
    return sorted(memory.text for memory in current if memory.store == "relationship")


@pytest.mark.parametrize(
    "change",
    [
        "My boss Marieke quit; my new boss is Tom.",
        "I have a new boss, Tom.",
        "My boss is Tom now.",
        "Tom is my new boss.",
    ],
)
def test_a_new_holder_of_what_one_has_one_of_ends_the_one_before(quill, change):
    for text in ("My boss is called Marieke.", "My friend Kim has a boss.", "Anna's boss Bo is nice.", change):
        quill.say(text)
    assert holders(quill) == ["Bo is Anna's boss", "Kim is your friend", "Tom is your boss"]
    (before,) = [memory for memory in memories(quill) if memory.text == "Marieke is your boss"]
    (now,) = [memory for memory in memories(quill) if memory.text == "Tom is your boss"]
    assert before.valid_to == now.valid_from


@pytest.mark.parametrize("kind", ["wife", "fiancée", "landlord", "line manager"])
def test_of_any_two_who_follow_each_other_the_last_holds(quill, kind):
    for name in ("Ana", "Zoe", "Ana"):
        quill.say(f"My new {kind} is called {name}.")
    assert holders(quill) == [f"Ana is your {kind}"]


@pytest.mark.parametrize("kind", ["sister", "friend", "colleague", "dog"])
def test_of_those_of_whom_one_has_several_all_hold(quill, kind):
    for name in ("Ana", "Zoe"):
        quill.say(f"My {kind} is called {name}.")
    assert holders(quill) == [f"Ana is your {kind}", f"Zoe is your {kind}"]


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("My boss Dana left the company.", []),
        ("My old boss Dana called.", []),
        ("My boss Dana left the room.", ["Dana is your boss"]),
        ("My boss Dana quit smoking.", ["Dana is your boss"]),
        ("My other boss Tim is nicer.", ["Dana is your boss", "Tim is your boss"]),
    ],
)
def test_who_left_is_no_longer_what_they_were(quill, text, held):
    quill.say("My boss is called Dana.")
    quill.say(text)
    assert holders(quill) == held


def test_the_name_of_another_is_not_taken_for_the_users(quill):
    quill.say("My name is Roz.")
    quill.say("My ferret is called Biscuit.")
    quill.say("Biscuit here, 43, plumber.")
    assert "Your name is Roz" in quill.say("What is my name?").reading.answer


def drafted(chat, text):
    state = {"ask": chat.asks(text)}
    runtime = type("Runtime", (), {"context": chat.services})
    return exchange(state["ask"], asyncio.run(classify(state, runtime))["message"], Reading("Noted."))


def test_an_exchange_stored_twice_is_stored_once(quill):
    draft = drafted(quill, "I moved to Lisbon.")
    bank = quill.services.bank
    first = bank.remember(quill.persona.id, [draft])
    again = bank.remember(quill.persona.id, [draft])
    assert (first.turns, first.memories) == (2, 2)
    assert (again.sessions, again.turns, again.memories) == (0, 0, 0)


def test_the_same_words_said_again_are_another_memory(quill):
    quill.say("I fed the cat.")
    quill.say("I fed the cat.")
    assert len(memories(quill)) == 2


def test_a_turn_is_one_transaction(quill):
    def revision():
        with quill.services.bank.reading() as db:
            return db.conn.execute("SELECT value FROM revision").fetchone()[0]

    quill.say("Good morning!", remember=False)  # embeds what waited
    before = revision()
    quill.say("I moved to Lisbon. My name is Noor.")
    assert revision() == before + 1


def test_a_turn_that_cannot_be_stored_leaves_nothing(quill, monkeypatch):
    broken = replace(drafted(quill, "I moved to Lisbon."), source="nowhere")
    monkeypatch.setattr(node, "exchange", lambda *_: broken)
    with pytest.raises(Exception, match="CHECK"):
        quill.say("I moved to Lisbon.")
    assert set(quill.services.bank.counts(quill.persona.id).values()) == {0}


def test_the_indexer_is_woken(quill):
    woken = []
    services = replace(quill.services, wake_indexer=lambda: woken.append(1))
    quill.again(services=services).say("I planted a quince tree.")
    quill.again(services=services).say("I planted a quince tree.", remember=False)
    assert len(woken) == 1


def test_a_long_message_is_remembered_in_parts_and_the_part_is_cited(quill):
    walk = "We walked along the canal and watched the herons. The boats were moored two deep. "
    quill.say(walk * 60 + "My locker code is 4471.")
    for dish in ("toast", "soup", "rice", "pie", "eggs", "plums", "beans"):
        quill.say(f"I had {dish} for lunch.")
    (citation,) = quill.again().say("What is my locker code?").reading.citations
    assert citation.memory.text.endswith("My locker code is 4471.")
    assert len(citation.memory.text) <= sessions.PART


@given(st.text(alphabet="ab .!?\n。", max_size=4000))
def test_the_parts_of_a_long_message_hold_all_of_its_words_in_order(text):
    parts = sessions.parts_of(text)
    assert "".join("".join(parts).split()) == "".join(text.split())
    assert all(part in text for part in parts)
    assert len(parts) == 1 or max(map(len, parts)) <= sessions.PART
