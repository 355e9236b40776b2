"""What a page does with a chat fits what was answered last, also where the page has not heard of that yet."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace

import gradio as gr
import pytest

from graph.assistant import Assistant
from graph.learning.learner import Learner
from graph.state import Services
from graph.tab.answering import Answering
from graph.tab.chat_tab import ChatTab
from graph.tab.chats import open_new
from graph.tab.messages import Chat
from memory.bank.learning_queue import close_chats
from memory.search.indexer import Indexer
from memory.types import PersonaDraft, SessionDraft, TurnDraft
from support.chat_server import ChatServer

WINDOW = "a window"


@pytest.fixture
def before(services: Services) -> Chat:
    """A chat in which nothing was said yet."""
    return open_new(services.bank, services.bank.create_persona(PersonaDraft("Iris")), None)


@pytest.fixture
def answering(services: Services, before: Chat) -> Answering:
    """What answers in a page whose one window goes on holding that chat."""
    indexer = Indexer(services.bank, services.searcher.embedder)
    with gr.Blocks() as page:
        tab = ChatTab(page, gr.Tab(), Assistant(services), Learner(services.bank, indexer, "rules"), choose_model=False)
    held = SimpleNamespace(state_holder={WINDOW: {tab.chat._id: before, tab.trace.is_open._id: False}})
    return replace(tab.answering, page=held)


PAGE = SimpleNamespace(session_hash=WINDOW)


async def send(answering: Answering, chat: Chat, text: str, /, **message: object) -> None:
    """Send a message in a chat, and wait for the whole answer."""
    event = SimpleNamespace(**{"text": text, "edits": None, "chat": chat.id, **message})
    await answering.take(chat, None, False, None, "auto", event, PAGE)
    async for _ in answering.follow(chat, PAGE):
        pass


def test_only_what_changes_is_sent_to_the_page(answering: Answering, before: Chat) -> None:
    async def sent() -> list[object]:
        event = SimpleNamespace(text="My locker code is 5528.", edits=None, chat=before.id)
        await answering.take(before, None, False, None, "auto", event, PAGE)
        return [part async for update in answering.follow(before, PAGE) for part in update]

    parts, box = asyncio.run(sent()), answering.box
    assert parts.count(box.bubbles) > 1
    assert parts.count(box.go_on) <= 1


def test_undo_takes_back_an_answer_of_which_the_page_has_not_heard(answering: Answering, before: Chat) -> None:
    bank = answering.assistant.services.bank

    async def send_and_undo() -> str:
        await send(answering, before, "My locker code is 5528.")
        assert bank.memories(before.persona_id)
        return (await answering.forget_last(before))[answering.box.composer]["value"]

    assert asyncio.run(send_and_undo()) == "My locker code is 5528."
    assert bank.memories(before.persona_id) == []


def test_a_message_follows_an_answer_of_which_the_page_has_not_heard(answering: Answering, before: Chat) -> None:
    async def send_two() -> Chat:
        await send(answering, before, "My locker code is 5528.")
        await send(answering, before, "I adopted a greyhound.")
        return answering.ended[before.id].shown[answering.chat]

    said = [bubble.text for bubble in asyncio.run(send_two()).bubbles if bubble.role == "user"]
    assert said == ["My locker code is 5528.", "I adopted a greyhound."]


def test_a_chat_that_is_opened_before_an_answer_ends_shows_it(answering: Answering, before: Chat) -> None:
    async def open_at_the_end() -> list[str]:
        await send(answering, before, "My locker code is 5528.")
        opened = answering.ended[before.id].give_chat()
        answering.page.state_holder[WINDOW][answering.chat._id] = opened
        told = [update async for update in answering.follow(opened, PAGE)]
        heard = told[0][answering.chat]
        assert [update async for update in answering.follow(heard, PAGE)] == told[-1:]  # nothing more
        return [bubble.text for bubble in heard.bubbles if bubble.role == "user"]

    assert asyncio.run(open_at_the_end()) == ["My locker code is 5528."]


def test_a_message_is_refused_if_the_page_shows_another_chat_or_what_it_edits_is_gone(
    answering: Answering, before: Chat
) -> None:
    for message in ({"chat": "another"}, {"edits": 0}):
        with pytest.raises(gr.Error, match="has changed"):
            asyncio.run(send(answering, before, "My locker code is 5528.", **message))
    assert not answering.ended
    assert answering.assistant.services.bank.memories(before.persona_id) == []


def test_what_changed_of_a_chat_is_sent_before_the_page_is_given_another_and_not_after(
    answering: Answering, before: Chat
) -> None:
    other = replace(before, id="another")

    async def open_while_sending() -> list[str]:
        await send(answering, before, "My locker code is 5528.")
        running = answering.running[before.id] = answering.ended[before.id]
        sending, done = answering.follow(before, PAGE), []

        async def open_other() -> None:
            await answering.give(before, lambda: {answering.chat: other}, PAGE)
            done.append("another")

        assert answering.chat in await anext(sending)
        opening = asyncio.create_task(open_other())
        await asyncio.sleep(0.01)
        done.append("sent")
        running.show({answering.chat: before})
        following = asyncio.create_task(anext(sending))  # waits behind the opening, and sends no more
        await opening
        assert answering.chat not in await following
        return done

    assert asyncio.run(open_while_sending()) == ["sent", "another"]


def test_what_was_said_before_memoir_was_stopped_is_learned_from_by_the_model_that_was_chosen(
    services: Services, before: Chat
) -> None:
    bank = services.bank
    said = TurnDraft("You", "user", "My locker code is 5528.", datetime(2026, 3, 1, tzinfo=UTC), external_id="t1")
    bank.remember(before.persona_id, [SessionDraft((said,), said.said_at, external_id="c1", source="chat")])
    close_chats(bank)
    indexer = Indexer(bank, services.searcher.embedder)
    learner = Learner(bank, indexer, "auto")
    with ChatServer(lambda request: "{}") as server, gr.Blocks() as page:
        bank.choose("chat_model", server.model())
        ChatTab(page, gr.Tab(), Assistant(services), learner, choose_model=True)
        learner.start()
        assert learner.wait(60)
        learner.stop()
        assert server.requests
