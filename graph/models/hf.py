"""Chat models run in this process by transformers, in 4 to 32 bits, with replies constrained to a JSON schema.

The weights are found by name, loaded once and shared. They replace the chat model of langchain-huggingface, whose
generation runs in a thread that loses exceptions (the stream then waits a minute and ends empty), continues after it
was cancelled, counts no tokens, and tokenizes the template twice, with a second token of beginning.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from graph.models.faults import UnknownModel
from graph.models.local_model import MAX_CONTEXT, Generation, LocalWeights, MemoryNeed

if TYPE_CHECKING:
    import threading

    from llguidance import LLMatcher, LLTokenizer
    from torch import Tensor
    from transformers import PretrainedConfig, PreTrainedTokenizerBase

BYTES_PER_WEIGHT = {"nf4": 0.5 + 0.127 / 8, "int8": 1.0, "bf16": 2.0, "fp32": 4.0}
"""In nf4, four bits, and .127 bits of doubly quantised constants."""


class ModelWeights(LocalWeights):
    """The weights of one model by name, its tokenizer and the vocabulary that grammars need."""

    precision = ""

    def __init__(self, name: str, quantization: str) -> None:
        super().__init__()
        self.name, self.precision = name, quantization

    @override
    def memory_need(self) -> MemoryNeed:
        config = self._read("AutoConfig")
        try:
            return _estimate_memory(config, self.precision)
        except (ValueError, AttributeError) as fault:  # the configuration is not that of a language model
            raise UnknownModel(_not_found(self.name, fault)) from fault

    @property
    @override
    def context(self) -> int:
        return _usable_context(self._read("AutoConfig"))

    @property
    @override
    def on_cpu(self) -> bool:
        import torch

        return not torch.cuda.is_available()

    @property
    @override
    def free_bytes(self) -> int:
        import torch

        return super().free_bytes if self.on_cpu else int(torch.cuda.mem_get_info()[0])

    @override
    def _load(self) -> Any:
        import torch
        from transformers import AutoModelForCausalLM, BitsAndBytesConfig
        from transformers.utils import logging

        # The 8-bit kernels compute in float16, and convert other types with a warning for each layer.
        dtypes = {"fp32": torch.float32, "int8": torch.float16}
        options: dict[str, Any] = {"dtype": dtypes.get(self.precision, torch.bfloat16)}
        if self.precision == "nf4":
            options["quantization_config"] = BitsAndBytesConfig(  # type: ignore[no-untyped-call]
                load_in_4bit=True,
                bnb_4bit_quant_type="nf4",
                bnb_4bit_use_double_quant=True,
                bnb_4bit_compute_dtype=torch.bfloat16,
            )
        elif self.precision == "int8":
            options["quantization_config"] = BitsAndBytesConfig(load_in_8bit=True)  # type: ignore[no-untyped-call]
        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        device = {"": 0} if torch.cuda.is_available() else {"": "cpu"}
        try:
            # Only safetensors: the older format runs code from the file.
            model: Any = AutoModelForCausalLM.from_pretrained(
                self.name, device_map=device, use_safetensors=True, local_files_only=_offline(), **options
            )
        except (OSError, ValueError, ImportError) as fault:
            why = str(fault).splitlines()[0][:300]
            raise UnknownModel(
                f"hf:{self.name} cannot be loaded in {self.precision} here ({why}). Use another quantization or "
                "another model"
            ) from fault
        return model.eval()

    def tokenizer(self) -> PreTrainedTokenizerBase:
        """The tokenizer, loaded on first use.

        Raises:
            UnknownModel: the model is missing, or has no chat template.
        """
        tokenizer: PreTrainedTokenizerBase = self._once("tokenizer", lambda: self._read("AutoTokenizer"))
        if not tokenizer.chat_template:
            raise UnknownModel(f"hf:{self.name} is not a chat model: its tokenizer has no chat template")
        return tokenizer

    def vocabulary(self) -> LLTokenizer:
        """The tokenizer's vocabulary as grammars need it, made on first use (a second for 150,000 tokens)."""
        from llguidance.hf import from_tokenizer

        return self._once("vocabulary", lambda: from_tokenizer(self.tokenizer()))  # type: ignore[arg-type]  # or it says so

    @override
    def unload(self) -> None:
        super().unload()
        import torch

        torch.cuda.empty_cache()  # does nothing where there is no GPU

    def _read(self, kind: str) -> Any:  # noqa: ANN401  # each family has classes of its own
        """Read a part of the model by one of the Auto classes of transformers."""
        import transformers

        try:
            return getattr(transformers, kind).from_pretrained(self.name, local_files_only=_offline())
        except (OSError, ValueError) as fault:
            raise UnknownModel(_not_found(self.name, fault)) from fault

    @override
    def _encode(self, chat: list[dict[str, str]]) -> list[int]:
        from jinja2.exceptions import TemplateError

        tokenizer = self.tokenizer()
        options: dict[str, Any] = {"add_generation_prompt": True, "enable_thinking": False, "return_dict": False}
        try:
            return list(tokenizer.apply_chat_template(chat, **options))
        except TemplateError:  # it takes no system messages, or its roles must alternate (Gemma)
            # System text is then the user's, and neighbours become one.
            turns = groupby(chat, key=lambda message: "user" if message["role"] == "system" else message["role"])
            chat = [{"role": role, "content": "\n\n".join(m["content"] for m in same)} for role, same in turns]
            return list(tokenizer.apply_chat_template(chat, **options))

    @override
    def write(self, reply: Generation) -> tuple[int, bool] | None:
        import torch
        from tokenizers.decoders import DecodeStream

        model, tokenizer = self.model(), self.tokenizer()
        ids = torch.tensor([reply.prompt], device=model.device)
        text = DecodeStream(skip_special_tokens=True)
        matcher = json_matcher(self.vocabulary(), reply.schema) if reply.schema else None

        def take_token(tokens: Tensor, *_: object, **__: object) -> bool:
            """Deliver what the newest token adds to the text; returns whether the reply is complete with it."""
            token = int(tokens[0, -1])
            if piece := text.step(tokenizer.backend_tokenizer, token):
                reply.deliver(piece)
            if matcher is None:
                return False
            matcher.consume_token(token)
            return matcher.is_stopped()

        with stoppable(model, reply.stopped):
            try:
                tokens = model.generate(
                    ids,
                    attention_mask=torch.ones_like(ids),
                    logits_processor=[partial(forbid_others, matcher)] if matcher else [],
                    stopping_criteria=[take_token],
                    max_new_tokens=reply.max_tokens,
                    do_sample=False,
                    **dict.fromkeys(("temperature", "top_p", "top_k")),  # or it warns that they do nothing
                    pad_token_id=tokenizer.pad_token_id or tokenizer.eos_token_id,
                )
            except Stopped:
                return None
        ends = model.generation_config.eos_token_id
        is_end = int(tokens[0, -1]) in (ends if isinstance(ends, list) else [ends])
        ended = is_end or (matcher is not None and matcher.is_stopped())
        return int(tokens.shape[1]) - len(reply.prompt), ended


