"""A chat model's name says which one it is; its key stays out of everything that is shown or kept."""

import asyncio
import subprocess
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import gradio as gr
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models import FakeListChatModel

from graph.assistant import Assistant
from graph.models import tokens
from graph.models.calls import Completion, ModelFailed, complete, stream_reply
from graph.models.discovery import find_files, find_models, full_address, models_at, say_what_fits
from graph.models.faults import UnknownModel
from graph.models.hosted import model as hosted
from graph.models.hosted.keys import NO_KEY, keep_key, redact_keys
from graph.models.measure import try_out
from graph.models.registry import chat_model, parse_name
from graph.tab.model_panels import ModelPanel
from memory.errors import MemoirError
from support.chat_server import Broken, ChatServer, Half, Refusal

KEY = "sk-planted-0123456789abcdef"


@pytest.fixture(autouse=True)
def no_keys(monkeypatch, tmp_path):
    monkeypatch.setenv("MEMOIR_KEYS", str(tmp_path / "no keys"))
    for name in ("OPENAI_API_KEY", "MEMOIR_API_KEY", "OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)


def test_the_models_that_run_on_this_machine_are_found_and_other_servers_are_not_taken_for_one():
    with ChatServer("Hi.") as server, ChatServer("Hi.", models=("no model",)) as other, ChatServer("Hi.") as gone:
        closed = urlsplit(gone.url).port
        gone.__exit__()
        found = asyncio.run(find_models([closed, urlsplit(other.url).port, urlsplit(server.url).port]))
        assert [name.partition("#")[0] for name in found] == [server.url]
        assert complete(chat_model(found[0]), "Say hello.").text == "Hi."


def test_the_files_in_usual_folders_are_offered_with_what_this_computer_can_run(tmp_path):
    for file in ("models/a.gguf", ".lmstudio/models/maker/b/b-Q4_K_M.gguf", "Documents/c.gguf", "models/notes.txt"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    assert [Path(file).name for file in find_files(tmp_path)] == ["a.gguf", "b-Q4_K_M.gguf"]
    assert "can run Qwen3-8B " in say_what_fits(24 * 2**30)
    assert "can run Qwen2.5-7B-Instruct " in say_what_fits(16 * 10**9)
    assert "too small" in say_what_fits(4 * 2**30)


def test_an_address_may_be_typed_without_scheme_and_path_and_lists_its_models():
    with ChatServer("Hi.") as server:
        typed = server.url.removeprefix("http://").removesuffix("/v1")
        assert full_address(f" {typed}/ ") == server.url
        assert asyncio.run(models_at(full_address(typed))) == ["scripted"]
    with pytest.raises(MemoirError, match=f"No server at {server.url} offers chat models"):
        asyncio.run(models_at(server.url))


def test_a_server_that_is_only_looked_at_does_not_get_the_key_of_the_one_in_use(services, monkeypatch):
    monkeypatch.setenv("MEMOIR_API_KEY", KEY)
    with ChatServer("Hi.") as used, ChatServer("Hi.") as other:
        services.bank.choose("chat_model", used.model())
        with gr.Blocks():
            panel = ModelPanel(Assistant(services), choose=True)
        for server in (used, other):
            listed = asyncio.run(panel.list_models("server", server.url, None, ""))
            assert listed[panel.model].value == "scripted"
        assert (used.keys_of_lists, other.keys_of_lists) == ([KEY], [""])


def test_a_server_is_offered_again_once_its_model_was_switched_off(services):
    with ChatServer("Hi.") as server, gr.Blocks():
        panel = ModelPanel(Assistant(services), choose=True)
        panel.choose_model(server.model(), "auto")
        panel.choose_model("none", "auto")
        shown = asyncio.run(panel.show_fields("server"))
        assert (shown[panel.address].value, shown[panel.model].value) == (server.url, "scripted")
        assert asyncio.run(panel.show_fields("openai"))[panel.model].value is None


def test_a_key_that_is_typed_is_sent_to_its_own_server_alone_and_never_shown():
    with ChatServer("Hello.") as server, ChatServer("Hello.") as other:
        keep_key(server.url, KEY)
        complete(chat_model(server.model()), "Hello?")
        complete(chat_model(other.model()), "Hello?")
        assert (set(server.keys), set(other.keys)) == ({KEY}, {NO_KEY})
    assert redact_keys(f"{KEY} is wrong") == "[key] is wrong"


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
    model = chat_model("openai:gpt-4o-mini")
    assert str(model.root_client.base_url) == "https://api.openai.com/v1/"
    assert (model.model_name, model.temperature) == ("gpt-4o-mini", 0)
    assert (model.request_timeout, model.max_retries) == (hosted.TIMEOUT_SECONDS, hosted.RETRIES)


def test_a_hosted_model_that_takes_no_temperature_is_sent_none(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert chat_model("openai:o3-mini").temperature is None


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
        "hf:",
        "gguf:",
        "none",
        "http://127.0.0.1:8000/v1",
        "http://127.0.0.1:8000/v1#",
        "http://127.0.0.1:abc/v1#m",
        "http://[::1/v1#m",
        "http://#m",
        "ftp://127.0.0.1/v1#m",
        "127.0.0.1:8000/v1#m",
    ],
)
def test_any_other_name_is_refused_with_the_forms_there_are(name):
    with pytest.raises(UnknownModel, match=r"openai:MODEL .* gguf:FILE .* hf:REPO_OR_FOLDER .* or ADDRESS#MODEL"):
        chat_model(name)


@given(st.text(max_size=40))
def test_a_name_is_a_model_or_an_error_of_ours(name):
    try:
        kind = parse_name(name).kind
    except UnknownModel:
        return
    assert kind != "server" or name.lower().startswith("http")


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
    assert len(server.requests) == 1 + hosted.RETRIES


def test_a_server_that_is_not_there_is_said(monkeypatch):
    monkeypatch.setattr(hosted, "RETRIES", 0)
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


def test_the_tokens_of_a_model_that_counts_none_are_estimated():
    reply = complete(FakeListChatModel(responses=["Yes."]), "Well?")
    assert reply.text == "Yes."
    assert 0 < reply.tokens_out < reply.tokens_in


def test_importing_loads_no_chat_library():
    code = "import sys, graph.models.registry; print([m for m in sys.modules if m.startswith(('langchain', 'openai'))])"
    root = Path(__file__).parents[1]
    assert subprocess.check_output([sys.executable, "-c", code], cwd=root, text=True).strip() == "[]"


TALK = [("system", "Be brief."), ("human", "Hello?")]
SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}}


