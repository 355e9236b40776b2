"""Each server of chat models is asked in the form that it takes, and tells what it can of itself."""

import asyncio
from typing import Literal

import pytest
from pydantic import BaseModel, Field

from graph.models import tokens
from graph.models.calls import ModelFailed, stream_reply
from graph.models.faults import ContextExceeded
from graph.models.hosted import model as hosted
from graph.models.hosted import profile
from graph.models.hosted.profile import response_format
from graph.models.json_replies import StrictReply, parse_json
from graph.models.limits import MAX_ITEMS, MAX_LENGTH, bounded_schema
from graph.models.registry import chat_model
from support.chat_server import SCRIPTED, Broken, ChatServer, Half

TALK = [("system", "Be brief."), ("human", "Hello?")]
SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}}


def test_a_schema_goes_to_a_server_that_takes_it():
    with ChatServer('{"answer": "yes"}') as server:
        reply = asyncio.run(stream_reply(chat_model(server.model("takes")), TALK, schema=SCHEMA))
    assert reply.text == '{"answer": "yes"}'
    wanted = server.requests[0]["response_format"]
    assert wanted["type"] == "json_schema"
    assert wanted["json_schema"]["schema"] == {
        "type": "object",
        "properties": {"answer": {"type": "string", "maxLength": MAX_LENGTH}},
        "required": ["answer"],
        "additionalProperties": False,
    }


def test_a_server_that_refuses_schemas_is_asked_without_and_not_tried_again():
    with ChatServer("plain", schemas=()) as server:
        for _ in range(2):
            assert asyncio.run(stream_reply(chat_model(server.model("refuses")), TALK, schema=SCHEMA)).text == "plain"
    asked = [request.get("response_format", {}).get("type") for request in server.requests]
    assert asked == ["json_schema", "json_object", None, None]


@pytest.mark.parametrize(
    ("maker", "options"),
    [("vllm", {"enable_thinking": False}), ("llamacpp", {"enable_thinking": False}), ("someone", None)],
)
def test_thinking_is_turned_off_where_the_server_can(maker, options):
    with ChatServer("plain", models=[{"id": "scripted", "owned_by": maker, "max_model_len": 4096}]) as server:
        asyncio.run(stream_reply(chat_model(server.model()), TALK))
    assert server.requests[0].get("chat_template_kwargs") == options


TOO_LONG = Broken(400, '{"error": {"message": "maximum context length is 2048 tokens", "code": 400}}')
NO_FORM = Broken(500, '{"error": {"message": "Input should be text or json_object"}}')


def test_a_line_break_within_a_string_does_not_make_a_reply_unusable():
    class Said(StrictReply):
        answer: str
        reason: str

    said = parse_json('```json\n{"answer": "On\n the wall",\n"reason": "a\\nb"}\n```', Said)
    assert (said.answer, said.reason) == ("On  the wall", "a\nb")


def test_a_server_that_fails_on_the_first_form_of_a_schema_is_asked_with_the_second(monkeypatch):
    monkeypatch.setattr(hosted, "RETRIES", 0)
    with ChatServer('{"answer": "yes"}', schemas=["json_object"], refusal=NO_FORM) as server:
        for _ in range(2):
            asyncio.run(stream_reply(chat_model(server.model("llama-cpp-python")), TALK, schema=SCHEMA))
    asked = [request["response_format"]["type"] for request in server.requests]
    assert asked == ["json_schema", "json_object", "json_object"]
    assert server.requests[-1]["response_format"]["schema"]["required"] == ["answer"]


def test_a_prompt_that_is_too_long_does_not_end_schemas_and_tells_the_context():
    with ChatServer(TOO_LONG, '{"answer": "yes"}', models=[{"id": "small", "owned_by": "me"}]) as server:
        model = chat_model(server.model("small"))
        with pytest.raises(ContextExceeded, match=r"longer than its context.*2048 tokens.*Choose a model"):
            asyncio.run(stream_reply(model, TALK, schema=SCHEMA))
        assert tokens.context_length(model) == 2048
        asyncio.run(stream_reply(model, TALK, schema=SCHEMA))
    assert [request["response_format"]["type"] for request in server.requests] == ["json_schema"] * 2


def test_a_server_that_fails_with_a_schema_and_without_has_another_reason(monkeypatch):
    monkeypatch.setattr(hosted, "RETRIES", 0)
    with ChatServer(*[Broken(500, "{}")] * 3, '{"answer": "yes"}') as server:
        model = chat_model(server.model())
        with pytest.raises(ModelFailed, match="look at its log"):
            asyncio.run(stream_reply(model, TALK, schema=SCHEMA))
        asyncio.run(stream_reply(model, TALK, schema=SCHEMA))
    assert server.requests[-1]["response_format"]["type"] == "json_schema"


def test_each_field_of_a_schema_is_required_and_bounded():
    class Inner(BaseModel):
        kind: Literal["a", "b"] = "a"
        names: list[str] = Field(default=[], max_length=3)

    class Outer(BaseModel):
        inner: list[Inner]
        note: str | None = None

    schema = bounded_schema(Outer.model_json_schema())
    inner = schema["$defs"]["Inner"]
    assert (schema["required"], inner["required"]) == (["inner", "note"], ["kind", "names"])
    assert not schema["additionalProperties"] | inner["additionalProperties"]
    assert "default" not in str(schema)
    assert schema["properties"]["inner"]["maxItems"] == MAX_ITEMS
    assert schema["properties"]["note"]["anyOf"][0]["maxLength"] == MAX_LENGTH
    assert inner["properties"]["names"]["maxItems"] == 3
    assert "maxLength" not in inner["properties"]["kind"]
    sent = response_format("json_schema", schema, openai=True)
    assert "maxLength" not in str(sent)  # OpenAI refuses it in strict mode
    assert "maxItems" in str(sent)


