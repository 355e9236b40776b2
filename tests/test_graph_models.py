"""A chat model's name says which one it is; its key stays out of everything that is shown or kept."""

import subprocess
import sys
import traceback
from pathlib import Path

import pytest
from chat_server import Broken, ChatServer
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models import FakeListChatModel

from graph import models
from graph.models import Completion, ModelFailed, UnknownModel, chat_model, complete

KEY = "sk-planted-0123456789abcdef"


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for name in ("OPENAI_API_KEY", "MEMOIR_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)


def test_an_address_with_a_model_is_asked_there_at_temperature_0():
    with ChatServer("Hello.") as server:
        reply = complete(chat_model(server.model("qwen2.5:7b")), "Say hello.")
    assert reply == Completion("Hello.", 11, 3)
    (request,) = server.requests
    assert (request["model"], request["temperature"]) == ("qwen2.5:7b", 0)
    assert request["path"] == "/v1/chat/completions"
    assert request["messages"] == [{"role": "user", "content": "Say hello."}]


def test_a_server_of_ones_own_is_never_sent_the_key_of_openai(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ChatServer("Hello.") as server:
        complete(chat_model(server.model()), "Hello?")
        monkeypatch.setenv("MEMOIR_API_KEY", "mine-0123456789")
        complete(chat_model(server.model()), "Hello?")
    assert server.keys == ["none", "mine-0123456789"]


def test_a_hosted_model_is_asked_at_openai_whatever_the_environment_says_of_addresses(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    model = chat_model("openai:gpt-4o-mini", temperature=0.5)
    assert str(model.root_client.base_url) == "https://api.openai.com/v1/"
    assert (model.model_name, model.temperature) == ("gpt-4o-mini", 0.5)
    assert (model.request_timeout, model.max_retries) == (models.TIMEOUT_SECONDS, models.RETRIES)


def test_a_missing_key_is_said_before_anything_is_sent():
    with pytest.raises(UnknownModel, match=r"openai:gpt-4o-mini needs a key: set OPENAI_API_KEY"):
        chat_model("openai:gpt-4o-mini")


@pytest.mark.parametrize(
    "name",
    [
        "",
        "gpt-4o-mini",
        "openai:",
        "openai: ",
        "hf:Qwen/Qwen2.5-0.5B",
        "http://127.0.0.1:8000/v1",
        "http://127.0.0.1:8000/v1#",
        "http://127.0.0.1:abc/v1#m",
        "http://[::1/v1#m",
        "http://#m",
        "ftp://127.0.0.1/v1#m",
        "127.0.0.1:8000/v1#m",
    ],
)
def test_any_other_name_is_refused_with_the_two_forms(name):
    with pytest.raises(UnknownModel, match=r"openai:MODEL .* or ADDRESS#MODEL"):
        chat_model(name)


@given(st.text(max_size=40))
def test_a_name_is_a_model_or_an_error_of_ours(name):
    try:
        models._address(name)
    except UnknownModel:
        return
    assert name.startswith(("http", "HTTP"))


@pytest.mark.parametrize("name", [f"http://me:{KEY}@127.0.0.1/v1#m", f"http://127.0.0.1/v1?key={KEY}#m"])
def test_a_key_in_the_name_is_refused_without_repeating_it(name):
    with pytest.raises(UnknownModel, match="MEMOIR_API_KEY") as caught:
        chat_model(name)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "reply",
    [
        Broken(401, '{"error": {"message": "Incorrect API key provided: ' + KEY + '"}}'),
        Broken(400, "No model for you, " + KEY),
        Broken(body="<html>" + KEY),
        Broken(body='{"choices": null, "key": "' + KEY + '"}'),
        Broken(body='{"choices": []}'),
        Broken(body='["' + KEY + '"]'),
        Broken(body=""),
        " ",
    ],
    ids=["refused", "bad request", "page", "null", "no choice", "list", "no body", "no words"],
)
def test_what_is_no_reply_is_one_kind_of_error_and_holds_no_key(reply, monkeypatch, caplog):
    monkeypatch.setenv("MEMOIR_API_KEY", KEY)
    with (
        ChatServer(reply) as server,
        caplog.at_level(0),
        pytest.raises(ModelFailed, match="gave no usable reply") as caught,
    ):
        complete(chat_model(server.model()), "Hello?")
    assert server.keys[0] == KEY
    assert KEY not in "".join(traceback.format_exception(caught.value)) + caplog.text


@pytest.mark.parametrize("reply", [Broken(500, "{}"), Broken(hang_up=True)], ids=["server error", "hung up"])
def test_a_fault_that_may_pass_is_tried_again_a_bounded_number_of_times(reply, monkeypatch):
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    monkeypatch.setattr("openai._base_client.MAX_RETRY_DELAY", 0.01)
    with ChatServer(reply) as server, pytest.raises(ModelFailed):
        complete(chat_model(server.model()), "Hello?")
    assert len(server.requests) == 1 + models.RETRIES


def test_a_server_that_is_not_there_is_said(monkeypatch):
    monkeypatch.setattr(models, "RETRIES", 0)
    with ChatServer("gone") as server:
        name = server.model()
    with pytest.raises(ModelFailed, match="Connection"):
        complete(chat_model(name), "Hello?")


def test_a_key_is_in_no_picture_of_the_model(monkeypatch):
    monkeypatch.setenv("MEMOIR_API_KEY", KEY)
    with ChatServer("You sent " + KEY) as server:
        model = chat_model(server.model())
        assert complete(model, "What key?").text == "You sent [key]"
    assert KEY not in repr(model) + str(model) + str(model.model_dump()) + repr(vars(model))


def test_a_model_that_counts_no_tokens_counts_none():
    assert complete(FakeListChatModel(responses=["Yes."]), "Well?") == Completion("Yes.", 0, 0)


def test_importing_loads_no_chat_library():
    code = "import sys, graph.models; print([m for m in sys.modules if m.startswith(('langchain', 'openai'))])"
    root = Path(__file__).parents[1]
    assert subprocess.check_output([sys.executable, "-c", code], cwd=root, text=True).strip() == "[]"
