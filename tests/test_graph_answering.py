"""What a page does with a chat fits what was answered last, also where the page has not heard of that yet."""

from __future__ import annotations

import asyncio
from dataclasses import replace
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
from memory.search.indexer import Indexer
from memory.types import PersonaDraft

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
        tab = ChatTab(
            page, gr.Tab(), Assistant(services), indexer, Learner(services.bank, indexer, "rules"), choose_model=False
        )
    held = SimpleNamespace(state_holder={WINDOW: {tab.chat._id: before, tab.trace.is_open._id: False}})
    return replace(tab.answering, page=held)


async def send(answering: Answering, chat: Chat, text: str) -> None:
    async for _ in answering.answer(text, chat, None, False, None, "auto", SimpleNamespace(session_hash=WINDOW)):
        pass


def test_undo_takes_back_an_answer_of_which_the_page_has_not_heard(answering: Answering, before: Chat) -> None:
    bank = answering.assistant.services.bank

    async def send_and_undo() -> str:
        await send(answering, before, "My locker code is 5528.")
        assert bank.memories(before.persona_id)
        return (await answering.forget_last(before))[answering.box.composer].value

    assert asyncio.run(send_and_undo()) == "My locker code is 5528."
    assert bank.memories(before.persona_id) == []


def test_a_message_follows_an_answer_of_which_the_page_has_not_heard(answering: Answering, before: Chat) -> None:
    async def send_two() -> Chat:
        await send(answering, before, "My locker code is 5528.")
        await send(answering, before, "I adopted a greyhound.")
        return answering.ended[before.id].shown[answering.chat]

    said = [bubble.text for bubble in asyncio.run(send_two()).bubbles if bubble.role == "user"]
    assert said == ["My locker code is 5528.", "I adopted a greyhound."]
