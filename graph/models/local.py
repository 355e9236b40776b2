"""Chat models that run in this process, by transformers, quantized by bitsandbytes.

`LocalChat` replaces the chat model of langchain-huggingface, whose generation runs in a thread that loses exceptions
(the stream then waits a minute and ends empty), continues after it was cancelled, counts no tokens, and tokenizes the
template twice, with a second token of beginning.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from graph.models.local_model import LocalModel, ReplyOptions
from graph.models.names import UnknownModel
from graph.models.quantization import MemoryNeed, Quantization, estimate_memory, resolve_quantization, usable_context

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage
    from transformers import PreTrainedTokenizerBase

REPLY_TOKENS = 1024
"""Maximum for a reply; notes on eight memories and an answer of fifty words take half of it."""

ROLES = {"system": "system", "human": "user", "ai": "assistant"}


class ModelWeights:
    """The weights of one model, loaded on first use; threads share them, and one thread generates at a time."""

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

    def memory_need(self) -> MemoryNeed:
        """The memory that the model takes, estimated from its configuration.

        Raises:
            UnknownModel: the model is missing, or is not a language model.
        """
        config = self._config()
        try:
            return estimate_memory(config, self.quantization)
        except (ValueError, AttributeError) as fault:  # the configuration is not that of a language model
            raise UnknownModel(_not_found(self.name, fault)) from fault

    @property
    def context(self) -> int:
        """Tokens that a prompt and its reply may have together."""
        return usable_context(self._config())

    def tokenizer(self) -> PreTrainedTokenizerBase:
        """The tokenizer, loaded on first use.

        Raises:
            UnknownModel: the model is missing, or has no chat template.
        """
        with self._loading:
            if self._tokenizer is None:
                from transformers import AutoTokenizer

                try:
                    tokenizer = AutoTokenizer.from_pretrained(self.name, local_files_only=_offline())
                except (OSError, ValueError) as fault:
                    raise UnknownModel(_not_found(self.name, fault)) from fault
                if not tokenizer.chat_template:
                    raise UnknownModel(f"hf:{self.name} is not a chat model: its tokenizer has no chat template")
                self._tokenizer = tokenizer
            return self._tokenizer

    def model(self) -> Any:  # noqa: ANN401  # each family has a class of its own, and calls it by mixins
        """The model, loaded on first use.

        Raises:
            UnknownModel: it is missing, is not a language model, or cannot be loaded on this machine.
        """
        with self._loading:
            if self._model is None:
                self._model = _load(self.name, resolve_quantization(self.quantization))
            return self._model

    def unload(self) -> None:
        """Free the memory once no reply is being generated; the next question loads the model again."""
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
            raise UnknownModel(_not_found(self.name, fault)) from fault


@cache
def shared_weights(name: str, quantization: Quantization) -> ModelWeights:
    """The one `ModelWeights` of that name in this process; nothing is loaded yet."""
    return ModelWeights(name, quantization)


def _offline() -> bool:
    """Whether downloads are forbidden, which is the default."""
    return os.environ.get("HF_HUB_OFFLINE", "1") != "0"


def _not_found(name: str, fault: Exception) -> str:
    kind = "folder" if Path(name).is_dir() else "repository or folder"
    why = str(fault).splitlines()[0][:200] if str(fault) else type(fault).__name__
    return (
        f"hf:{name} is not a {kind} of a language model that can be read here ({why}). Memoir does not download "
        f"models by itself: get it with `hf download {name}`, or start with HF_HUB_OFFLINE=0"
    )


def _load(name: str, quantization: Quantization) -> Any:  # noqa: ANN401
    import torch
    from transformers import AutoModelForCausalLM, BitsAndBytesConfig
    from transformers.utils import logging

    # The 8-bit kernels compute in float16, and convert other types with a warning for each layer.
    dtypes = {"fp32": torch.float32, "int8": torch.float16}
    options: dict[str, Any] = {"dtype": dtypes.get(quantization, torch.bfloat16)}
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
        # Only safetensors: the older format runs code from the file.
        model: Any = AutoModelForCausalLM.from_pretrained(
            name, device_map=device, use_safetensors=True, local_files_only=_offline(), **options
        )
    except (OSError, ValueError, ImportError) as fault:
        raise UnknownModel(
            f"hf:{name} cannot be loaded in {quantization} here ({str(fault).splitlines()[0][:300]}). Use another "
            "quantization or another model"
        ) from fault
    return model.eval()


class LocalChat(LocalModel):
    """A chat model over `ModelWeights`."""

    quantization: Quantization = "auto"

    @property
    def weights(self) -> ModelWeights:
        """The weights, shared with every other chat model of this name."""
        return shared_weights(self.name, resolve_quantization(self.quantization))

    @property
    @override
    def context(self) -> int:
        return self.weights.context

    @property
    @override
    def precision(self) -> str:
        return resolve_quantization(self.quantization)

    @property
    @override
    def on_cpu(self) -> bool:
        import torch

        return not torch.cuda.is_available()

    @property
    @override
    def loaded(self) -> bool:
        return self.weights.loaded

    @override
    def load(self) -> None:
        self.weights.model()

    @override
    def unload(self) -> None:
        self.weights.unload()

    @override
    def count(self, messages: Sequence[BaseMessage]) -> int:
        return len(self._ids(messages)["input_ids"][0])

    def _ids(self, messages: Sequence[BaseMessage]) -> Any:  # noqa: ANN401  # BatchEncoding
        from jinja2.exceptions import TemplateError

        tokenizer = self.weights.tokenizer()
        chat = [{"role": ROLES[m.type], "content": m.text} for m in messages]
        options: dict[str, Any] = {"add_generation_prompt": True, "return_tensors": "pt", "return_dict": True}
        try:
            return tokenizer.apply_chat_template(chat, **options)
        except TemplateError:  # a template without system messages (Gemma)
            first, second, *rest = chat
            merged = {"role": "user", "content": f"{first['content']}\n\n{second['content']}"}
            return tokenizer.apply_chat_template([merged, *rest], **options)

    @override
    def _run(
        self,
        messages: Sequence[BaseMessage],
        options: ReplyOptions,
        deliver: Callable[[str], None],
        stopped: threading.Event,
    ) -> dict[str, Any]:
        from transformers import StoppingCriteriaList

        weights = self.weights
        with weights.generating:
            if stopped.is_set():
                return {}
            model, tokenizer = weights.model(), weights.tokenizer()
            ids = self._ids(messages).to(model.device)
            tokens = model.generate(
                **ids,
                streamer=_streamer(tokenizer, deliver),
                stopping_criteria=StoppingCriteriaList([lambda *_, **__: stopped.is_set()]),
                max_new_tokens=REPLY_TOKENS,
                do_sample=self.temperature > 0,
                temperature=self.temperature or None,
                top_p=None,
                top_k=None,
                pad_token_id=tokenizer.pad_token_id or tokenizer.eos_token_id,
            )
        prompt_tokens = int(ids["input_ids"].shape[1])
        reply_tokens = int(tokens.shape[1]) - prompt_tokens
        return {
            "usage_metadata": {
                "input_tokens": prompt_tokens,
                "output_tokens": reply_tokens,
                "total_tokens": prompt_tokens + reply_tokens,
            },
            "response_metadata": {"finish_reason": "length" if reply_tokens >= REPLY_TOKENS else "stop"},
        }


def _streamer(tokenizer: PreTrainedTokenizerBase, deliver: Callable[[str], None]) -> Any:  # noqa: ANN401
    """A streamer that delivers each piece of text; the class is defined here because the library is loaded late."""
    from transformers import TextStreamer

    class Streamer(TextStreamer):
        def on_finalized_text(self, text: str, stream_end: bool = False) -> None:
            deliver(text)

    return Streamer(tokenizer, skip_prompt=True, skip_special_tokens=True)
