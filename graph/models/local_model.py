"""The base of the chat models that run in this process."""

from __future__ import annotations

import asyncio
import threading
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

if TYPE_CHECKING:
    from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun

    from graph.models.quantization import MemoryNeed


@dataclass(frozen=True, slots=True)
class ReplyOptions:
    """What a reply must keep to: strings that end it, its most tokens, and the JSON schema of the whole of it."""

    stop: Sequence[str] = ()
    max_tokens: int | None = None
    json_schema: Mapping[str, Any] | None = None


class LocalModel(BaseChatModel):
    """A chat model whose weights are loaded on first use; it streams, and cancelling the task stops it."""

    name: str
    temperature: float = 0.0

    @property
    def _llm_type(self) -> str:
        return "memoir-local"

    @property
    @abstractmethod
    def context(self) -> int:
        """Tokens that a prompt and its reply may have together."""

    @property
    @abstractmethod
    def precision(self) -> str:
        """How the weights are stored, as "nf4"."""

    @property
    @abstractmethod
    def loaded(self) -> bool:
        """Whether the weights are in memory."""

    @property
    def on_cpu(self) -> bool:
        """Whether it runs on the CPU, where a long prompt takes many seconds."""
        return True

    @property
    @abstractmethod
    def free_bytes(self) -> int:
        """Free bytes where the model is loaded: on the GPU or in memory."""

    @abstractmethod
    def memory_need(self) -> MemoryNeed:
        """The memory that the model takes, estimated before it is loaded.

        Raises:
            UnknownModel: the model is missing, or cannot be run here.
        """

    @abstractmethod
    def load(self) -> None:
        """Load the weights, unless they are loaded."""

    @abstractmethod
    def unload(self) -> None:
        """Free the memory once no reply is being generated; the next question loads the model again."""

    @abstractmethod
    def count(self, messages: Sequence[BaseMessage]) -> int:
        """Tokens of a prompt, by the model's own tokenizer and template."""

    @abstractmethod
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

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> ChatResult:
        pieces: list[str] = []
        ended = self._run(messages, _options(stop, kwargs), pieces.append, threading.Event())
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

        generation = loop.run_in_executor(None, self._run, messages, _options(stop, kwargs), deliver, stopped)
        generation.add_done_callback(end)
        try:
            while (piece := await pieces.get()) is not None:
                yield ChatGenerationChunk(message=AIMessageChunk(content=piece))
            yield ChatGenerationChunk(message=AIMessageChunk(content="", **await generation))
        finally:
            stopped.set()


def _options(stop: Sequence[str] | None, kwargs: Mapping[str, Any]) -> ReplyOptions:
    return ReplyOptions(stop or (), kwargs.get("max_tokens"), kwargs.get("json_schema"))
