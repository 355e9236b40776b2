"""A local model loads through transformers and bitsandbytes, says what it will take, and gives its memory back."""

import asyncio
import threading
import weakref
from itertools import pairwise

import pytest
import torch

from graph.models import local, tokens
from graph.models.calls import ModelFailed, stream_reply
from graph.models.local import shared_weights
from graph.models.measure import try_out
from graph.models.names import UnknownModel
from graph.models.registry import chat_model
from support.tiny_models import made_up

pytestmark = pytest.mark.slow

TALK = [("system", "Be brief."), ("human", "Where is the key?")]


@pytest.fixture(scope="module")
def name(tmp_path_factory):
    return made_up(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(local, "REPLY_TOKENS", 24)


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
    loads, real = [], local._load
    monkeypatch.setattr(local, "_load", lambda *a: (loads.append(a), real(*a))[1])
    model = chat_model(name, quantization="fp32")
    threads = [threading.Thread(target=ask, args=(chat_model(name, quantization="fp32"),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loads) == 1
    model.weights.unload()


def test_generation_ends_when_nobody_waits_any_more(name, monkeypatch):
    monkeypatch.setattr(local, "REPLY_TOKENS", 8000)
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


def test_a_model_that_does_not_know_system_messages_gets_them_with_the_first_question(name, monkeypatch):
    model = chat_model(name)
    tokenizer = model.weights.tokenizer()
    refusing = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system') }}{% endif %}"
    monkeypatch.setattr(tokenizer, "chat_template", refusing + tokenizer.chat_template)
    shown = tokenizer.decode(model._ids(model._convert_input(TALK).to_messages())["input_ids"][0])
    assert "Be brief.\n\nWhere is the key?" in shown


def test_a_trial_tells_speed_context_and_whether_it_keeps_to_a_form(name):
    tried = try_out(chat_model(name, quantization="fp32"))
    assert tried.first_token_s > 0
    assert tried.tokens_per_s > 0
    assert (tried.context, tried.keeps_schema) == (8192, False)
    chat_model(name, quantization="fp32").weights.unload()
