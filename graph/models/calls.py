"""Ask a chat model for one reply, whole or piece by piece, and turn every failure into a message for the user.

A model that cannot be reached, refuses or runs on is one kind of fault here, `ModelFailed`, whose message says what
happened and what to do. It never holds a key, even where the server repeated it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graph.models.keys import without_keys
from memory.errors import MemoirError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage, AIMessageChunk

LONGEST_REPLY = 20_000
"""Characters of a reply; some 5,000 tokens, where an answer with its notes has at most 1,000."""

Talk = Sequence[tuple[str, str]]
"""Messages as (role, text); the roles are "system", "human" and "ai"."""

Schema = Mapping[str, Any]

_PASSING = re.compile("Timeout|Connection|OutOfMemory")

_AGAIN = "Nothing was kept of it; try again"

REMEDIES: tuple[tuple[Callable[[BaseException], bool], str], ...] = (
    (
        lambda f: _status(f) in (401, 403),
        "The key was refused: set OPENAI_API_KEY (openai:...) or MEMOIR_API_KEY (any other server) anew",
    ),
    (lambda f: _status(f) == 404, "No model of that name is there: compare the name with what the server offers"),
    (lambda f: _status(f) == 429, "It has too many requests, or the quota is used up: wait, then try again"),
    (lambda f: _status(f) in (400, 413, 422), "It refused the request: look whether it is a chat model, and how long"),
    (lambda f: (_status(f) or 0) >= 500, "The server has a fault of its own: look at its log, or try again"),
    (lambda f: "Timeout" in type(f).__name__, "It kept silent for too long: try again, or take a faster model"),
    (lambda f: "Connection" in type(f).__name__, "Look whether the server is running and its address is right"),
    (
        lambda f: "OutOfMemory" in type(f).__name__,
        "Its memory is full: unload other models, take a smaller one or quantization nf4",
    ),
)


class ModelFailed(MemoirError):
    """A chat model did not reply: unreachable, refused, too slow, or what came was empty or no reply."""


class Unreachable(ModelFailed):
    """It might reply another time: its server is away, busy or refuses the key, or its memory is full."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What a chat model replied, and the tokens it counted; both 0 where it counts none."""

    text: str
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: Completion) -> Completion:
        """The later reply, with the tokens of both."""
        return Completion(other.text, self.tokens_in + other.tokens_in, self.tokens_out + other.tokens_out)


def complete(model: BaseChatModel, prompt: str) -> Completion:
    """Ask once (the model's own bounded retries included) and wait for the whole reply.

    Raises:
        ModelFailed: there is no reply; the message says why.
    """
    try:
        reply = model.invoke(prompt)
    except _faults() as fault:
        failed = _failed(fault)
    else:
        return _completion(reply.text, reply)
    # Not within `except`: the fault may quote the key, and Python would print it as this error's context.
    raise failed


async def converse(
    model: BaseChatModel,
    talk: Talk,
    *,
    schema: Schema | None = None,
    on_piece: Callable[[str], None] = lambda piece: None,
) -> Completion:
    """Ask and receive the reply as it comes. Cancelling the task ends the request, or the generation.

    Args:
        model: The chat model.
        talk: The messages so far; the last of them is to be replied to.
        schema: The JSON schema of the reply. It is handed to a server that takes one; any other model knows it from
            the prompt alone, so the reply must be parsed in any case.
        on_piece: Called with each piece of the reply.

    Raises:
        ModelFailed: there is no reply, or only a part of one; the message says why.
    """
    if schema is None or not _takes_schemas(model):
        return await _receive(model, talk, {}, on_piece)
    wanted = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": dict(schema)}}
    try:
        return await _receive(model, talk, {"extra_body": {"response_format": wanted}}, on_piece)
    except _NoSchemas:
        _WITHOUT_SCHEMAS.add(_place(model))
        return await _receive(model, talk, {}, on_piece)


class _NoSchemas(Exception):
    """The server does not know `response_format`."""


_WITHOUT_SCHEMAS: set[str] = set()
"""Servers that refused a schema once; they are not tried again while the program runs."""


