"""The weights of a model, found by name, loaded once and shared."""

from __future__ import annotations

import gc
import os
import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graph.models.names import UnknownModel
from graph.models.quantization import MemoryNeed, Quantization, estimate_memory, resolve_quantization, usable_context

if TYPE_CHECKING:
    from llguidance import LLTokenizer
    from transformers import PreTrainedTokenizerBase


class ModelWeights:
    """The weights of one model, loaded on first use; threads share them, and one thread generates at a time."""

    def __init__(self, name: str, quantization: Quantization) -> None:
        self.name = name
        self.quantization = quantization
        self.generating = threading.Lock()
        self._loading = threading.Lock()
        self._model: Any = None
        self._tokenizer: PreTrainedTokenizerBase | None = None
        self._vocabulary: LLTokenizer | None = None

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

    def vocabulary(self) -> LLTokenizer:
        """The tokenizer's vocabulary as grammars need it, made on first use (a second for 150,000 tokens)."""
        tokenizer = self.tokenizer()
        with self._loading:
            if self._vocabulary is None:
                from llguidance.hf import from_tokenizer

                self._vocabulary = from_tokenizer(tokenizer)  # type: ignore[arg-type]  # or it says so
            return self._vocabulary

    def unload(self) -> None:
        """Free the memory once no reply is being generated; the next question loads the model again."""
        with self.generating, self._loading:
            self._model = self._tokenizer = self._vocabulary = None
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
