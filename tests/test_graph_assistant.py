"""A turn streams typed events, costs at most two calls of the encoder, and few looks into the bank."""

import asyncio
import threading
import time
from dataclasses import replace

import pytest

from graph.assistant import Answer, Assistant
from graph.state import Token, TraceLine
from memory.bank import connection
from memory.bank.bank import Bank
from memory.search import indexer
from memory.search.searcher import Searcher
from memory.types import MemoryDraft, TurnDraft
from support.event_stream import events_of, events_until

QUESTION = "Where does the spare key of the boathouse hang?"


def test_steps_come_first_then_the_answer_in_words_then_as_a_whole(marlow):
    events = events_of(Assistant(marlow.services), marlow.asks(QUESTION))
    kinds = [type(event).__name__ for event in events]
    token = kinds.index("Token")
    assert kinds == ["TraceLine"] * token + ["Token", "TraceLine", "TraceLine", "Answer"]
    answer = events[-1]
    assert "".join(e.text for e in events if isinstance(e, Token)) == answer.reading.answer
    assert tuple(e for e in events if isinstance(e, TraceLine)) == answer.trace
    assert answer.stored.turns == 2


def test_waiting_for_the_answer_gives_the_last_event(marlow):
    ask = marlow.asks(QUESTION, remember=False)
    answer = Assistant(marlow.services).ask(ask)
    assert isinstance(answer, Answer)
    assert (answer.ask, answer.stored) == (ask, None)


def test_half_an_emoji_in_a_message_is_no_error(marlow):
    ask = replace(marlow.asks(f"\ud83d{QUESTION}\x00"), dialogue=(TurnDraft("You", "user", "Hello \udcff"),))
    answer = Assistant(marlow.services).ask(ask)
    assert "barometer" in answer.reading.answer
    assert answer.ask.text == f"\ufffd{QUESTION}"
    searcher = marlow.services.searcher
    assert [view.text for view in searcher.views(["boat\ud83d"])] == ["boat\ufffd"]


@pytest.fixture
def counted(marlow, embedder, monkeypatch):
    """Ask something; gives how often the encoder was called, a connection opened, and a statement of SQL run."""
    counts = {"encoded": 0, "opened": 0, "statements": 0}
    real = connection.open_bank

    def opened(path, **how):
        counts["opened"] += 1
        db = real(path, **how)
        # What the full-text index asks of its own tables is traced as comments.
        db.conn.set_trace_callback(lambda sql: counts.update(statements=counts["statements"] + (sql[:2] != "--")))
        return db

    class Counting:
        model, dimensions, ready = embedder.model, embedder.dimensions, True
        share_in_vocabulary = embedder.share_in_vocabulary

        def encode_query(self, texts):
            counts["encoded"] += 1
            return embedder.encode(texts)

    services = replace(marlow.services, searcher=Searcher(marlow.services.bank, Counting()))
    indexer.embed_all(services.bank, embedder)
    assistant = Assistant(services)
    monkeypatch.setattr(connection, "open_bank", opened)

    def ask(text, **more):
        counts.update(encoded=0, opened=0, statements=0)
        assistant.ask(replace(marlow.asks(text), **more))
        return dict(counts)

    return ask


@pytest.mark.parametrize(
    "text", [QUESTION, "I sold my lamp yesterday. Who bought it? Was it dear? When was that?", "Thanks!"]
)
def test_a_turn_calls_the_encoder_at_most_twice(counted, text):
    assert 1 <= counted(text)["encoded"] <= 2


def test_a_turn_opens_the_bank_once(counted):
    assert counted(QUESTION, remember=False)["opened"] == 1
    assert counted(QUESTION)["opened"] == 1
    assert counted("Thanks!", remember=False)["opened"] == 1


def test_the_statements_of_a_turn_grow_with_the_question_and_not_with_the_memory(counted, marlow, embedder):
    counted(QUESTION, remember=False)
    before = counted(QUESTION, remember=False)["statements"]
    assert before <= 48, before  # some seven of them look whether the bank is still of this version
    bank = marlow.services.bank
    bank.add_memories(marlow.persona.id, [MemoryDraft("world", f"The spare key number {n}.") for n in range(200)])
    indexer.embed_all(bank, embedder)
    counted(QUESTION, remember=False)
    assert counted(QUESTION, remember=False)["statements"] <= before + 5


