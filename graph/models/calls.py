"""Ask a chat model for one reply, whole or piece by piece, within bounds that hold for every engine.

Whatever goes wrong raises `ModelFailed`, whose message says what happened and what to do.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk

from graph.models import faults, limits
from graph.models.faults import LONGER_CONTEXT, TRY_AGAIN, ModelFailed, ModelUnavailable
from graph.models.hosted import profile
from graph.models.hosted.keys import redact_keys
from graph.models.local_model import LocalModel, Messages
from graph.models.tokens import estimated_size, estimated_tokens, is_hosted

if TYPE_CHECKING:
    from langchain_openai.chat_models.base import BaseChatOpenAI

__all__ = ["Completion", "Messages", "ModelFailed", "ModelUnavailable", "Schema", "complete", "stream_reply"]

Schema = Mapping[str, Any]
Say = Callable[[str], None]

REASONING_TOKENS = 4096
"""What a model of OpenAI's that reasons may use for it, as it counts these among the tokens of its reply."""

_REASONED = "It used all of its tokens before it said anything: choose a model that does not reason, or turn that off"


@dataclass(frozen=True, slots=True)
class Completion:
    """The reply of a chat model, with its token counts.

    `cut` says that it did not end by itself: it reached its most tokens, or its time, or began to repeat itself.
    The counts are estimates where the engine reports none.
    """

    text: str
    tokens_in: int = 0
    tokens_out: int = 0
    cut: bool = False

    def __add__(self, other: "Completion") -> "Completion":
        """The text of the later reply, with the tokens of both."""
        return replace(other, tokens_in=self.tokens_in + other.tokens_in, tokens_out=self.tokens_out + other.tokens_out)

    @property
    def cost(self) -> dict[str, int]:
        """What it cost, as figures of a trace."""
        return {"tokens in": self.tokens_in, "tokens out": self.tokens_out}


def complete(
    model: BaseChatModel, prompt: str, *, schema: Schema | None = None, max_tokens: int | None = None
) -> Completion:
    """Ask and wait for the whole reply, in a thread without an event loop of its own.

    Raises:
        ModelFailed: there is no reply; the message says why.
    """
    return asyncio.run(stream_reply(model, [("human", prompt)], schema=schema, max_tokens=max_tokens))


async def stream_reply(
    model: BaseChatModel,
    messages: Messages,
    *,
    schema: Schema | None = None,
    max_tokens: int | None = None,
    on_piece: Say = lambda piece: None,
) -> Completion:
    """Ask, and call `on_piece` with each piece of the reply. Cancelling the task ends the request, or the generation.

    The reply has at most `max_tokens` tokens; one that repeats itself is ended after the first time, so its text may be
    shorter than the pieces. A local model is constrained to the JSON schema of the reply; a server is handed it if it
    takes one. Others know it from the prompt alone, so the reply must be parsed in any case.

    Raises:
        ModelFailed: there is no reply, or only a part of one; the message says why.
    """
    bounded = None if schema is None else limits.bounded_schema(schema)
    most = max_tokens or limits.REPLY_TOKENS
    reply = _Reply(model, messages, limits.MAX_CHARACTERS_PER_TOKEN * most, on_piece)
    if is_hosted(model):
        server = await asyncio.to_thread(profile.server_profile, model)
        async with profile.turn_of(model, server):
            return await _ask_server(model, server, reply, bounded, most)
    options: dict[str, Any] = {} if max_tokens is None else {"max_tokens": max_tokens}
    if isinstance(model, LocalModel) and bounded is not None:
        options["json_schema"] = bounded
    return await reply.receive(options)


async def _ask_server(
    model: "BaseChatOpenAI", server: profile.ServerProfile, reply: "_Reply", schema: Schema | None, most: int
) -> Completion:
    """Ask with the schema in each form in turn, until the server takes one; which, is remembered.

    A server that fails in every form has another reason for it.
    """
    openai = model.openai_api_base == profile.OPENAI
    reasons = openai and (model.profile or {}).get("reasoning_output")
    bound = "max_completion_tokens" if openai else "max_tokens"  # few other servers know OpenAI's word
    body: dict[str, Any] = {bound: most + (REASONING_TOKENS if reasons else 0)}
    if server.takes_options:
        body["chat_template_kwargs"] = {"enable_thinking": False}
    try:
        for form, refusals in profile.forms(server.form) if schema else ():
            fields = body | profile.response_format(form, schema or {}, openai=openai)
            try:
                received = await reply.receive({"extra_body": fields})
            except ModelFailed as fault:
                if fault.status not in refusals or reply.text:
                    raise
            else:
                server.form = form
                return received
        return await reply.receive({"extra_body": body})
    except faults.ContextExceeded as fault:
        server.context = fault.length or server.context
        raise