OLLAMA = {
    "/api/show": {"model_info": {"general.architecture": "qwen2", "qwen2.context_length": 32768}, "parameters": ""},
    "/api/ps": {"models": []},
}
CHOSEN = OLLAMA | {"/api/show": {"model_info": {}, "parameters": 'stop   "x"\nnum_ctx                        16000'}}
LOADED = OLLAMA | {"/api/ps": {"models": [{"name": "m:latest", "context_length": 8192}]}}
PROPS = {"/props": {"default_generation_settings": {"n_ctx": 2048}}}
LLAMA_CPP = {"id": "/home/me/m.gguf", "owned_by": "llamacpp", "meta": {"n_ctx_train": 8192}}
LM_STUDIO = {"/api/v0/models": {"data": [{"id": "m", "max_context_length": 131072, "loaded_context_length": 6000}]}}


@pytest.mark.parametrize(
    ("row", "tells", "context"),
    [
        ({"id": "m", "owned_by": "vllm", "max_model_len": 32768}, {}, 32768),
        (LLAMA_CPP | {"meta": {"n_ctx": 4096, "n_ctx_train": 8192}}, {}, 4096),
        (LLAMA_CPP, PROPS, 2048),
        ({"id": "m:latest", "owned_by": "library"}, OLLAMA, 4096),
        ({"id": "m:latest", "owned_by": "library"}, CHOSEN, 16000),
        ({"id": "m:latest", "owned_by": "library"}, LOADED, 8192),
        ({"id": "m", "owned_by": "organization_owner"}, LM_STUDIO, 6000),
        ({"id": "m", "owned_by": "someone", "context_length": 200_000}, {}, 200_000),
        ({"id": "m", "owned_by": "me"}, {}, None),
        ({"id": "m", "owned_by": "HuggingFaceTB"}, {}, None),
    ],
    ids=[
        "vLLM",
        "llama.cpp",
        "older llama.cpp",
        "Ollama",
        "Ollama, chosen",
        "Ollama, loaded",
        "LM Studio",
        "OpenRouter",
        "llama-cpp-python",
        "transformers serve",
    ],
)
def test_each_server_is_asked_for_the_context_where_it_tells_it(row, tells, context):
    with ChatServer("x", models=[row], tells=tells) as server:
        assert tokens.context_length(chat_model(server.model("m"))) == context


@pytest.mark.parametrize(
    ("row", "tells"),
    [
        (LLAMA_CPP, {"/tokenize": lambda asked: {"tokens": asked["content"].split()}}),
        (
            {"id": "m", "owned_by": "me"},
            {"/extras/tokenize/count": lambda asked: {"count": len(asked["input"].split())}},
        ),
    ],
    ids=["llama.cpp", "llama-cpp-python"],
)
def test_a_server_that_counts_tokens_is_asked_to(row, tells):
    with ChatServer("x", models=[row], tells=tells) as server:
        model = chat_model(server.model("m"))
        assert tokens.count_tokens(model, TALK) == 3 + 2 * tokens.MESSAGE_OVERHEAD
        assert tokens.counting_method(model) == "by its server"


def test_the_tokens_of_a_stream_that_reports_none_are_estimated():
    with ChatServer("It hangs behind the barometer.", usage=False) as server:
        reply = asyncio.run(stream_reply(chat_model(server.model()), TALK))
    assert server.requests[0]["stream_options"] == {"include_usage": True}
    assert 5 <= reply.tokens_out <= 15


def test_a_stream_that_ends_at_once_is_asked_for_its_reason():
    def overflow(request):
        return Broken(body="", headers={"Content-Type": "text/event-stream"}) if request["stream"] else TOO_LONG

    with ChatServer(overflow) as server, pytest.raises(ContextExceeded, match="2048 tokens"):
        asyncio.run(stream_reply(chat_model(server.model()), TALK))
    with (
        ChatServer(Broken(body="")) as server,
        pytest.raises(ModelFailed, match="the prompt may be longer than the model's context"),
    ):
        asyncio.run(stream_reply(chat_model(server.model()), TALK))


@pytest.mark.parametrize(("models", "most"), [([{"id": "scripted", "owned_by": "me"}], 1), ([SCRIPTED], 3)])
def test_a_server_on_this_machine_that_answers_one_at_a_time_is_asked_so(models, most):
    async def ask_at_once(model):
        return await asyncio.gather(*(stream_reply(model, TALK) for _ in range(3)))

    with ChatServer(Half("It hangs there.", "end", pause=0.1), models=models) as server:
        replies = asyncio.run(ask_at_once(chat_model(server.model())))
    assert [reply.text for reply in replies] == ["It hangs there."] * 3
    assert server.most_at_once == most


def test_a_server_tells_its_context_and_one_that_does_not_is_not_known():
    with ChatServer("x", models=[{"id": "big", "object": "model", "max_model_len": 32768}]) as server:
        assert tokens.context_length(chat_model(server.model("big"))) == 32768
        assert tokens.context_length(chat_model(server.model("other"))) is None
        name = server.model("gone")
    profile._KNOWN.clear()
    assert tokens.context_length(chat_model(name)) is None
