"""Ask a chat model for one reply, whole or piece by piece, and turn every failure into a message for the user.

Whatever goes wrong raises `ModelFailed`, whose message says what happened and what to do. It never contains a key, even
if the server repeated one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

from graph.models.hosted import OPENAI
from graph.models.keys import redact_keys
from memory.errors import MemoirError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, AIMessageChunk
    from langchain_openai.chat_models.base import BaseChatOpenAI

MAX_REPLY_CHARACTERS = 20_000
"""Some 5,000 tokens; an answer with its notes has at most 1,000."""

Messages = Sequence[tuple[str, str]]
"""Messages as (role, text); the roles are "system", "human" and "ai"."""

Schema = Mapping[str, Any]

_TRY_AGAIN = "Nothing was stored; try again"
_CHECK_KEY = "The server refused the key: check OPENAI_API_KEY (openai:...) or MEMOIR_API_KEY (any other server)"
_CHECK_KIND = "The server refused the request: check that it is a chat model"

REMEDIES_BY_STATUS: Mapping[int, str] = {
    400: _CHECK_KIND,
    401: _CHECK_KEY,
    403: _CHECK_KEY,
    404: "The server has no model of that name: check which models it offers",
    413: _CHECK_KIND,
    422: _CHECK_KIND,
    429: "The server has too many requests, or your quota is used up: wait, then try again",
    500: "The server failed: look at its log, or try again",
}
"""By HTTP status; 500 stands for all from there on."""

REMEDIES_BY_NAME: Mapping[str, str] = {
    "Timeout": "The server did not answer in time: try again, or use a faster model",
    "Connection": "Check that the server is running and that its address is right",
    "OutOfMemory": "The memory is full: unload other models, or use a smaller one or quantization nf4",
}
"""By a part of the exception's name; all of these are temporary."""


class ModelFailed(MemoirError):
    """A chat model gave no usable reply: it was unreachable, refused, too slow, or replied with nothing."""


class Unreachable(ModelFailed):
    """It may reply another time: its server is away, busy or refuses the key, or the memory is full."""


@dataclass(frozen=True, slots=True)
class Completion:
    """The reply of a chat model, and its token counts (0 where the server reports none)."""

    text: str
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: Completion) -> Completion:
        """The text of the later reply, with the tokens of both."""
        return Completion(other.text, self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out)


def complete(model: BaseChatModel, prompt: str) -> Completion:
    """Ask once (with the model's own bounded retries) and wait for the whole reply.

    Raises:
        ModelFailed: there is no reply; the message says why.
    """
    from langchain_core.exceptions import LangChainException

    try:
        reply = model.invoke(prompt)
    # A server that is not quite OpenAI's shows as any of the last four: a reply that is no JSON, or lacks a field.
    except (LangChainException, OSError, ValueError, TypeError, LookupError, RuntimeError) as fault:
        failed = _failed(fault)
    else:
        return _completion(reply)
    # Not within `except`: the fault may quote the key, and Python would print it as this error's context.
    raise failed


async def stream_reply(
    model: BaseChatModel,
    messages: Messages,
    *,
    schema: Schema | None = None,
    max_tokens: int | None = None,
    stop: Sequence[str] = (),
    on_piece: Callable[[str], None] = lambda piece: None,
) -> Completion:
    """Ask, and call `on_piece` with each piece of the reply. Cancelling the task ends the request, or the generation.

    The reply has at most `max_tokens` tokens and ends before any text of `stop`. A local model is constrained to the
    JSON schema of the reply; a server is handed it if it takes one. Others know it from the prompt alone, so the reply
    must be parsed in any case.

    Raises:
        ModelFailed: there is no reply, or only a part of one; the message says why.
    """
    options: dict[str, Any] = {"stop": list(stop)} if stop else {}
    if not _is_hosted(model):
        options |= {} if max_tokens is None else {"max_tokens": max_tokens}
        options |= {"json_schema": dict(schema)} if schema is not None and _is_local(model) else {}
        return await _receive(model, messages, options, on_piece)
    # LangChain renames max_tokens to max_completion_tokens, which OpenAI alone needs and few other servers know.
    body: dict[str, Any] = {} if max_tokens is None else {"max_tokens": max_tokens}
    if model.openai_api_base == OPENAI:
        options, body = options | body, {}
    if schema is None or _model_key(model) in _WITHOUT_SCHEMAS:
        return await _receive(model, messages, options | {"extra_body": body}, on_piece)
    response_format = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": dict(schema)}}
    with_schema = {"extra_body": body | {"response_format": response_format}}
    try:
        return await _receive(model, messages, options | with_schema, on_piece)
    except _NoSchemas:
        _WITHOUT_SCHEMAS.add(_model_key(model))
        return await _receive(model, messages, options | {"extra_body": body}, on_piece)


