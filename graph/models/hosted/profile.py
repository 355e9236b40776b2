"""Know a server: a model's context, where it counts tokens, whether it answers several at once, its form of schema.

| server | context | tokens of a text |
|---|---|---|
| vLLM | `max_model_len` in /v1/models | |
| llama.cpp | `meta.n_ctx` in /v1/models, else /props; one model, whose id may be the path of its file | /tokenize |
| llama-cpp-python | in the message that refuses a prompt | /extras/tokenize/count |
| Ollama | /api/ps once the model is loaded, else /api/show | |
| LM Studio | `loaded_context_length` in /api/v0/models | |
| OpenRouter | `context_length` in /v1/models | |
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from graph.models.fair_lock import FairLock
from graph.models.limits import change_parts

if TYPE_CHECKING:
    from langchain_openai.chat_models.base import BaseChatOpenAI

OPENAI = "https://api.openai.com/v1"
"""Fixed, so that OPENAI_BASE_URL cannot make "openai:..." mean another service than its name says."""

ASK_SECONDS = 3.0
"""How long a server may take to tell of itself."""

KEEP_SECONDS = 60.0
"""How long its word is kept: it may be started again with another context."""

OLLAMA_CONTEXT = 4096
"""Ollama's default for a model that is not loaded yet and names no `num_ctx`, on a machine without a large GPU."""

_TURNS: dict[str, FairLock] = {}
"""One lock for each server that answers one request at a time, by its address."""

FORMS: Sequence[str] = ("json_schema", "json_object", "")
"""How a server is handed the JSON schema of a reply, in the order in which they are tried: OpenAI's; that of llama.cpp
and llama-cpp-python; none.

The library's own way is `with_structured_output(schema, method="json_schema", include_raw=True)`. Its request is the
same as the first form here, but (langchain-openai 1.7, openai 2) it goes through `chat.completions.stream`, which
raises where a reply was cut at its most tokens and where a stream is empty, hides that a connection ended early, and
knows no second form; llama-cpp-python needs that one and ends a prompt that is too long with an empty stream. The reply
would have to be parsed here in any case: not every server keeps to a schema, and some write around the JSON.
"""

REFUSALS = (400, 422, 500, 501)
"""HTTP status of a server that does not take a form (llama-cpp-python: 500), or that fails for any other reason."""

FAILED = (500, 501)
"""Those with which a server that took the form before does not refuse it, but has failed."""


@dataclass(frozen=True, slots=True)
class ServerProfile:
    """What a server tells: the context in tokens, where it counts tokens, and whether it answers several at once.

    `count` is the path and the field of the text that is counted. `takes_options` says that a request may set options
    of the model's chat template, such as whether it thinks.
    """

    context: int | None = None
    count: tuple[str, str] | None = None
    parallel: bool = False
    takes_options: bool = False


@dataclass(slots=True)
class Known:
    """What is known of a model: its server's profile and when it was asked for that, and the form that it took last.

    `context` is what it named when it refused a prompt.
    """

    profile: ServerProfile = field(default_factory=ServerProfile)
    asked: float = -math.inf
    context: int | None = None
    form: str | None = None


_KNOWN: defaultdict[tuple[str, str], Known] = defaultdict(Known)


def known_of(model: BaseChatOpenAI) -> Known:
    """What is known of a model, by its address and name."""
    return _KNOWN[str(model.openai_api_base), model.model_name]


def server_profile(model: BaseChatOpenAI) -> ServerProfile:
    """What the server of this model tells, asked once a minute; nothing where it cannot be reached; blocks."""
    address = str(model.openai_api_base)
    if address == OPENAI:
        return ServerProfile((model.profile or {}).get("max_input_tokens"), parallel=True)
    known = known_of(model)
    if time.monotonic() > known.asked + KEEP_SECONDS:
        with _alone(address, known.profile) as free:
            told = _ask(model) if free else None
        if told is not None:
            known.profile, known.asked = told, time.monotonic()
    return known.profile if known.profile.context else replace(known.profile, context=known.context)


def count_at_server(model: BaseChatOpenAI, text: str) -> int | None:
    """Tokens of a text by the server's tokenizer, without the model's template; None if it does not count; blocks."""
    address, profile = str(model.openai_api_base), server_profile(model)
    if profile.count is None:
        return None
    path, field = profile.count
    with _alone(address, profile) as free:
        reply = _fetch(model, _root(model) + path, {field: text}) if free else None
    tokens = _find(reply, "tokens")
    return len(tokens) if isinstance(tokens, list) else _size(reply, "count")


@asynccontextmanager
async def turn_of(model: BaseChatOpenAI) -> AsyncIterator[None]:
    """Wait until no other request of ours is with the server, if it is on this machine and answers one at a time."""
    turn = _turn(str(model.openai_api_base), await asyncio.to_thread(server_profile, model))
    await turn.acquire_async()
    try:
        yield
    finally:
        turn.release()


