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

import math
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from graph.models.fair_lock import FairLock
from graph.models.limits import change_schema

if TYPE_CHECKING:
    from langchain_openai.chat_models.base import BaseChatOpenAI

Told = TypeVar("Told")

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


@dataclass(slots=True)
class ServerProfile:
    """What is known of a model's server: the model's context in tokens, and whether it answers several at once.

    `count` is the path where it counts tokens, and the field of the text that is counted. `takes_options` says that a
    request may set options of the model's chat template, such as whether it thinks. The server was asked at `asked_at`
    last, and took a schema in this `form` last.
    """

    context: int | None = None
    count: tuple[str, str] | None = None
    parallel: bool = False
    takes_options: bool = False
    asked_at: float = -math.inf
    form: str | None = None


_KNOWN: defaultdict[tuple[str, str], ServerProfile] = defaultdict(ServerProfile)
"""The profiles by the address and the name of the model."""


def server_profile(model: BaseChatOpenAI) -> ServerProfile:
    """What is known of the server of this model, which is asked once a minute; blocks meanwhile."""
    known = _KNOWN[str(model.openai_api_base), model.model_name]
    if model.openai_api_base == OPENAI:
        known.context, known.parallel = (model.profile or {}).get("max_input_tokens"), True
    elif time.monotonic() > known.asked_at + KEEP_SECONDS and (told := _alone(model, known, lambda: _ask(model))):
        known.context, known.count = told.context or known.context, told.count
        known.parallel, known.takes_options, known.asked_at = told.parallel, told.takes_options, time.monotonic()
    return known


def count_at_server(model: BaseChatOpenAI, text: str) -> int | None:
    """Tokens of a text by the server's tokenizer, without the model's template; None if it does not count; blocks."""
    profile = server_profile(model)
    if profile.count is None:
        return None
    path, field = profile.count
    reply = _alone(model, profile, lambda: _fetch(model, path, {field: text}))
    tokens = _find(reply, "tokens")
    return len(tokens) if isinstance(tokens, list) else _size(reply, "count")


def _alone(model: BaseChatOpenAI, profile: ServerProfile, ask: Callable[[], Told]) -> Told | None:
    """What a short request brings; None if another of ours is with the server for long."""
    turn = turn_of(model, profile)
    if not turn.acquire(timeout=ASK_SECONDS):
        return None
    try:
        return ask()
    finally:
        turn.release()


def turn_of(model: BaseChatOpenAI, profile: ServerProfile) -> FairLock:
    """The lock of a server on this machine that answers one request at a time; a new lock for any other.

    llama-cpp-python's server breaks off a reply when any other request arrives, even one for its list of models.
    """
    address = str(model.openai_api_base)
    at_once = profile.parallel or not is_loopback(urlsplit(address).hostname or "")
    return FairLock() if at_once else _TURNS.setdefault(address, FairLock())


def is_loopback(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _fetch(model: BaseChatOpenAI, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
    """What a server replies to a GET or, with a body, to a POST; {} if that is no JSON object, None if it is away.

    "/models" is of OpenAI's protocol; what else a server offers lies beside that.
    """
    from openai import APIConnectionError, OpenAIError

    address = str(model.openai_api_base).rstrip("/")
    url = (address if path == "/models" else address.removesuffix("/v1")) + path
    client = model.root_client.with_options(timeout=ASK_SECONDS, max_retries=0)
    try:
        reply = client.post(url, cast_to=object, body=dict(body)) if body else client.get(url, cast_to=object)
    except APIConnectionError:
        return None
    except (OpenAIError, ValueError):
        return {}
    return reply if isinstance(reply, dict) else {}


def _ask(model: BaseChatOpenAI) -> ServerProfile | None:
    """What the server of a model tells; None where it cannot be reached."""
    listed = _fetch(model, "/models")
    if listed is None:
        return None
    rows = _rows(listed, "data")
    row = next((row for row in rows if row.get("id") == model.model_name), {})
    makers = {each.get("owned_by") for each in rows}
    if makers == {"me"}:  # llama-cpp-python
        return ServerProfile(count=("/extras/tokenize/count", "input"))
    is_llama, is_vllm = "llamacpp" in makers, "vllm" in makers
    if is_llama and len(rows) == 1:  # a server of one model answers to any name
        row = rows[0]
    context = next(filter(None, _contexts(model, row)), None)
    count = ("/tokenize", "content") if is_llama else None
    can_choose = is_llama or is_vllm
    return ServerProfile(context, count, parallel=can_choose or context is not None, takes_options=can_choose)


def _contexts(model: BaseChatOpenAI, row: Mapping[str, Any]) -> Iterator[int | None]:
    """The context of a model, in the `row` of the server's list or where other servers tell it."""
    name = model.model_name
    yield from (_size(row, "max_model_len"), _size(row, "context_length"), _size(row, "meta", "n_ctx"))
    yield _size(_fetch(model, "/props"), "default_generation_settings", "n_ctx")
    if shown := _fetch(model, "/api/show", {"model": name}):  # Ollama
        loaded = _rows(_fetch(model, "/api/ps"), "models")
        yield from (_size(each, "context_length") for each in loaded if each.get("name") in (name, f"{name}:latest"))
        chosen = re.search(r"(?m)^num_ctx\s+(\d+)", str(shown.get("parameters")))
        most = _size(shown, "model_info", f"{_find(shown, 'model_info', 'general.architecture')}.context_length")
        yield int(chosen[1]) if chosen else min(OLLAMA_CONTEXT, most or OLLAMA_CONTEXT)
    listed = _rows(_fetch(model, "/api/v0/models"), "data")  # LM Studio
    yield from (_size(each, "loaded_context_length") for each in listed if each.get("id") == name)


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


def forms(took: str | None) -> list[tuple[str, Sequence[int]]]:
    """The forms to try, beginning with the one that a server took before, and the status that may refuse each."""
    left = FORMS if took is None else FORMS[FORMS.index(took) :]
    return [(form, [status for status in REFUSALS if form and (form != took or status not in FAILED)]) for form in left]


def response_format(form: str, schema: Mapping[str, Any], *, openai: bool) -> dict[str, Any]:
    """The fields of a request that ask for a reply of this schema."""
    if form == "json_schema":
        taken = change_schema(schema, _without_lengths) if openai else schema
        named = {"name": "reply", "strict": True, "schema": taken}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    return {"response_format": {"type": "json_object", "schema": schema}} if form else {}


def _without_lengths(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without bounds on strings, which OpenAI's strict mode refuses."""
    return {word: value for word, value in schema.items() if word not in ("minLength", "maxLength")}