def test_threads_share_one_assistant(marlow):
    assistant = Assistant(marlow.services)
    asks = {
        "When did I adopt Biscuit?": "3 March 2024",
        QUESTION: "barometer",
        "What did we seal the canoe with?": "pine tar",
        "What colour is my car?": "I don't know",
    }
    answers = {}

    def run(text):
        for _ in range(3):
            answers.setdefault(text, []).append(assistant.ask(marlow.asks(text, remember=False)).reading.answer)

    threads = [threading.Thread(target=run, args=(text,)) for text in asks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for text, expected in asks.items():
        assert len(answers[text]) == 3
        assert all(expected.lower() in answer.lower() for answer in answers[text])


def test_a_chat_that_is_broken_off_keeps_what_the_user_said_and_nothing_of_the_answer(marlow):
    bank = marlow.services.bank
    before = bank.counts(marlow.persona.id)
    events_until(Assistant(marlow.services), marlow.asks("I planted a quince tree."), lambda event: True)
    after = bank.counts(marlow.persona.id)
    assert (after["turns"] - before["turns"], after["sessions"] - before["sessions"]) == (1, 1)
    assert after["dialogue"] - before["dialogue"] == 1


def test_a_turn_that_is_cancelled_while_it_is_stored_is_stored_once(marlow, monkeypatch):
    bank, storing = marlow.services.bank, threading.Event()
    before, real = bank.counts(marlow.persona.id), Bank.remember

    def slow(*args):
        storing.set()
        time.sleep(0.2)
        return real(*args)

    monkeypatch.setattr(Bank, "remember", slow)

    async def cancelled():
        answering = asyncio.create_task(collect(Assistant(marlow.services), marlow.asks("I planted a quince tree.")))
        await asyncio.to_thread(storing.wait, 10)
        answering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await answering

    asyncio.run(cancelled())  # which also waits for the threads
    after = bank.counts(marlow.persona.id)
    assert after["dialogue"] - before["dialogue"] == 1
    assert [t.text for t in chat_turns(marlow)].count("I planted a quince tree.") == 1


async def collect(assistant, ask):
    return [event async for event in assistant.stream(ask)]


def chat_turns(chat):
    bank = chat.services.bank
    return [t for s in bank.sessions(chat.persona.id) if s.source == "chat" for t in bank.turns(chat.persona.id, s.id)]


@pytest.mark.parametrize("begun", [0, 1])
def test_events_end_without_an_answer_once_they_are_stopped(marlow, begun):
    async def stopped():
        stop, events = asyncio.Event(), []
        if not begun:
            stop.set()
        async for event in Assistant(marlow.services).stream(marlow.asks("I planted a quince tree."), stop):
            events.append(event)
            stop.set()
        return events

    assert [type(event) for event in asyncio.run(stopped())] == [TraceLine] * begun
    assert [t.text for t in chat_turns(marlow)] == ["I planted a quince tree."]
    assert "I planted a quince tree." in {m.text for m in marlow.services.bank.memories(marlow.persona.id)}


def test_a_chat_that_is_broken_off_once_it_is_stored_is_not_stored_again(marlow):
    bank = marlow.services.bank
    before = bank.counts(marlow.persona.id)["turns"]
    ask = marlow.asks("I planted a quince tree.")
    *_, last = events_until(Assistant(marlow.services), ask, lambda e: isinstance(e, TraceLine) and e.node == "persist")
    assert last.node == "persist"
    assert bank.counts(marlow.persona.id)["turns"] == before + 2


def test_a_chat_that_is_not_to_be_remembered_leaves_nothing_when_broken_off(marlow):
    before = marlow.services.bank.counts(marlow.persona.id)
    ask = marlow.asks("I planted a quince tree.", remember=False)
    events_until(Assistant(marlow.services), ask, lambda event: True)
    assert marlow.services.bank.counts(marlow.persona.id) == before


@pytest.mark.parametrize("text", ["When did I adopt Biscuit?", "What did I do in May?", "I took the canoe out."])
def test_how_far_the_ranking_is_shown_changes_no_answer(marlow, text):
    settings = marlow.services.settings
    deep = replace(marlow.services, settings=replace(settings, search=replace(settings.search, k=2, depth=500)))
    shallow = replace(marlow.services, settings=replace(settings, search=replace(settings.search, k=2)))
    ask = marlow.asks(text, remember=False)
    one, other = Assistant(deep).ask(ask), Assistant(shallow).ask(ask)
    assert one.reading == other.reading
    assert one.hits[: len(other.hits)] == other.hits
    assert len(one.hits) > len(other.hits)
