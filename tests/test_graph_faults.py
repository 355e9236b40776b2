"""Whatever goes wrong with a chat model, the chat says what and what to do, keeps what was said, and goes on."""

import contextlib
import threading
from dataclasses import replace

import pytest
import torch

from graph.__main__ import main
from graph.assistant import Assistant
from graph.models.hosted import model as hosted
from graph.models.registry import chat_model
from graph.state import Reading, Token
from support.chat_server import Broken, ChatServer, Half, Refusal
from support.event_stream import events_of, events_until
from support.model_reader import QUESTION, adopted, reading_with
from support.tiny_models import made_up

KEY = "sk-planted-0123456789abcdef"

FAULTS = {
    "stalls": (Half("", "stall"), "did not answer in time"),
    "half a stream": (Half('{"notes": [', "hang up"), "the connection ended"),
    "half, then silence": (Half('{"notes": [', "stall"), "did not answer in time"),
    "429": (Broken(429, "{}", headers={"Retry-After": "7"}), "asks for 7 s"),
    "500": (Broken(500, "{}"), "look at its log"),
    "empty choice": (Broken(body='{"choices": []}'), "Try again"),
    "no words": (" ", "Try again"),
    "invalid JSON": ('{"notes": [}', "did not reply in the requested form"),
    "another form": ('{"answer": 3}', "did not reply in the requested form"),
    "refusal": (Refusal("I cannot help with that."), "it declined: I cannot help with that"),
    "refusal in words": ("I'm sorry, but I can't help.", "did not reply in the requested form"),
    "noise": ("noise " * 10_000, "it only repeated “noise”"),
    "closed socket": (Broken(hang_up=True), "that the server is running"),
    "a page": (Broken(body="<html>no</html>"), "Try again"),
    "wrong key": (Broken(401, '{"error": {"message": "Incorrect key ' + KEY + '"}}'), "check OPENAI_API_KEY"),
    "unknown model": (Broken(404, '{"error": {"message": "no such model"}}'), "which models it offers"),
    "too long": (Broken(400, '{"error": {"message": "maximum context length is 4000"}}'), "longer than its context"),
}


@pytest.fixture(autouse=True)
def impatient(monkeypatch, tmp_path):
    monkeypatch.setattr(hosted, "RETRIES", 0)
    monkeypatch.setattr(hosted, "TIMEOUT_SECONDS", 0.3)
    monkeypatch.setenv("MEMOIR_API_KEY", KEY)


def turns_of(chat):
    bank = chat.services.bank
    return [t for s in bank.sessions(chat.persona.id) if s.source == "chat" for t in bank.turns(chat.persona.id, s.id)]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["con", "direct"])
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_said_the_exchange_is_kept_whole_and_the_next_message_works(marlow, name, method):
    reply, said = FAULTS[name]
    is_words = method == "direct" and isinstance(reply, str) and len(reply) < 100 and reply.strip()
    with ChatServer(reply) as server:
        assistant = Assistant(reading_with(marlow, server, method=method))
        events = events_of(assistant, marlow.asks(QUESTION))
        reading = events[-1].reading
        if not is_words:
            assert said in reading.notice
            assert "Memoir answered without the chat model." in reading.notice
            assert "3 March 2024" in reading.answer
            restart = max(n for n, e in enumerate(events) if isinstance(e, Token) and e.restart)
            assert "".join(e.text for e in events[restart:] if isinstance(e, Token)) == reading.answer
        assert [t.text for t in turns_of(marlow)] == [QUESTION, reading.answer]
        assert KEY not in repr(events)
        server.replies.clear()
        server.replies.append(
            "Yes." if method == "direct" else '{"notes": [], "answer": "Yes.", "citations": [], "reason": null}'
        )
        again = assistant.ask(replace(marlow.asks(QUESTION), chat_id="next"))
        assert again.reading.by == server.model()
    assert len(turns_of(marlow)) == 4


def test_a_full_gpu_is_said_and_the_next_message_works(marlow, tmp_path, monkeypatch):
    name = made_up(tmp_path / "tiny")
    model = chat_model(name, quantization="fp32")
    assistant = Assistant(marlow.services).reading_with(model, name, "fp32")
    assistant.services = replace(assistant.services, settings=replace(assistant.services.settings, method="direct"))
    with monkeypatch.context() as full:
        full.setattr(model.weights.model(), "generate", out_of_memory)
        failed = assistant.ask(marlow.asks(QUESTION)).reading
    assert "use a smaller one or quantization nf4" in failed.notice
    assert "3 March 2024" in failed.answer
    again = assistant.ask(marlow.asks(QUESTION)).reading
    refused = ("answer was not used", "gave no usable reply")
    assert again.by == name or any(reason in again.notice for reason in refused)  # it has replied, if only noise
    model.weights.unload()


