"""Chat models that run in this process: transformers, quantised by bitsandbytes.

`LocalChat` is a LangChain chat model of our own. That of langchain-huggingface does not do for a chat: generation runs
in a thread whose faults are lost (the stream then waits a minute and ends in nothing), goes on after it was cancelled,
counts no tokens, and tokenises the text of the template a second time, with a second token of beginning.
"""

from __future__ import annotations

import asyncio
import gc
import os
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from graph.models.names import UnknownModel
from graph.models.quantization import Need, Quantization, context_of, need, resolved

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

REPLY_TOKENS = 1024
"""Tokens of a reply at most; notes on eight memories and an answer of fifty words take half of it."""

ROLES = {"system": "system", "human": "user", "ai": "assistant"}


class Weights:
    """One model on disk and, once it is needed, in memory; threads share it, and one of them generates at a time."""

    def __init__(self, name: str, quantization: Quantization) -> None:
        self.name = name
        self.quantization = quantization
        self.generating = threading.Lock()
        self._loading = threading.Lock()
        self._model: Any = None
        self._tokenizer: PreTrainedTokenizerBase | None = None

    @property
    def loaded(self) -> bool:
        """Whether the weights are in memory."""
        return self._model is not None

    def need(self) -> Need:
        """The memory that it takes, or will take, told from its configuration alone.

        Raises:
            UnknownModel: it is not here, or is no language model.
        """
        config = self._config()
        try:
            return need(config, self.quantization)
        except (ValueError, AttributeError) as fault:  # a config of something else: no language model has it so
            raise UnknownModel(_absent(self.name, fault)) from fault

    @property
    def context(self) -> int:
        """Tokens that a prompt and its reply may have together."""
        return context_of(self._config())

    def tokenizer(self) -> PreTrainedTokenizerBase:
        """Its tokenizer, loaded on first use.

        Raises:
            UnknownModel: it is not here, or has no chat template.
        """
        with self._loading:
            if self._tokenizer is None:
                from transformers import AutoTokenizer

                try:
                    read = AutoTokenizer.from_pretrained(self.name, local_files_only=_offline())
                except (OSError, ValueError) as fault:
                    raise UnknownModel(_absent(self.name, fault)) from fault
                if not read.chat_template:
                    raise UnknownModel(f"hf:{self.name} is no chat model: its tokenizer has no chat template")
                self._tokenizer = read
            return self._tokenizer

    def model(self) -> Any:  # noqa: ANN401  # each family has a class of its own, and calls it by mixins
        """The model itself, loaded on first use.

        Raises:
            UnknownModel: it is not here, is no language model, or this machine cannot hold it so.
        """
        with self._loading:
            if self._model is None:
                self._model = _load(self.name, resolved(self.quantization))
            return self._model

    def unload(self) -> None:
        """Give the memory back, once nothing is generated any more; the next question loads it anew."""
        with self.generating, self._loading:
            self._model = self._tokenizer = None
        gc.collect()
        import torch

        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _config(self) -> Any:  # noqa: ANN401  # each family has a config class of its own
        from transformers import AutoConfig

        try:
            return AutoConfig.from_pretrained(self.name, local_files_only=_offline())
        except (OSError, ValueError) as fault:
            raise UnknownModel(_absent(self.name, fault)) from fault


@cache
def weights(name: str, quantization: Quantization) -> Weights:
    """The weights of that name, the same for all who ask; none are loaded yet."""
    return Weights(name, quantization)


def _offline() -> bool:
    """Whether nothing may be fetched: so it is unless the user says otherwise."""
    return os.environ.get("HF_HUB_OFFLINE", "1") != "0"


def _absent(name: str, fault: Exception) -> str:
    kind = "folder" if Path(name).is_dir() else "repository or folder"
    why = str(fault).splitlines()[0][:200] if str(fault) else type(fault).__name__
    return (
        f"hf:{name} is no {kind} of a language model that can be read here ({why}). Memoir downloads nothing by "
        f"itself: get it with `hf download {name}`, or start with HF_HUB_OFFLINE=0"
    )


def _load(name: str, quantization: Quantization) -> Any:  # noqa: ANN401
    import torch
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig
    from transformers.utils import logging

    # The kernels of 8 bits compute in float16, and convert (with a warning a layer) what comes in another type.
    kinds = {"fp32": torch.float32, "int8": torch.float16}
    options: dict[str, Any] = {"dtype": kinds.get(quantization, torch.bfloat16)}
    if quantization == "nf4":
        options["quantization_config"] = BitsAndBytesConfig(  # type: ignore[no-untyped-call]
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=torch.bfloat16,
        )
    elif quantization == "int8":
        options["quantization_config"] = BitsAndBytesConfig(load_in_8bit=True)  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    device = {"": 0} if torch.cuda.is_available() else {"": "cpu"}
    try:
        # Safetensors alone: the older format runs whatever code its author put there.
        model: Any = AutoModelForCausalLM.from_pretrained(
            name, device_map=device, use_safetensors=True, local_files_only=_offline(), **options
        )
    except (OSError, ValueError, ImportError) as fault:
        raise UnknownModel(
            f"hf:{name} cannot be loaded in {quantization} here ({str(fault).splitlines()[0][:300]}). Take another "
            "quantization, or another model"
        ) from fault
    return model.eval()