def test_a_reply_is_heard_word_by_word_with_its_tokens():
    heard = []
    with ChatServer("It hangs behind the barometer.") as server:
        reply = asyncio.run(stream_reply(chat_model(server.model()), TALK, on_piece=heard.append))
    assert reply == Completion("It hangs behind the barometer.", 11, 3)
    assert "".join(heard) == reply.text
    assert len([piece for piece in heard if piece]) == 5
    assert server.requests[0]["stream"] is True
    assert [m["role"] for m in server.requests[0]["messages"]] == ["system", "user"]


def test_a_server_is_told_how_long_a_reply_may_be():
    with ChatServer("Hello.") as server:
        asyncio.run(stream_reply(chat_model(server.model()), TALK, max_tokens=50))
    (request,) = server.requests
    assert request["max_tokens"] == 50
    assert "max_completion_tokens" not in request  # few servers but OpenAI's know it


def test_openai_is_told_how_long_a_reply_may_be_in_its_own_word(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ChatServer("Hello.") as server:
        monkeypatch.setattr(hosted, "OPENAI", server.url)
        monkeypatch.setattr("graph.models.hosted.profile.OPENAI", server.url)
        asyncio.run(stream_reply(chat_model("openai:gpt-4o-mini"), TALK, max_tokens=50))
    assert server.requests[0]["max_completion_tokens"] == 50


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Refusal("I will not read this."), r"it declined: I will not read this\."),
        (Half("It hangs behind", "hang up"), "the connection ended"),
        (Broken(429, "{}", headers={"Retry-After": "7"}), r"429.*wait, then try again \(the server asks for 7 s\)"),
        (Broken(500, "{}"), "500.*look at its log"),
        (Broken(401, "{}"), "401.*MEMOIR_API_KEY"),
        (Broken(404, '{"error": {"message": "no model of that name"}}'), "404.*which models it offers"),
        (Broken(body='{"choices": []}'), "it was empty"),
        (" ", "it was empty"),
        ("noise " * 10_000, "it only repeated “noise”"),
        (Broken(hang_up=True), "Connection.*that the server is running"),
    ],
    ids=["refusal", "half", "too many", "server", "key", "name", "no choice", "no words", "noise", "closed"],
)
def test_every_way_of_failing_says_what_happened_and_what_to_do(reply, said, monkeypatch):
    monkeypatch.setattr(hosted, "RETRIES", 0)
    with ChatServer(reply) as server, pytest.raises(ModelFailed, match=said):
        asyncio.run(stream_reply(chat_model(server.model()), TALK))


