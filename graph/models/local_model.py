"""The base of the chat models that run in this process, and of their weights."""

from __future__ import annotations

import asyncio
import gc
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import psutil  # type: ignore[import-untyped]
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from graph.models.faults import ModelFailed
from graph.models.limits import REPLY_TOKENS

if TYPE_CHECKING:
    from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun

    from graph.models.quantization import MemoryNeed


ROLES = {"system": "system", "human": "user", "ai": "assistant"}
"""What chat templates call the roles."""


@dataclass(frozen=True, slots=True)
class ReplyOptions:
    """What a reply must keep to: its most tokens, and the JSON schema of the whole of it."""

    max_tokens: int | None = None
    json_schema: Mapping[str, Any] | None = None


class LocalWeights(ABC):
    """The weights of one model, loaded on first use; threads share them, and one thread generates at a time."""

    def __init__(self) -> None:
        self.generating = threading.Lock()
        self._loading = threading.Lock()
        self._model: Any = None

    @property
    @abstractmethod
    def context(self) -> int:
        """Tokens that a prompt and its reply may have together."""

    @property
    @abstractmethod
    def precision(self) -> str:
        """How the weights are stored, as "nf4"."""

    @property
    def loaded(self) -> bool:
        """Whether the weights are in memory."""
        return self._model is not None

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
        with self._loading:
            if self._model is None:
                self._model = self._load()
            return self._model

    @abstractmethod
    def _load(self) -> Any:  # noqa: ANN401
        """Load the model."""

    def unload(self) -> None:
        """Free the memory once no reply is being generated; the next question loads the model again."""
        with self.generating, self._loading:
            self._forget()
            gc.collect()

    def _forget(self) -> None:
        """Drop all that was loaded."""
        self._model = None


class LocalModel(BaseChatModel):
    """A chat model whose weights are loaded on first use; it streams, and cancelling the task stops it.

    It takes the options `max_tokens` and `json_schema`; LangChain's `stop` is ignored.
    """

    name: str
    temperature: float = 0.0

    @property
    def _llm_type(self) -> str:
        return "memoir-local"

    @property
    @abstractmethod
    def weights(self) -> LocalWeights:
        """The weights, shared with every other chat model over the same ones."""

    @property
    def on_cpu(self) -> bool:
        """Whether it runs on the CPU, where a long prompt takes many seconds."""
        return True

    @property
    def free_bytes(self) -> int:
        """Free bytes where the model is loaded: on the GPU or in memory."""
        return int(psutil.virtual_memory().available)

    def count(self, messages: Sequence[BaseMessage]) -> int:
        """Tokens of a prompt, by the model's own tokenizer and template."""
        return len(self._prompt(messages))

    @abstractmethod
    def _prompt(self, messages: Sequence[BaseMessage]) -> list[int]:
        """The tokens of a prompt."""

    @abstractmethod
    def _write(
        self, prompt: list[int], options: ReplyOptions, deliver: Callable[[str], None], stopped: threading.Event
    ) -> tuple[int, bool] | None:
        """Write a reply of at most `options.max_tokens`; its tokens and whether it ended by itself, None if stopped."""

    def _run(
        self,
        messages: Sequence[BaseMessage],
        options: ReplyOptions,
        deliver: Callable[[str], None],
        stopped: threading.Event,
    ) -> dict[str, Any]:
        """Generate a reply until its end, or until `stopped` is set; returns its token counts and why it ended.

        The keys are those of a message: `usage_metadata`, and `response_metadata` with "finish_reason".
        """
        with self.weights.generating:
            if stopped.is_set():
                return {}
            prompt = self._prompt(messages)
            tokens_in, context = len(prompt), self.weights.context
            if tokens_in >= context:
                raise ModelFailed(
                    f"The prompt has at least {tokens_in:,} tokens, and the chat model can read {context:,}. "
                    "Shorten the message, or choose a model with a longer context"
                )
            options = replace(options, max_tokens=min(options.max_tokens or REPLY_TOKENS, context - tokens_in))
            written = self._write(prompt, options, deliver, stopped)
        if written is None:
            return {}
        tokens_out, ended = written
        usage = {"input_tokens": tokens_in, "output_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}
        return {"usage_metadata": usage, "response_metadata": {"finish_reason": "stop" if ended else "length"}}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> ChatResult:
        pieces: list[str] = []
        ended = self._run(messages, _options(kwargs), pieces.append, threading.Event())
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content="".join(pieces), **ended))])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> AsyncIterator[ChatGenerationChunk]:
        loop, pieces, stopped = asyncio.get_running_loop(), asyncio.Queue[str | None](), threading.Event()

        def deliver(piece: str) -> None:
            loop.call_soon_threadsafe(pieces.put_nowait, piece)

        def end(generation: asyncio.Future[dict[str, Any]]) -> None:
            generation.exception()  # retrieved even if nobody waits any more, or asyncio would log it
            pieces.put_nowait(None)

        generation = loop.run_in_executor(None, self._run, messages, _options(kwargs), deliver, stopped)
        generation.add_done_callback(end)
        try:
            while (piece := await pieces.get()) is not None:
                yield ChatGenerationChunk(message=AIMessageChunk(content=piece))
            yield ChatGenerationChunk(message=AIMessageChunk(content="", **await generation))
        finally:
            stopped.set()


def _options(kwargs: Mapping[str, Any]) -> ReplyOptions:
    return ReplyOptions(kwargs.get("max_tokens"), kwargs.get("json_schema"))
