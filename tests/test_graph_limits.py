"""A reply is bounded in its length, its repetitions and its time, whatever the engine does."""

import asyncio
import json
from pathlib import Path

import pytest

from graph.models import limits
from graph.models.calls import ModelFailed, stream_reply
from graph.models.limits import MAX_CHARACTERS_PER_TOKEN, without_loop
from graph.models.registry import chat_model
from support.chat_server import ChatServer, Half

TALK = [("system", "Be brief."), ("human", "Hello?")]
ENDLESS = [f"word{n}" for n in range(5000)]


def test_a_server_that_ignores_the_bound_is_cut_off():
    with ChatServer(" ".join(ENDLESS)) as server:
        reply = asyncio.run(stream_reply(chat_model(server.model()), TALK, max_tokens=20))
    assert (len(reply.text), reply.cut) == (20 * MAX_CHARACTERS_PER_TOKEN, True)


def test_a_reply_that_reached_its_bound_is_marked_as_cut():
    with ChatServer(Half("The key hangs behind", "end", finish="length")) as server:
        reply = asyncio.run(stream_reply(chat_model(server.model()), TALK, max_tokens=4))
    assert (reply.text, reply.cut) == ("The key hangs behind", True)


def test_a_model_that_only_reasoned_is_said():
    with ChatServer(Half("", "end", finish="length")) as server, pytest.raises(ModelFailed, match="does not reason"):
        asyncio.run(stream_reply(chat_model(server.model()), TALK))


def test_a_reply_that_takes_too_long_is_cut_at_what_came(monkeypatch):
    monkeypatch.setattr(limits, "TOTAL_SECONDS", 0.5)
    with ChatServer(Half(" ".join(ENDLESS), "end", pause=0.02)) as server:
        reply = asyncio.run(stream_reply(chat_model(server.model()), TALK))
        assert server.left.wait(10)
    assert reply.cut
    assert reply.text.startswith("word0 word1")


def test_a_reply_that_does_not_begin_is_given_up(monkeypatch):
    monkeypatch.setattr(limits, "FIRST_TEXT_SECONDS", 0.3)
    with ChatServer(Half("", "stall")) as server, pytest.raises(ModelFailed, match=r"no text came within 0 s.*faster"):
        asyncio.run(stream_reply(chat_model(server.model()), TALK))


@pytest.mark.parametrize("case", json.loads((Path(__file__).parent / "data" / "model_loops.json").read_text()))
def test_a_reply_of_a_real_model_that_repeats_itself_is_ended_after_the_first_time(case):
    with ChatServer(case["reply"]) as server:
        reply = asyncio.run(stream_reply(chat_model(server.model()), TALK))
    assert reply.cut
    assert reply.text == case["kept"]


def test_a_list_that_repeats_itself_is_left_to_its_schema():
    text = json.dumps({"answer": ["Lyon"] * 40})
    with ChatServer(text, "noise " * 1000) as server:
        model = chat_model(server.model())
        schema = {"type": "object", "properties": {"answer": {"type": "array", "items": {"type": "string"}}}}
        reply = asyncio.run(stream_reply(model, TALK, schema=schema))
        assert (reply.text, reply.cut) == (text, False)
        with pytest.raises(ModelFailed, match="it only repeated"):  # a server that ignores the schema
            asyncio.run(stream_reply(model, TALK, schema=schema))


@pytest.mark.parametrize(
    "text",
    [
        "No, no, no, no! I never said that.",
        "\n".join(f"- 2024-05-{day:02d}: ran {day % 7 + 3} km along the river" for day in range(1, 30)),
        "\n".join(f"{n}. Call {name} about the boat" for n, name in enumerate(["Anna", "Ben", "Carl", "Dora"], 1)),
        "| name | born | lives in | likes |\n|" + "-------|" * 8 + "\n| Anna | 1990 | Oslo | tea |",
        json.dumps(
            {"notes": [{"memory": n, "quote": f"line {n}", "note": "does not say"} for n in range(12)]}, indent=2
        ),
        "Row, row, row your boat, gently down the stream. Merrily, merrily, merrily, merrily, life is but a dream.",
        "-" * 80,
    ],
    ids=["no", "days", "numbers", "table", "JSON", "song", "rule"],
)
def test_an_ordinary_list_is_no_loop(text):
    assert [without_loop(text[:end]) for end in range(len(text) + 1)] == [None] * (len(text) + 1)
