"""The weights of a model, found by name, loaded once and shared."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from graph.models.local_model import LocalWeights
from graph.models.names import UnknownModel
from graph.models.quantization import MemoryNeed, Quantization, estimate_memory, resolve_quantization, usable_context

if TYPE_CHECKING:
    from llguidance import LLTokenizer
    from transformers import PreTrainedTokenizerBase


class ModelWeights(LocalWeights):
    """The weights of one model by name, its tokenizer and the vocabulary that grammars need."""

    def __init__(self, name: str, quantization: Quantization) -> None:
        super().__init__()
        self.name = name
        self.quantization = quantization
        self._tokenizer: PreTrainedTokenizerBase | None = None
        self._vocabulary: LLTokenizer | None = None

    @override
    def memory_need(self) -> MemoryNeed:
        config = self._config()
        try:
            return estimate_memory(config, self.quantization)
        except (ValueError, AttributeError) as fault:  # the configuration is not that of a language model
            raise UnknownModel(_not_found(self.name, fault)) from fault

    @property
    @override
    def context(self) -> int:
        return usable_context(self._config())

    @property
    @override
    def precision(self) -> str:
        return resolve_quantization(self.quantization)

    @override
    def _load(self) -> Any:
        return _load(self.name, resolve_quantization(self.quantization))

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

    def vocabulary(self) -> LLTokenizer:
        """The tokenizer's vocabulary as grammars need it, made on first use (a second for 150,000 tokens)."""
        tokenizer = self.tokenizer()
        with self._loading:
            if self._vocabulary is None:
                from llguidance.hf import from_tokenizer

                self._vocabulary = from_tokenizer(tokenizer)  # type: ignore[arg-type]  # or it says so
            return self._vocabulary

    @override
    def _forget(self) -> None:
        self._model = self._tokenizer = self._vocabulary = None

    @override
    def unload(self) -> None:
        super().unload()
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
