"""Turn whatever goes wrong with a chat model into one error whose message says what happened and what to do.

The message never contains a key, even if the server repeated one.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from graph.language.patterns import pattern
from graph.models.hosted.keys import redact_keys
from memory import read_table
from memory.errors import MemoirError

_TABLE = read_table(__file__)
TRY_AGAIN, LONGER_CONTEXT = _TABLE["try_again"], _TABLE["longer_context"]
_BY_STATUS = {status: known["remedy"] for known in _TABLE["by_status"] for status in known["status"]}
_BY_NAME: Mapping[str, str] = _TABLE["by_name"]

_CONTEXT = pattern(r"context.{0,5}(length|size|window)|maximum context|exceed_context|prompt is too long")
_CONTEXT_LENGTH = pattern(r"(?:context length is|context (?:size|window)(?: of)?) \(?([\d,]+)")
"""OpenAI, vLLM, llama-cpp-python: "maximum context length is 4096 tokens"; llama.cpp: "context size (4096 tokens)"."""


class UnknownModel(MemoirError):
    """A name is not that of a chat model, or the model's key or files are missing."""


class ModelFailed(MemoirError):
    """A chat model gave no usable reply: it was unreachable, refused, too slow, or replied with nothing.

    `status` is the HTTP status with which its server refused or failed, 0 if there is none.
    """

    status = 0


class ModelUnavailable(ModelFailed):
    """It may reply another time: its server is away, busy or refuses the key, or the memory is full."""


class ContextExceeded(ModelFailed):
    """The prompt is longer than the model's context; `length` is that context, 0 where the server does not say."""

    def __init__(self, message: str, length: int = 0) -> None:
        super().__init__(message)
        self.length = length


def to_error(fault: BaseException, *, partial: bool = False) -> MemoirError:
    """A fault to show to the user; it does not refer to the original, which may quote a key."""
    if isinstance(fault, MemoirError):
        return fault
    from langchain_core.exceptions import ContextOverflowError

    code, body, name = getattr(fault, "status_code", 0), getattr(fault, "body", None), type(fault).__name__
    status = code if isinstance(code, int) else 0
    message = body.get("message") if isinstance(body, Mapping) else None
    is_told = status and message and isinstance(message, str)
    said = (f"the server answered {status}: {message}" if is_told else f"{name}: {fault}")[:500]
    is_refused = status in (400, 413, 422, 500)
    if isinstance(fault, ContextOverflowError) or (is_refused and _CONTEXT.search(str(fault))):
        length = _CONTEXT_LENGTH.search(said)
        told = int(length[1].replace(",", "")) if length else 0
        remedy = LONGER_CONTEXT[0].upper() + LONGER_CONTEXT[1:]
        return ContextExceeded(no_reply(f"the prompt is longer than its context; {said}", remedy), told)
    by_name = next((remedy for part, remedy in _BY_NAME.items() if part in name), "")
    remedy = _BY_STATUS.get(min(status, 500)) or by_name or TRY_AGAIN
    headers: Iterable[Any] = getattr(getattr(fault, "response", None), "headers", None) or {}
    wait = str(dict(headers).get("retry-after", ""))
    remedy += f" (the server asks for {wait} s)" if wait.isdecimal() else ""
    kind = ModelUnavailable if status in (401, 403, 404, 429) or status >= 500 or by_name else ModelFailed
    error = kind(no_reply(said, remedy, partial=partial))
    error.status = status
    return error


def no_reply(what: str, remedy: str, *, partial: bool = False) -> str:
    """The message of a reply that is of no use, or of which only a part came."""
    happened = "'s reply broke off" if partial else " gave no usable reply"
    return f"The chat model{happened} ({redact_keys(what)}). {remedy}"