class _NoSchemas(Exception):
    """The server does not support `response_format`."""


_WITHOUT_SCHEMAS: set[str] = set()
"""Models that refused a schema once, by `_model_key`; they are not sent another."""


def _model_key(model: BaseChatModel) -> str:
    return f"{getattr(model, 'openai_api_base', '')}#{getattr(model, 'model_name', '')}"


def _is_hosted(model: BaseChatModel) -> TypeGuard[BaseChatOpenAI]:
    return model._llm_type == "openai-chat"


def _is_local(model: BaseChatModel) -> bool:
    return model._llm_type == "memoir-local"


async def _receive(
    model: BaseChatModel, messages: Messages, options: Mapping[str, Any], on_piece: Callable[[str], None]
) -> Completion:
    reply: AIMessageChunk | None = None
    fault: Exception | None = None
    length = 0
    stream: Any = model.astream(list(messages), **options)
    try:
        async with aclosing(stream):
            async for piece in stream:
                reply = piece if reply is None else reply + piece
                length += len(piece.text)
                if length > MAX_REPLY_CHARACTERS:
                    what = f"it was longer than {MAX_REPLY_CHARACTERS:,} characters"
                    raise ModelFailed(_message(what, "Try another model"))
                if piece.text:
                    on_piece(redact_keys(piece.text))
    except Exception as raised:  # any: what a server that is not quite OpenAI's raises cannot be listed
        # LangChain's word for a stream of nothing; it is reported like any other empty reply.
        is_empty = isinstance(raised, ValueError) and str(raised).startswith("No generation chunks")
        fault = None if is_empty else raised.with_traceback(None)
    # Not within `except`: the fault may quote the key, and Python would print it as this error's context.
    if fault is not None:
        if (
            "response_format" in options.get("extra_body", {})
            and reply is None
            and _status(fault) in (400, 404, 422, 501)
        ):
            raise _NoSchemas
        raise _failed(fault, partial=length > 0)
    if reply is not None and length and _is_hosted(model) and not reply.response_metadata.get("finish_reason"):
        raise ModelFailed(_message("the connection ended within the reply", _TRY_AGAIN))
    if reply is None:
        raise ModelFailed(_message("it was empty, finish reason: no reply", _TRY_AGAIN))
    return _completion(reply)


def _completion(reply: AIMessage) -> Completion:
    ended = str(reply.response_metadata.get("finish_reason") or "unknown")
    refusal = str(reply.additional_kwargs.get("refusal") or "")
    if refusal or ended == "content_filter":
        raise ModelFailed(_message(f"it declined: {refusal or ended}", "Rephrase the question"))
    if not reply.text.strip():
        raise ModelFailed(_message(f"it was empty, finish reason: {ended}", _TRY_AGAIN))
    usage = reply.usage_metadata
    return Completion(redact_keys(reply.text), *((usage["input_tokens"], usage["output_tokens"]) if usage else (0, 0)))


def _failed(fault: BaseException, *, partial: bool = False) -> MemoirError:
    """A fault to show to the user; it does not refer to the original, which may quote a key."""
    if isinstance(fault, MemoirError):
        return fault
    status, name = _status(fault), type(fault).__name__
    by_name = next((remedy for part, remedy in REMEDIES_BY_NAME.items() if part in name), "")
    remedy = REMEDIES_BY_STATUS.get(min(status, 500)) or by_name or _TRY_AGAIN
    headers: Iterable[Any] = getattr(getattr(fault, "response", None), "headers", None) or {}
    wait = str(dict(headers).get("retry-after", ""))
    remedy += f" (the server asks for {wait} s)" if wait.isdecimal() else ""
    broken = "the reply broke off; " if partial else ""
    kind = Unreachable if status in (401, 403, 404, 429) or status >= 500 or by_name else ModelFailed
    return kind(_message(f"{broken}{name}: {str(fault)[:500]}", remedy))


def _message(what: str, remedy: str) -> str:
    return f"The chat model gave no usable reply ({redact_keys(what)}). {remedy}"


def _status(fault: BaseException) -> int:
    """The HTTP status of a fault; 0 if it has none."""
    status = getattr(fault, "status_code", None)
    return status if isinstance(status, int) else 0