@contextmanager
def _alone(address: str, profile: ServerProfile) -> Iterator[bool]:
    """Whether a short request can be made without another of ours being with the server; waits a little for it."""
    turn = _turn(address, profile)
    free = turn.acquire(timeout=ASK_SECONDS)
    try:
        yield free
    finally:
        if free:
            turn.release()


def _turn(address: str, profile: ServerProfile) -> FairLock:
    """The lock of a server on this machine that answers one request at a time; a new lock for any other.

    llama-cpp-python's server breaks off a reply when any other request arrives, even one for its list of models.
    """
    at_once = profile.parallel or not is_loopback(urlsplit(address).hostname or "")
    return FairLock() if at_once else _TURNS.setdefault(address, FairLock())


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _fetch(model: BaseChatOpenAI, url: str, body: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
    """What a server replies to a GET or, with a body, to a POST; {} if that is no JSON object, None if it is away."""
    from openai import APIConnectionError, OpenAIError

    client = model.root_client.with_options(timeout=ASK_SECONDS, max_retries=0)
    try:
        reply = client.post(url, cast_to=object, body=dict(body)) if body else client.get(url, cast_to=object)
    except APIConnectionError:
        return None
    except (OpenAIError, ValueError):
        return {}
    return reply if isinstance(reply, dict) else {}


def _root(model: BaseChatOpenAI) -> str:
    """The address of a server, where it has more to offer than OpenAI's protocol."""
    return str(model.openai_api_base).rstrip("/").removesuffix("/v1")


def _ask(model: BaseChatOpenAI) -> ServerProfile | None:
    """What the server of a model tells; None where it cannot be reached."""
    listed = _fetch(model, f"{str(model.openai_api_base).rstrip('/')}/models")
    if listed is None:
        return None
    rows = _rows(listed, "data")
    row = next((row for row in rows if row.get("id") == model.model_name), {})
    makers = {each.get("owned_by") for each in rows}
    if "llamacpp" in makers:  # a server of one model answers to any name
        row = row or (rows[0] if len(rows) == 1 else {})
        props = _fetch(model, f"{_root(model)}/props")
        context = _size(row, "meta", "n_ctx") or _size(props, "default_generation_settings", "n_ctx")
        return ServerProfile(context, ("/tokenize", "content"), parallel=True, takes_options=True)
    if makers == {"me"}:  # llama-cpp-python
        return ServerProfile(count=("/extras/tokenize/count", "input"))
    if told := _size(row, "max_model_len") or _size(row, "context_length"):
        return ServerProfile(told, parallel=True, takes_options="vllm" in makers)
    if told := _ollama_context(model) or _lm_studio_context(model):
        return ServerProfile(told, parallel=True)
    return ServerProfile(parallel="vllm" in makers, takes_options="vllm" in makers)


def _ollama_context(model: BaseChatOpenAI) -> int | None:
    name = model.model_name
    shown = _fetch(model, f"{_root(model)}/api/show", {"model": name})
    if not shown:
        return None
    for row in _rows(_fetch(model, f"{_root(model)}/api/ps"), "models"):
        if row.get("name") in (name, f"{name}:latest") and (size := _size(row, "context_length")):
            return size
    chosen = re.search(r"(?m)^num_ctx\s+(\d+)", str(shown.get("parameters")))
    architecture = _find(shown, "model_info", "general.architecture")
    most = _size(shown, "model_info", f"{architecture}.context_length")
    return int(chosen[1]) if chosen else min(OLLAMA_CONTEXT, most or OLLAMA_CONTEXT)


def _lm_studio_context(model: BaseChatOpenAI) -> int | None:
    rows = _rows(_fetch(model, f"{_root(model)}/api/v0/models"), "data")
    return next((_size(row, "loaded_context_length") for row in rows if row.get("id") == model.model_name), None)


def _find(reply: object, *path: str) -> object:
    """What a reply holds at a path of names; None where there is nothing."""
    for name in path:
        reply = reply.get(name) if isinstance(reply, dict) else None
    return reply


def _rows(reply: object, name: str) -> list[dict[str, Any]]:
    found = _find(reply, name)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def _size(reply: object, *path: str) -> int | None:
    value = _find(reply, *path)
    return value if isinstance(value, int) and value > 0 else None


def forms(model: BaseChatOpenAI) -> list[tuple[str, Sequence[int]]]:
    """The forms to try, beginning with the one that this server took before, and the status that may refuse each."""
    took = known_of(model).form
    left = FORMS if took is None else FORMS[FORMS.index(took) :]
    return [(form, [status for status in REFUSALS if form and (form != took or status not in FAILED)]) for form in left]


def response_format(form: str, schema: Mapping[str, Any], *, openai: bool) -> dict[str, Any]:
    """The fields of a request that ask for a reply of this schema."""
    if form == "json_schema":
        named = {"name": "reply", "strict": True, "schema": without_lengths(schema) if openai else schema}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    return {"response_format": {"type": "json_object", "schema": schema}} if form else {}


def without_lengths(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without bounds on strings, which OpenAI's strict mode refuses."""
    changed = change_parts(schema, without_lengths)
    return {word: value for word, value in changed.items() if word not in ("minLength", "maxLength")}