def _estimate_memory(config: PretrainedConfig, quantization: str) -> MemoryNeed:
    """The memory that a model of this shape takes, computed on a model without weights."""
    import torch
    from transformers import AutoModelForCausalLM

    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(config)  # type: ignore[no-untyped-call]
    parameters, linear = sum(p.numel() for p in model.parameters()), 0
    if quantization in ("nf4", "int8"):  # the projections are quantised; embeddings, norms and the head stay in 16 bits
        head = model.get_output_embeddings()
        linear = sum(m.weight.numel() for m in model.modules() if isinstance(m, torch.nn.Linear) and m is not head)
    rest = (parameters - linear) * BYTES_PER_WEIGHT["bf16" if linear else quantization]
    weights = int(linear * BYTES_PER_WEIGHT[quantization] + rest)
    context, text = _usable_context(config), config.get_text_config()
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    size = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    cache = int(2 * text.num_hidden_layers * heads * size * context * (4 if quantization == "fp32" else 2))
    # Bitsandbytes quantises on a CPU what was first read there in 16 bits; on a GPU it goes layer by layer.
    extra = 0 if torch.cuda.is_available() else int(linear * BYTES_PER_WEIGHT["bf16"])
    return MemoryNeed(parameters, weights, cache, weights + extra)


def _usable_context(config: Any) -> int:  # noqa: ANN401  # each family has a config class of its own
    text = config.get_text_config()
    return min(MAX_CONTEXT, int(getattr(text, "max_position_embeddings", None) or MAX_CONTEXT))


shared_weights = cache(ModelWeights)
"""The one `ModelWeights` of a name and a precision in this process; nothing is loaded yet."""


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


class Stopped(Exception):  # the reply is not wanted any more; nobody sees it
    """The user cancelled a reply that is being generated."""


def json_matcher(vocabulary: LLTokenizer, schema: Mapping[str, Any]) -> LLMatcher:
    """What follows a JSON text of a given schema token by token, and knows which may come next.

    Raises:
        ValueError: nothing can satisfy the schema.
    """
    from llguidance import LLMatcher

    grammar = LLMatcher.grammar_from_json_schema(
        dict(schema),
        overrides={"whitespace_flexible": False, "lenient": True, "json_allowed_escapes": '"\\nt'},
    )
    matcher = LLMatcher(vocabulary, grammar)
    if matcher.is_error():
        raise ValueError(f"the JSON schema of the reply cannot be kept: {matcher.get_error()}")
    return matcher


def forbid_others(matcher: LLMatcher, _: Tensor, scores: Tensor) -> Tensor:
    """The scores with those of forbidden tokens at minus infinity; shape (1, vocabulary)."""
    import torch

    known = torch.frombuffer(bytearray(matcher.compute_logit_bias()), dtype=torch.uint8)  # 0 for what is forbidden
    # A model may have more rows than its tokenizer has tokens, or fewer.
    forbidden = torch.nn.functional.pad(known, (0, scores.shape[-1] - len(known))) == 0
    return scores.masked_fill(forbidden.to(scores.device), float("-inf"))


@contextmanager
def stoppable(model: Any, stopped: threading.Event) -> Iterator[None]:  # noqa: ANN401  # each family has its class
    """Let the model raise `Stopped` before its next layer once the event is set, so that no prompt is read in vain."""
    import torch

    def check(*_: object) -> None:
        if stopped.is_set():
            raise Stopped

    blocks = [block for blocks in model.modules() if isinstance(blocks, torch.nn.ModuleList) for block in blocks]
    with ExitStack() as hooks:
        for block in blocks:
            hooks.enter_context(block.register_forward_pre_hook(check))
        yield
