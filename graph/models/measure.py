"""Try out and measure a chat model: how fast it answers, its memory, and whether it keeps to a schema."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from graph.models.calls import ModelFailed, stream_reply
from graph.models.hf.chat import HuggingFaceModel
from graph.models.json_replies import StrictReply
from graph.models.quantization import Quantization, resolve_quantization
from graph.models.registry import chat_model
from graph.models.synthetic import Shape, write_model
from graph.models.tokens import context_length

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

GIB = 2**30

SPEED_PROMPT = "Count from one to forty in English words, separated by commas. Write nothing else."
SCHEMA_PROMPT = (
    'Where was Ada born, if all you know is: "Ada was born in London in 1815"? Reply with one JSON object of this form '
    'and nothing else: {"place": "...", "year": 0}'
)


class _Place(StrictReply):
    place: str = Field(max_length=40)
    year: int = Field(ge=0, le=9999)


Figures = dict[str, str | float]


@dataclass(frozen=True, slots=True)
class Trial:
    """The results of a trial.

    Seconds until the first piece of a reply (with loading, for a local model) and tokens per second after it; pieces
    count as tokens where the model reports none. `context` is in tokens, None if unknown.
    """

    first_token_s: float
    tokens_per_s: float
    context: int | None
    keeps_schema: bool


def measure(name: str, quantization: Quantization) -> Figures:
    """Measure a model by name; for a local one, the estimated and the actual memory, too.

    Raises:
        UnknownModel: there is no such model, or it cannot be loaded here.
        ModelFailed: it does not reply.
    """
    model = chat_model(name, quantization=quantization)
    figures: Figures = {"model": name}
    if isinstance(model, HuggingFaceModel):
        figures |= _loaded(model)
    trial = try_out(model)
    figures |= {
        "first token s": trial.first_token_s,
        "tokens per s": trial.tokens_per_s,
        "context": trial.context or "not stated",
        "keeps to a JSON schema": "yes" if trial.keeps_schema else "no",
    }
    if isinstance(model, HuggingFaceModel):
        import torch

        if torch.cuda.is_available():
            peak = round(torch.cuda.max_memory_allocated() / GIB, 3)
            figures |= {"GPU": torch.cuda.get_device_name(), "peak GPU GiB": peak}
    return figures


def try_out(model: BaseChatModel) -> Trial:
    """Ask a model twice: once for its speed, once for a reply of a given schema.

    Raises:
        ModelFailed: it does not reply.
    """
    arrivals: list[float] = []
    started = time.perf_counter()
    reply = asyncio.run(
        stream_reply(model, [("human", SPEED_PROMPT)], on_piece=lambda piece: arrivals.append(time.perf_counter()))
    )
    ended = time.perf_counter()
    # A reply may come in one piece: a local model delivers whole words, and the noise of a synthetic one has none.
    seconds = ended - (arrivals[0] if len(arrivals) > 1 else started)
    rate = (reply.tokens_out or len(arrivals)) / seconds
    first = arrivals[0] - started
    return Trial(round(first, 3), round(rate, 1), context_length(model), _keeps_schema(model))


def _keeps_schema(model: BaseChatModel) -> bool:
    try:
        reply = asyncio.run(stream_reply(model, [("human", SCHEMA_PROMPT)], schema=_Place.model_json_schema()))
        _Place.model_validate_json(reply.text)
    except (ModelFailed, ValueError):
        return False
    return True


def make_synthetic_model(folder: Path, shape: Shape) -> str:
    """Write a model with random weights into a folder, unless there is one; returns its name."""
    if not (folder / "config.json").exists():
        readme = Path(__file__).parents[2] / "README.md"
        write_model(folder, shape, readme.read_text("utf-8").splitlines())
    return f"hf:{folder}"


def _loaded(model: HuggingFaceModel) -> Figures:
    need = model.weights.memory_need()
    started = time.perf_counter()
    loaded = model.weights.model()
    return {
        "quantization": resolve_quantization(model.quantization),
        "parameters": need.parameters,
        "weights GiB, expected": round(need.weights / GIB, 3),
        "cache GiB, expected": round(need.cache / GIB, 3),
        "load s": round(time.perf_counter() - started, 2),
        "weights GiB": round(loaded.get_memory_footprint() / GIB, 3),
        "device": str(loaded.device),
    }