def test_a_server_that_keeps_silent_is_given_up_in_time(monkeypatch):
    monkeypatch.setattr(hosted, "RETRIES", 0)
    monkeypatch.setattr(hosted, "TIMEOUT_SECONDS", 0.2)
    with ChatServer(Half("It hangs", "stall")) as server, pytest.raises(ModelFailed, match="did not answer in time"):
        asyncio.run(stream_reply(chat_model(server.model()), TALK))


def test_a_request_that_stalls_ends_when_its_task_is_cancelled():
    async def walk_away(name):
        began = asyncio.Event()
        asking = asyncio.create_task(stream_reply(chat_model(name), TALK, on_piece=lambda piece: began.set()))
        await began.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    with ChatServer(Half("It hangs " * 1000, "end", 0.05)) as server:
        asyncio.run(asyncio.wait_for(walk_away(server.model()), 10))
        assert server.left.wait(10)


def test_a_cancellation_that_meets_a_piece_of_the_reply_is_not_lost():
    async def walk_away(model, wait):
        began = asyncio.Event()
        asking = asyncio.create_task(stream_reply(model, TALK, on_piece=lambda piece: began.set()))
        await began.wait()
        await asyncio.sleep(wait)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    with ChatServer(Half(" ".join(f"word{n}" for n in range(60)), "end", 0.0005)) as server:
        model = chat_model(server.model())
        for n in range(40):
            asyncio.run(walk_away(model, n * 0.0005))


def test_threads_with_event_loops_of_their_own_ask_one_model_at_once():
    with ChatServer("one two") as server, ThreadPoolExecutor(8) as threads:
        model = chat_model(server.model())
        replies = list(threads.map(lambda _: complete(model, "Count.").text, range(200)))
    assert replies == ["one two"] * 200


def test_one_model_is_asked_from_several_event_loops():
    with ChatServer("x") as server:
        model = chat_model(server.model())
        assert [asyncio.run(stream_reply(model, TALK)).text for _ in range(3)] == ["x", "x", "x"]


def test_the_context_of_openais_models_is_known_without_asking(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert tokens.context_length(chat_model("openai:gpt-4o-mini")) == 128_000


@pytest.mark.parametrize("text", ["Where does the spare key of the boathouse hang?", "狗叫什么名字？它几岁了？"])
def test_what_is_not_counted_is_estimated_higher_than_any_known_tokenizer_counts(text):
    model = FakeListChatModel(responses=["x"])
    assert tokens.count_tokens(model, [("human", text)]) >= len(text.encode()) / 2.5
    assert tokens.counting_method(model) == "estimated"


def test_a_trial_tells_whether_a_server_keeps_to_a_form():
    with ChatServer("one, two, three", '{"place": "London", "year": 1815}') as server:
        assert try_out(chat_model(server.model()))["keeps to a JSON schema"] == "1 of 1"
    with ChatServer("one, two, three", "London, in 1815") as server:
        tried = try_out(chat_model(server.model()))
    assert tried["keeps to a JSON schema"] == "0 of 1"
    assert tried["tokens per s"] > 0


@pytest.fixture
def keys_file(tmp_path, monkeypatch):
    path = tmp_path / "keys"
    monkeypatch.setenv("MEMOIR_KEYS", str(path))
    path.write_text(f"# mine\nMEMOIR_API_KEY = '{KEY}'\nOTHER=x\n")
    path.chmod(0o600)
    return path


def test_a_key_may_stand_in_a_file_that_only_the_user_can_read(keys_file):
    with ChatServer("You sent " + KEY) as server:
        assert complete(chat_model(server.model()), "Hello?").text == "You sent [key]"
    assert server.keys == [KEY]


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_a_file_of_keys_that_others_can_read_is_refused_with_the_command_that_mends_it(keys_file, mode):
    keys_file.chmod(mode)
    with ChatServer("x") as server, pytest.raises(MemoirError, match=f"chmod 600 {keys_file}") as caught:
        chat_model(server.model())
    assert KEY not in str(caught.value)
    assert server.requests == []


def test_the_environment_goes_before_the_file(keys_file, monkeypatch):
    monkeypatch.setenv("MEMOIR_API_KEY", "of-the-environment")
    with ChatServer("x") as server:
        complete(chat_model(server.model()), "Hello?")
    assert server.keys == ["of-the-environment"]
