"""Get a chat model by name.

The name says everything, so that a run can be recorded and repeated:

    none                                      no model: the extractive reader and the learned classifier do all
    openai:gpt-4o-mini                        OpenAI's own service; key from OPENAI_API_KEY
    http://127.0.0.1:8000/v1#qwen2.5-7b       address, then the model there; key from MEMOIR_API_KEY, if it wants one
    gguf:~/qwen2.5-3b-instruct-q4_k_m.gguf    a GGUF file, run by this process on the CPU
    hf:Qwen/Qwen2.5-7B-Instruct               a repository of Hugging Face, or a folder, run by this process

Keys come from the environment or the key file (`hosted.keys`) and never go into a name, an error or a reply.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from graph.models.names import FORMS, ModelName, UnknownModel, is_named, parse_name

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

    from graph.models.local_model import LocalWeights
    from graph.models.quantization import Quantization


def chat_model(name: str, *, temperature: float = 0.0, quantization: Quantization = "auto") -> BaseChatModel:
    """The chat model of that name; it is not contacted yet, and a local one is not loaded yet.

    Raises:
        UnknownModel: the name has none of the forms, contains a key, or needs a key that is not set.
    """
    parsed = parse_name(name)
    if parsed.kind == "none":
        raise UnknownModel(f"“none” is not a chat model; write {FORMS}")
    if parsed.kind not in ("gguf", "hf"):
        from graph.models.hosted.model import hosted_model

        return hosted_model(parsed, temperature)
    from graph.models.local_model import LocalModel

    find_weights = _weights_of(parsed, quantization)
    return LocalModel(name=parsed.model, find_weights=find_weights, temperature=temperature)


def _weights_of(name: ModelName, quantization: Quantization) -> Callable[[], LocalWeights]:
    if name.kind == "gguf":
        from graph.models.gguf.weights import shared_weights as weights_of_file

        return partial(weights_of_file, Path(name.model).expanduser().absolute())
    from graph.models.hf.weights import shared_weights

    return partial(shared_weights, name.model, quantization)


def chat_model_or_none(name: str, quantization: Quantization = "auto") -> BaseChatModel | None:
    """The chat model of that name; None for "none"."""
    return chat_model(name, quantization=quantization) if is_named(name) else None