def _place(model: BaseChatModel) -> str:
    return f"{getattr(model, 'openai_api_base', '')}#{getattr(model, 'model_name', '')}"


def _is_hosted(model: BaseChatModel) -> bool:
    return model._llm_type == "openai-chat"


def _takes_schemas(model: BaseChatModel) -> bool:
    return _is_hosted(model) and _place(model) not in _WITHOUT_SCHEMAS


async def _receive(
    model: BaseChatModel, talk: Talk, options: Mapping[str, Any], on_piece: Callable[[str], None]
) -> Completion:
    whole: AIMessageChunk | None = None
    fault: Exception | None = None
    length = 0
    stream: Any = model.astream(list(talk), **options)
    try:
        async with aclosing(stream):
            async for piece in stream:
                whole = piece if whole is None else whole + piece
                length += len(piece.text)
                if length > LONGEST_REPLY:
                    raise ModelFailed(_said(f"it ran on past {LONGEST_REPLY:,} characters", "Take another model"))
                if piece.text:
                    on_piece(without_keys(piece.text))
    except Exception as raised:  # any: what a server that is not quite OpenAI's raises cannot be listed
        # LangChain's word for a stream of nothing; it is reported like any other empty reply.
        is_empty = isinstance(raised, ValueError) and str(raised).startswith("No generation chunks")
        fault = None if is_empty else raised.with_traceback(None)
    # Not within `except`: the fault may quote the key, and Python would print it as this error's context.
    if fault is not None:
        if options and whole is None and _status(fault) in (400, 404, 422, 501):
            raise _NoSchemas
        raise _failed(fault, partial=length > 0)
    if whole is not None and length and _is_hosted(model) and not whole.response_metadata.get("finish_reason"):
        raise ModelFailed(_said("it broke off within its reply: the connection ended", _AGAIN))
    return _completion(whole.text if whole else "", whole)


def _completion(text: str, reply: AIMessage | None) -> Completion:
    usage = reply.usage_metadata if reply is not None else None
    counted = (usage["input_tokens"], usage["output_tokens"]) if usage else (0, 0)
    ended = str(reply.response_metadata.get("finish_reason") or "nothing known") if reply is not None else "nothing"
    refusal = str(reply.additional_kwargs.get("refusal") or "") if reply is not None else ""
    if refusal or ended == "content_filter":
        raise ModelFailed(_said(f"it declined: {refusal or ended}", "Put the question in other words"))
    if not text.strip():
        raise ModelFailed(_said(f"an empty one, ended by {ended}", _AGAIN))
    return Completion(without_keys(text), *counted)


def _faults() -> tuple[type[Exception], ...]:
    from langchain_core.exceptions import LangChainException

    # A server that is not quite OpenAI's shows as any of the last four: a reply that is no JSON, or lacks a field.
    return (LangChainException, OSError, ValueError, TypeError, LookupError, RuntimeError)


def _failed(fault: BaseException, *, partial: bool = False) -> MemoirError:
    """The fault as one that can be shown; it keeps no trace of the other, which may quote a key."""
    if isinstance(fault, MemoirError):
        return fault
    remedy = next((remedy for is_it, remedy in REMEDIES if is_it(fault)), _AGAIN)
    wait = _header(fault, "retry-after")
    remedy += f" (it asks for {wait} s)" if wait.isdecimal() else ""
    broken = "it broke off within its reply; " if partial else ""
    status = _status(fault) or 0
    passing = status in (401, 403, 404, 429) or status >= 500 or _PASSING.search(type(fault).__name__)
    kind = Unreachable if passing else ModelFailed
    return kind(_said(f"{broken}{type(fault).__name__}: {str(fault)[:500]}", remedy))


def _said(what: str, remedy: str) -> str:
    return f"the chat model gave no usable reply ({without_keys(what)}). {remedy}"


def _status(fault: BaseException) -> int | None:
    status = getattr(fault, "status_code", None)
    return status if isinstance(status, int) else None


def _header(fault: BaseException, name: str) -> str:
    headers: Iterable[Any] = getattr(getattr(fault, "response", None), "headers", None) or {}
    return str(dict(headers).get(name, ""))
