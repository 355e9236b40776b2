"""The chat model that runs in this process, and the base of the engines that hold its weights."""

import asyncio
import gc
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import psutil  # type: ignore[import-untyped]
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.chat_models import agenerate_from_stream
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from typing_extensions import override

from graph.models.fair_lock import FairLock
from graph.models.faults import ModelFailed
from graph.models.limits import REPLY_TOKENS

Messages = Sequence[tuple[str, str]]
"""Messages as (role, text); the roles are "system", "human" and "ai"."""

ROLES = {"system": "system", "human": "user", "ai": "assistant"}
"""What chat templates call the roles."""

Part = TypeVar("Part")

MAX_CONTEXT = 8192
"""Tokens of context used of a local model: 20 memories, notes and an answer fit into half of it, and the key-value
cache grows with it."""


@dataclass(frozen=True, slots=True)
class MemoryNeed:
    """Bytes that a model takes: its weights, its key-value cache at all of its context, and the peak of loading it."""

    parameters: int
    weights: int
    cache: int
    loading: int

    @property
    def total(self) -> int:
        """The most that it takes at any time."""
        return max(self.weights + self.cache, self.loading)


@dataclass(frozen=True, slots=True)
class Generation:
    """A reply that is written: the tokens of its prompt, its bounds, who takes its pieces, and whether it is stopped.

    `schema` is the JSON schema of the whole reply.
    """

    prompt: list[int]
    max_tokens: int
    schema: Mapping[str, Any] | None
    deliver: Callable[[str], None]
    stopped: threading.Event


class LocalWeights(ABC):
    """The weights of one model, loaded on first use; threads share them, and one thread generates at a time."""

    def __init__(self) -> None:
        self.generating = FairLock()
        self._loading = threading.RLock()
        self._parts: dict[str, Any] = {}

    @property
    @abstractmethod
    def context(self) -> int:
        """Tokens that a prompt and its reply may have together."""

    @property
    @abstractmethod
    def precision(self) -> str:
        """How the weights are stored, as "nf4"."""

    @property
    def on_cpu(self) -> bool:
        """Whether the model runs on the CPU, where a long prompt takes many seconds."""
        return True

    @property
    def free_bytes(self) -> int:
        """Free bytes where the model is loaded: on the GPU or in memory."""
        return int(psutil.virtual_memory().available)

    @property
    def loaded(self) -> bool:
        """Whether the weights are in memory."""
        return "model" in self._parts

    @abstractmethod
    def memory_need(self) -> MemoryNeed:
        """The memory that the model takes, estimated before it is loaded.

        Raises:
            UnknownModel: the model is missing, or cannot be run here.
        """

    def model(self) -> Any:  # noqa: ANN401  # each engine has a class of its own
        """The model, loaded on first use.

        Raises:
            UnknownModel: it is missing, or cannot be loaded here.
        """
        return self._once("model", self._load)

    def _once(self, name: str, load: Callable[[], Part]) -> Part:
        """What `load` returned the first time."""
        with self._loading:
            if name not in self._parts:
                self._parts[name] = load()
            part: Part = self._parts[name]
            return part

    @abstractmethod
    def _load(self) -> Any:  # noqa: ANN401
        """Load the model."""

    def unload(self) -> None:
        """Free the memory once no reply is being generated; the next question loads the model again."""
        self.generating.acquire()
        try:
            with self._loading:
                self._parts.clear()
                gc.unfreeze()  # a page that was opened since has put it out of sight
                gc.collect()
        finally:
            self.generating.release()

    def prompt(self, talk: Messages) -> list[int]:
        """The tokens of a prompt, by the model's own tokenizer and template."""
        return self._encode([{"role": ROLES[role], "content": text} for role, text in talk])

    @abstractmethod
    def _encode(self, chat: list[dict[str, str]]) -> list[int]:
        """The tokens of messages as chat templates take them.

        A model that can reason first is told not to: it would spend all tokens of a short answer, or minutes, on it.
        """

    @abstractmethod
    def write(self, reply: Generation) -> tuple[int, bool] | None:
        """Write a reply; its tokens and whether it ended by itself, None if it was stopped."""


class LocalModel(BaseChatModel):
    """A chat model whose weights are loaded on first use; it streams, and cancelling the task stops it.

    It takes the options `max_tokens` and `json_schema`; LangChain's `stop` is ignored. The weights are shared with
    every other chat model over the same ones.
    """

    weights: LocalWeights

    @property
    def _llm_type(self) -> str:
        return "memoir-local"

    def _run(
        self,
        messages: Sequence[BaseMessage],
        options: Mapping[str, Any],
        deliver: Callable[[str], None],
        stopped: threading.Event,
    ) -> dict[str, Any]:
        """Generate a reply until its end, or until `stopped` is set; returns its token counts and why it ended.

        The keys are those of a message: `usage_metadata`, and `response_metadata` with "finish_reason". The caller has
        acquired the lock of the weights, which is released here: this may run on after the caller was cancelled.
        """
        weights = self.weights
        try:
            if stopped.is_set():
                return {}
            prompt = weights.prompt([(message.type, message.text) for message in messages])
            tokens_in, context = len(prompt), weights.context
            if tokens_in >= context:
                raise ModelFailed(
                    f"The prompt has at least {tokens_in:,} tokens, and the chat model can read {context:,}. "
                    "Shorten the message, or choose a model with a longer context"
                )
            most = min(options.get("max_tokens") or REPLY_TOKENS, context - tokens_in)
            schema = options.get("json_schema")
            written = weights.write(Generation(prompt, most, schema, deliver, stopped))
        finally:
            weights.generating.release()
        if written is None:
            return {}
        tokens_out, ended = written
        usage = {"input_tokens": tokens_in, "output_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}
        return {"usage_metadata": usage, "response_metadata": {"finish_reason": "stop" if ended else "length"}}

    @override
    def _generate(self, messages: list[BaseMessage], *_: Any, **options: Any) -> ChatResult:
        return asyncio.run(agenerate_from_stream(self._astream(messages, **options)))

    @override
    async def _astream(
        self, messages: list[BaseMessage], *_: Any, **options: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        loop, pieces, stopped = asyncio.get_running_loop(), asyncio.Queue[str | None](), threading.Event()

        def deliver(piece: str) -> None:
            loop.call_soon_threadsafe(pieces.put_nowait, piece)

        def end(generation: asyncio.Future[dict[str, Any]]) -> None:
            generation.exception()  # retrieved even if nobody waits any more, or asyncio would log it
            pieces.put_nowait(None)

        await self.weights.generating.acquire_async()  # here: those who wait would take all threads that the loop has
        generation = loop.run_in_executor(None, self._run, messages, options, deliver, stopped)
        generation.add_done_callback(end)
        try:
            while (piece := await pieces.get()) is not None:
                yield ChatGenerationChunk(message=AIMessageChunk(content=piece))
            yield ChatGenerationChunk(message=AIMessageChunk(content="", **await generation))
        finally:
            stopped.set()


def runs_on_cpu(model: BaseChatModel) -> bool:
    """Whether a chat model runs on this CPU, where a long prompt takes many seconds."""
    return isinstance(model, LocalModel) and model.weights.on_cpu