def out_of_memory(*_, **__):
    raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")


def test_a_model_that_is_not_here_is_said_by_the_chat(marlow):
    model = chat_model("hf:nobody/nothing")
    reading = Assistant(marlow.services).reading_with(model, "hf:nobody/nothing", "auto").ask(marlow.asks(QUESTION))
    assert "hf download nobody/nothing" in reading.reading.notice
    assert reading.reading.unreachable


@pytest.mark.parametrize(
    "reply", [Half("You adopted a greyhound " * 50, "end", 0.05), Half("You adopted a greyhound " * 5, "stall")]
)
def test_who_stops_an_answer_keeps_what_they_said_and_nothing_of_the_reply(marlow, reply, monkeypatch):
    monkeypatch.setattr(hosted, "TIMEOUT_SECONDS", 20)
    with ChatServer(reply, "A greyhound.") as server:
        assistant = Assistant(reading_with(marlow, server, method="direct"))
        ask = marlow.asks("I sold the canoe. When did I adopt Biscuit?")
        events_until(assistant, ask, lambda event: isinstance(event, Token) and "You" in event.text)
        assert [t.text for t in turns_of(marlow)] == ["I sold the canoe. When did I adopt Biscuit?"]
        told = [m.text for m in marlow.services.bank.memories(marlow.persona.id, store="dialogue")]
        assert any("canoe" in text for text in told)
        assert not any("greyhound greyhound" in text for text in told)
        assert assistant.ask(marlow.asks(QUESTION)).reading.answer == "A greyhound."
        assert reply.then == "stall" or server.left.wait(10)  # the request was ended, not only forgotten


def test_who_stops_a_second_answer_keeps_the_first_and_what_the_message_corrected(marlow, monkeypatch):
    monkeypatch.setattr(hosted, "TIMEOUT_SECONDS", 20)
    marlow.say("My exam is on 4 August.")
    with ChatServer(Half("", "stall")) as server:
        assistant = Assistant(reading_with(marlow, server, method="direct"))
        ask = replace(marlow.asks("The exam is on 11 August, not 4 August."), earlier=Reading("The 11th, then."))
        events_until(assistant, ask, lambda event: getattr(event, "node", "") == "time_filter")
    assert [turn.text for turn in turns_of(marlow)[-2:]] == [ask.text, "The 11th, then."]
    assert "11 August" in marlow.again().say("When is my exam?").reading.answer


def test_two_messages_at_once_are_both_answered_and_stored_whole(marlow):
    with ChatServer(Half("A greyhound called Biscuit.", "end", 0.05)) as server:
        assistant = Assistant(reading_with(marlow, server, method="direct"))
        asks = [replace(marlow.asks(text), chat_id="one chat") for text in (QUESTION, "Who visited me?")]
        threads = [threading.Thread(target=assistant.ask, args=(ask,)) for ask in asks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    said = [t.text for t in turns_of(marlow)]
    assert sorted(said) == sorted([QUESTION, "Who visited me?", *["A greyhound called Biscuit."] * 2])
    assert {said[n + 1] for n in (said.index(QUESTION), said.index("Who visited me?"))} == {
        "A greyhound called Biscuit."
    }


@pytest.mark.parametrize("reply", [adopted, Broken(401, KEY), f"You sent {KEY}", Half(f"{KEY} {KEY}", "hang up")])
def test_a_key_is_in_no_file_and_no_output(marlow, tmp_path, reply, monkeypatch, capfd, caplog):
    bank = marlow.services.bank
    with ChatServer(reply) as server, caplog.at_level(0):
        monkeypatch.setenv("MEMOIR_HOME", str(bank.path.parent))
        monkeypatch.setenv("MEMOIR_MODEL", server.model())
        for method in ("con", "con-separate", "direct"):
            monkeypatch.setenv("MEMOIR_METHOD", method)
            said = ["ask", QUESTION, "--persona", "Marlow", "--as-of", "2024-07-01", "--json"]
            with contextlib.suppress(SystemExit):
                assert main(said) == 0
        assert KEY in server.keys
    captured = capfd.readouterr()
    assert KEY not in captured.out + captured.err + caplog.text
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(path.suffix == ".db" for path in files)
    assert not [path for path in files if KEY.encode() in path.read_bytes()]
