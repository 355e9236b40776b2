"""A chat model can tell the stores; where it does not, the learned classifier does, and the trace says so."""

import asyncio
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.assistant import Assistant
from graph.models.registry import chat_model
from graph.understanding.llm_classifier import MAX_QUESTION, MAX_TOKENS, judge_stores, prompt, read_stores
from memory.types import STORES
from support.chat_server import Broken, ChatServer
from test_graph_injection import PLANTED

REPLY = json.dumps({"profile": 0.1, "relationship": 0.0, "world": 0.0, "event": 0.7, "dialogue": 0.2})
QUESTION = "When did I adopt Biscuit?"


def classified(chat, server, engine="llm"):
    settings = replace(chat.services.settings, classifier=engine, reader="extractive")
    services = replace(chat.services, settings=settings, model=chat_model(server.model()) if server else None)
    return Assistant(services).ask(chat.asks(QUESTION, remember=False)).trace[0]


def learned(chat):
    return {s: classified(chat, None, "learned").figures[s] for s in STORES}


def test_the_models_probabilities_are_taken(marlow):
    with ChatServer(REPLY) as server:
        line = classified(marlow, server)
        (request,) = server.requests
    assert {s: line.figures[s] for s in STORES} == json.loads(REPLY)
    assert (line.figures["tokens in"], line.figures["tokens out"], line.figures["fallback"]) == (11, 3, 0)
    assert request["temperature"] == 0
    assert request["max_tokens"] == MAX_TOKENS
    schema = request["response_format"]["json_schema"]["schema"]
    assert schema["required"] == list(STORES) == list(schema["properties"])
    shares = [(share["type"], share["minimum"], share["maximum"]) for share in schema["properties"].values()]
    assert shares == [("integer", 0, 100)] * len(STORES)
    assert QUESTION in request["messages"][-1]["content"]


ALIKE = json.dumps(dict.fromkeys(STORES, 20))


@pytest.mark.slow
@pytest.mark.parametrize("reply", ["event, I think", '{"event": "high"}', '{"feeling": 1}', "{}", ALIKE, Broken(500)])
def test_where_the_model_says_nothing_of_use_the_learned_classifier_stays_and_it_is_counted(marlow, reply):
    with ChatServer(reply) as server:
        line = classified(marlow, server)
    assert {s: line.figures[s] for s in STORES} == learned(marlow)
    assert line.figures["fallback"] == 1
    assert ", by the learned classifier: " in line.decided


@pytest.mark.slow
def test_a_small_real_model_keeps_the_form():
    file = pytest.importorskip("support.small_model").small_model()
    judged = asyncio.run(judge_stores(QUESTION, chat_model(f"gguf:{file}")))
    assert judged.fault in ("", "the model rates all stores alike")
    assert 0 < judged.reply.tokens_out < MAX_TOKENS


def test_without_a_model_the_trace_says_what_is_missing(marlow):
    line = classified(marlow, None)
    assert "MEMOIR_MODEL" in line.decided
    assert {s: line.figures[s] for s in STORES} == learned(marlow)


def test_examples_are_shown_as_earlier_questions_and_replies(marlow):
    with ChatServer(REPLY) as server:
        classified(marlow, server)
        classified(marlow, server, "llm-few-shot")
    plain, shown = (r["messages"] for r in server.requests)
    assert [m["role"] for m in plain] == ["user"]
    assert [m["role"] for m in shown] == ["system", *["user", "assistant"] * 2 * len(STORES), "user"]
    assert shown[-1] == plain[-1]
    assert {max(r := json.loads(m["content"]), key=r.get) for m in shown if m["role"] == "assistant"} == {*STORES}


# By SmolLM2's tokenizer the prompt has 179 tokens with its template, 867 with examples.
PROMPT = """\
Question: "When did I adopt Biscuit?"

Which kind of memory holds the answer to the question?
- profile: facts about a person (age, job, home, likes, health)
- relationship: who someone is to someone (family, friends, pets)
- world: general facts and how to do something
- event: what happened or is planned, and when
- dialogue: what someone said, asked or promised

Give each kind a number N from 0 (unlikely) to 100 (certain). Reply with JSON only:
{"profile": N, "relationship": N, "world": N, "event": N, "dialogue": N}"""


def test_the_prompt_reads_so():
    assert prompt(QUESTION, examples=False) == [("human", PROMPT)]
    assert prompt(QUESTION, examples=True)[-1] == ("human", PROMPT)


@pytest.mark.parametrize("planted", PLANTED.values(), ids=PLANTED)
def test_a_question_cannot_end_its_quotation(planted):
    ((_, text),) = prompt(planted, examples=False)
    line, _, rest = text.partition("\n")
    assert rest == PROMPT.partition("\n")[2]
    assert json.loads(line.removeprefix("Question: ")) == planted[:MAX_QUESTION]
    assert "<" not in line


@given(st.dictionaries(st.sampled_from(STORES), st.floats(0, 1e6)))
def test_probabilities_sum_to_one(given):
    read = read_stores(f"Sure! {json.dumps(given)} There you are.")
    if sum(given.values()) > 0:
        assert sum(read.values()) == pytest.approx(1)
        assert set(read) == set(STORES)
    else:
        assert read is None


@given(st.text())
def test_any_reply_is_read_or_refused(reply):
    read_stores(reply)