class LocalChat(BaseChatModel):
    """A chat model over `Weights`; its replies come token by token, and cancelling the task stops them."""

    name: str
    quantization: Quantization = "auto"
    temperature: float = 0.0

    @property
    def _llm_type(self) -> str:
        return "memoir-local"

    @property
    def weights(self) -> Weights:
        """The weights, shared with every other chat model of this name."""
        return weights(self.name, resolved(self.quantization))

    def count(self, messages: Sequence[BaseMessage]) -> int:
        """Tokens of a prompt, by the model's own tokenizer and template."""
        return len(self._ids(messages)["input_ids"][0])

    def _ids(self, messages: Sequence[BaseMessage]) -> Any:  # noqa: ANN401  # BatchEncoding
        from jinja2.exceptions import TemplateError

        tokenizer = self.weights.tokenizer()
        talk = [{"role": ROLES[m.type], "content": m.text} for m in messages]
        options: dict[str, Any] = {"add_generation_prompt": True, "return_tensors": "pt", "return_dict": True}
        try:
            return tokenizer.apply_chat_template(talk, **options)
        except TemplateError:  # a template that knows no system messages (Gemma)
            first, second, *rest = talk
            merged = {"role": "user", "content": f"{first['content']}\n\n{second['content']}"}
            return tokenizer.apply_chat_template([merged, *rest], **options)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> ChatResult:
        pieces: list[str] = []
        ended = self._write(messages, pieces.append, threading.Event())
        return ChatResult(generations=[ChatGeneration(message=AIMessage(content="".join(pieces), **ended))])

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,  # noqa: ANN401
    ) -> AsyncIterator[ChatGenerationChunk]:
        loop, pieces, enough = asyncio.get_running_loop(), asyncio.Queue[str | None](), threading.Event()

        def deliver(piece: str) -> None:
            loop.call_soon_threadsafe(pieces.put_nowait, piece)

        def end(writing: asyncio.Future[dict[str, Any]]) -> None:
            writing.exception()  # fetched even if nobody waits any more, or asyncio would log it as forgotten
            pieces.put_nowait(None)

        writing = loop.run_in_executor(None, self._write, messages, deliver, enough)
        writing.add_done_callback(end)
        try:
            while (piece := await pieces.get()) is not None:
                yield ChatGenerationChunk(message=AIMessageChunk(content=piece))
            yield ChatGenerationChunk(message=AIMessageChunk(content="", **await writing))
        finally:
            enough.set()

    def _write(
        self, messages: Sequence[BaseMessage], deliver: Callable[[str], None], enough: threading.Event
    ) -> dict[str, Any]:
        """Generate a reply until its end, or until `enough` is set; returns its token counts and why it ended."""
        from transformers import StoppingCriteriaList

        held = self.weights
        with held.generating:
            if enough.is_set():
                return {}
            model, tokenizer = held.model(), held.tokenizer()
            ids = self._ids(messages).to(model.device)
            made = model.generate(
                **ids,
                streamer=_streamer(tokenizer, deliver),
                stopping_criteria=StoppingCriteriaList([lambda *_, **__: enough.is_set()]),
                max_new_tokens=REPLY_TOKENS,
                do_sample=self.temperature > 0,
                temperature=self.temperature or None,
                top_p=None,
                top_k=None,
                pad_token_id=tokenizer.pad_token_id or tokenizer.eos_token_id,
            )
        read = int(ids["input_ids"].shape[1])
        written = int(made.shape[1]) - read
        return {
            "usage_metadata": {"input_tokens": read, "output_tokens": written, "total_tokens": read + written},
            "response_metadata": {"finish_reason": "length" if written >= REPLY_TOKENS else "stop"},
        }


def _streamer(tokenizer: PreTrainedTokenizerBase, deliver: Callable[[str], None]) -> Any:  # noqa: ANN401
    """A streamer that delivers each piece of text; the library loads late, so the class is made here."""
    from transformers import TextStreamer

    class Streamer(TextStreamer):
        def on_finalized_text(self, text: str, stream_end: bool = False) -> None:
            deliver(text)

    return Streamer(tokenizer, skip_prompt=True, skip_special_tokens=True)
