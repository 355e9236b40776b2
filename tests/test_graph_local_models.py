"""A local model loads through transformers and bitsandbytes, says what it will take, and gives its memory back."""

import asyncio
import os
import subprocess
import sys
import threading
import weakref
from itertools import pairwise
from typing import Literal

import pytest
import torch
from pydantic import Field

from graph.models import tokens
from graph.models.calls import ModelFailed, stream_reply
from graph.models.faults import UnknownModel
from graph.models.hf import ModelWeights, shared_weights
from graph.models.json_replies import StrictReply
from graph.models.measure import try_out
from graph.models.registry import chat_model
from memory.cli.program import INTERRUPTED
from support.tiny_models import made_up

pytestmark = pytest.mark.slow

TALK = [("system", "Be brief."), ("human", "Where is the key?")]


@pytest.fixture(scope="module")
def name(tmp_path_factory):
    return made_up(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr("graph.models.local_model.REPLY_TOKENS", 24)


@pytest.mark.parametrize("quantization", ["nf4", "int8", "bf16", "fp32"])
def test_a_model_replies_in_every_quantization_and_takes_what_it_said_it_would(name, quantization):
    model = chat_model(name, quantization=quantization)
    said = model.weights.memory_need().weights
    assert not model.weights.loaded
    pieces = []
    reply = asyncio.run(stream_reply(model, TALK, on_piece=pieces.append))
    assert "".join(pieces) == reply.text
    assert 0 < reply.tokens_out <= 24
    assert reply.tokens_in == tokens.count_tokens(model, TALK)
    assert said == pytest.approx(model.weights.model().get_memory_footprint(), rel=0.02)
    model.weights.unload()


def test_fewer_bits_take_less_memory(name):
    sizes = [shared_weights(name.removeprefix("hf:"), q).memory_need().weights for q in ("nf4", "int8", "bf16", "fp32")]
    assert all(a < b for a, b in pairwise(sizes))


def test_the_estimate_counts_the_16_bits_that_are_quantised_on_a_cpu(name, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    plain, nf4 = (shared_weights(name.removeprefix("hf:"), q).memory_need() for q in ("bf16", "nf4"))
    assert nf4.weights < plain.weights < nf4.loading
    assert plain.loading == plain.weights


def test_unloading_leaves_no_reference_to_the_weights(name):
    model = chat_model(name, quantization="fp32")
    ask(model)
    held = weakref.ref(model.weights.model())
    parameters = [weakref.ref(p) for p in held().parameters()]
    model.weights.unload()
    assert held() is None
    assert not [p for p in parameters if p() is not None]
    assert not model.weights.loaded
    assert ask(model).tokens_out
    model.weights.unload()


def ask(model):
    return asyncio.run(stream_reply(model, TALK))


def test_many_who_ask_at_once_load_it_once(name, monkeypatch):
    loads, real = [], ModelWeights._load
    monkeypatch.setattr(ModelWeights, "_load", lambda self: (loads.append(self), real(self))[1])
    model = chat_model(name, quantization="fp32")
    threads = [threading.Thread(target=ask, args=(chat_model(name, quantization="fp32"),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loads) == 1
    model.weights.unload()


def test_generation_ends_when_nobody_waits_any_more(name, monkeypatch):
    monkeypatch.setattr("graph.models.local_model.REPLY_TOKENS", 8000)
    model = chat_model(name, quantization="fp32")

    async def walk_away():
        asking = asyncio.create_task(stream_reply(model, TALK, on_piece=lambda piece: asking.cancel()))
        with pytest.raises(asyncio.CancelledError):
            await asking

    asyncio.run(asyncio.wait_for(walk_away(), 60))
    assert model.weights.generating.acquire(timeout=20)  # free again long before 8,000 tokens are written
    model.weights.generating.release()
    model.weights.unload()


def test_a_full_gpu_is_said_with_what_to_do_and_the_next_question_works(name, monkeypatch):
    model = chat_model(name, quantization="fp32")
    loaded = model.weights.model()
    with monkeypatch.context() as full:

        def generate(*_, **__):
            raise torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")

        full.setattr(loaded, "generate", generate)
        with pytest.raises(ModelFailed, match=r"out of memory.*quantization nf4"):
            ask(model)
    assert ask(model).tokens_out
    model.weights.unload()


def test_what_is_not_here_is_said_without_asking_anybody(tmp_path):
    with pytest.raises(UnknownModel, match=r"hf download nobody/nothing"):
        chat_model("hf:nobody/nothing").weights.memory_need()
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(UnknownModel, match="not a folder of a language model"):
        chat_model(f"hf:{tmp_path}").weights.memory_need()


def test_a_model_of_another_kind_is_refused_before_it_is_loaded(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "t5"}')
    with pytest.raises(UnknownModel, match="not a folder of a language model"):
        chat_model(f"hf:{tmp_path}").weights.memory_need()


@pytest.mark.parametrize(
    ("refuses", "talk", "shown"),
    [
        ("messages[0]['role'] == 'system'", TALK, ["user: Be brief.\n\nWhere is the key?"]),
        (
            "messages[0]['role'] != 'user'",
            [("system", "Be brief."), ("ai", "Hello."), ("human", "Hi."), ("human", "Well?"), ("ai", "Well.")],
            ["user: Be brief.", "assistant: Hello.", "user: Hi.\n\nWell?", "assistant: Well."],
        ),
    ],
    ids=["no system messages", "turns alternate"],
)
def test_a_template_that_takes_only_turns_of_two_gets_them(name, monkeypatch, refuses, talk, shown):
    model = chat_model(name)
    tokenizer = model.weights.tokenizer()
    template = "{% if " + refuses + " %}{{ raise_exception('no') }}{% endif %}"
    template += "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}|{% endfor %}"
    monkeypatch.setattr(tokenizer, "chat_template", template)
    ids = model.weights.prompt(talk)
    assert tokenizer.decode(ids).split("|")[:-1] == shown


def test_a_trial_tells_speed_context_and_whether_it_keeps_to_a_form(name, monkeypatch):
    monkeypatch.setattr("graph.models.local_model.REPLY_TOKENS", 200)  # forty characters may take four tokens each
    tried = try_out(chat_model(name, quantization="fp32"))
    assert tried["first token s"] > 0
    assert tried["tokens per s"] > 0
    assert (tried["context"], tried["keeps to a JSON schema"]) == (8192, "1 of 1")
    chat_model(name, quantization="fp32").weights.unload()


def test_a_reply_has_at_most_the_tokens_that_are_asked_for(name):
    reply = chat_model(name, quantization="fp32").invoke(TALK, max_tokens=7)
    assert reply.usage_metadata["output_tokens"] == 7
    assert reply.response_metadata["finish_reason"] == "length"


def test_a_letter_of_several_tokens_is_delivered_whole(name):
    pieces = []
    spelled = {"type": "object", "properties": {"name": {"const": "Aß🐶"}}}
    model = chat_model(name, quantization="fp32")
    reply = asyncio.run(stream_reply(model, TALK, schema=spelled, max_tokens=40, on_piece=pieces.append))
    assert "".join(pieces) == reply.text
    assert "Aß🐶" in reply.text
    assert reply.tokens_out > len(pieces) > 5
    assert not [piece for piece in pieces if "\N{REPLACEMENT CHARACTER}" in piece]


class Quote(StrictReply):
    memory: int = Field(ge=1, le=20)
    words: str = Field(max_length=12)


class Answer(StrictReply):
    kind: Literal["answer", "unknown"]
    text: str = Field(max_length=30)
    quotes: list[Quote] = Field(max_length=3)
    reason: Literal["nothing found"] | None
    sure: bool


@pytest.mark.parametrize("seed", range(6))
def test_a_model_that_knows_no_json_keeps_the_form_of_a_schema(name, seed, monkeypatch):
    model = chat_model(name, quantization="fp32")
    loaded = model.weights.model()
    generate, sampling = loaded.generate, {"do_sample": True, "temperature": 1.0}  # any words that the schema allows
    monkeypatch.setattr(loaded, "generate", lambda ids, **options: generate(ids, **options | sampling))
    torch.manual_seed(seed)
    reply = model.invoke(TALK, json_schema=Answer.model_json_schema(), max_tokens=500)
    Answer.model_validate_json(reply.text)
    assert reply.response_metadata["finish_reason"] == "stop"


def test_a_schema_that_nothing_satisfies_is_reported(name):
    impossible = {"type": "string", "minLength": 3, "maxLength": 2}
    with pytest.raises(ModelFailed, match="schema of the reply cannot be kept"):
        asyncio.run(stream_reply(chat_model(name, quantization="fp32"), TALK, schema=impossible))


def test_a_prompt_that_does_not_fit_is_said_with_both_sizes(name):
    with pytest.raises(ModelFailed, match=r"prompt has at least \d+,\d+ tokens, and the chat model can read 8,192"):
        asyncio.run(stream_reply(chat_model(name, quantization="fp32"), [("human", "key? " * 9000)]))


def test_a_prompt_is_not_read_to_its_end_once_nobody_waits(name, monkeypatch):
    model = chat_model(name, quantization="fp32")
    stopped, read = threading.Event(), []
    weights = model.weights
    loaded = weights.model()
    monkeypatch.setattr(loaded.model.layers[0], "post_attention_layernorm", StopAfter(stopped))
    with loaded.register_forward_hook(lambda *_: read.append("the whole prompt")):
        weights.generating.acquire()
        assert model._run(model._convert_input(TALK).to_messages(), {}, read.append, stopped) == {}
    assert read == []
    model.weights.unload()


class StopAfter(torch.nn.Module):
    """A part of the first layer during which the user cancels."""

    def __init__(self, stopped):
        super().__init__()
        self.stopped = stopped

    def forward(self, states):
        self.stopped.set()
        return states


INTERRUPTED_RUN = """
import runpy, signal, sys, threading, time
from dataclasses import replace
from graph.models import local_model
from graph.models.hf import ModelWeights

def interrupt():
    time.sleep(0.5)  # by now the event loop waits; Python does not wake it for a signal that comes just before
    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

if {moment!r} == "loading":
    ModelWeights._load = lambda self: (interrupt(), threading.Event().wait())
else:
    local_model.REPLY_TOKENS = 8000
    real = ModelWeights.write
    def write(self, reply):
        return real(self, replace(reply, deliver=lambda piece: (interrupt(), reply.deliver(piece))))
    ModelWeights.write = write
sys.argv = ["graph", "ask", "When did I adopt Biscuit?", "--persona", "marlow"]
runpy.run_module("graph", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("moment", ["loading", "generating"])
def test_ctrl_c_ends_a_command_while_the_model_is_busy(name, marlow, moment):
    settings = {
        "MEMOIR_HOME": str(marlow.services.bank.path.parent),
        "MEMOIR_MODEL": name,
        "MEMOIR_QUANTIZATION": "fp32",
    }
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_RUN.format(moment=moment)],
        env=os.environ | settings,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (INTERRUPTED, "", "memoir: Interrupted.\n")