@dataclass
class _Reply:
    """What is asked of a model, and what came of its reply so far; `most` is the most characters of it.

    It `has_form` if the request holds the schema that it must have.
    """

    model: BaseChatModel
    messages: Messages
    most: int
    on_piece: Say
    has_form: bool = False
    message: AIMessage | None = None
    text: str = ""
    cut: bool = False

    async def receive(self, options: Mapping[str, Any]) -> Completion:
        """Read the stream of the reply.

        Raises:
            ModelFailed: there is no reply, or only a part of one.
        """
        self.has_form = "json_schema" in options or "response_format" in options.get("extra_body", ())
        fault: Exception | None = None
        clock = asyncio.timeout(None)
        try:
            if isinstance(self.model, LocalModel):  # before the clock starts: a large model takes minutes, once
                await asyncio.to_thread(self.model.weights.model)
            started = asyncio.get_running_loop().time()
            async with clock, aclosing(self._pieces(options)) as pieces:
                clock.reschedule(started + limits.FIRST_TEXT_SECONDS)
                async for piece in pieces:
                    self._take(piece)
                    if self.cut:
                        break
                    if self.text:
                        clock.reschedule(started + limits.TOTAL_SECONDS)
        except Exception as raised:  # any: what a server that is not quite OpenAI's raises cannot be listed
            fault = raised.with_traceback(None)
        if clock.expired():
            self.cut = bool(self.text)
            fault = None if self.cut else TimeoutError(f"no text came within {limits.FIRST_TEXT_SECONDS:.0f} s")
        # Not within `except`: the fault may quote the key, and Python would print it as this error's context.
        if fault is not None:
            raise faults.to_error(fault, partial=bool(self.text))
        return self._completion()

    async def _pieces(self, options: Mapping[str, Any]) -> AsyncGenerator[AIMessage, None]:
        """The pieces of the stream; if it has none, the server is asked again for the reply in one piece.

        llama-cpp-python ends the stream at once, with status 200, whatever is wrong; it gives the reason there.
        """
        begun = False
        try:
            stream: Any = self.model.astream(list(self.messages), **options)
            async with aclosing(stream):
                async for piece in stream:
                    begun = begun or bool(piece.text) or bool(piece.response_metadata.get("finish_reason"))
                    yield piece
        except ValueError as fault:  # LangChain's word for an empty stream
            if not str(fault).startswith("No generation chunks"):
                raise
        if begun or not is_hosted(self.model):
            return
        with suppress(LookupError, TypeError, ValueError):  # not in the form of a reply, either
            yield await self.model.ainvoke(list(self.messages), **options)

    def _take(self, piece: AIMessage) -> None:
        if isinstance(self.message, AIMessageChunk) and isinstance(piece, AIMessageChunk):
            self.message += piece
        else:
            self.message = piece
        if not piece.text:
            return
        self.text += piece.text
        self.on_piece(redact_keys(piece.text))
        # Where the schema holds, it ends an array that repeats itself; ended here, it would be no JSON.
        in_form = self.has_form and self.text.lstrip()[:1] in ("{", "[")
        loopless = None if in_form else limits.without_loop(self.text)
        if loopless is not None:
            self.text, self.cut = loopless.rstrip(), True
            if len(loopless.strip()) < limits.SHORTEST_REPLY:
                raise ModelFailed(faults.no_reply(f"it only repeated “{loopless.strip()}”", "Try another model"))
        if len(self.text) > self.most:
            self.text, self.cut = self.text[: self.most], True

    def _completion(self) -> Completion:
        message = self.message
        ended = str(message.response_metadata.get("finish_reason") or "") if message else ""
        refusal = str(message.additional_kwargs.get("refusal") or "") if message else ""
        if refusal or ended == "content_filter":
            raise ModelFailed(faults.no_reply(f"it declined: {refusal or ended}", "Rephrase the question"))
        if not self.text.strip():
            remedy = _REASONED if ended == "length" else TRY_AGAIN
            if is_hosted(self.model) and not ended:
                remedy += f". If it stays empty, the prompt may be longer than the model's context: {LONGER_CONTEXT}"
            raise ModelFailed(faults.no_reply(f"it was empty, finish reason: {ended or 'unknown'}", remedy))
        if is_hosted(self.model) and not (ended or self.cut):
            raise ModelFailed(faults.no_reply("the connection ended", TRY_AGAIN, partial=True))
        text, cut = redact_keys(self.text), self.cut or ended == "length"
        if message and (usage := message.usage_metadata):
            return Completion(text, usage["input_tokens"], usage["output_tokens"], cut)
        return Completion(text, estimated_size(self.messages), estimated_tokens(text), cut)
