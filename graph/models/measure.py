"""Measure a chat model: load time, memory and speed."""

from __future__ import annotations

import time
from pathlib import Path

from graph.models.local import LocalChat
from graph.models.names import ModelName, parse_name
from graph.models.quantization import Quantization, resolve_quantization
from graph.models.registry import chat_model
from graph.models.synthetic import Shape, write_model
from graph.models.trial import try_out

GIB = 2**30

Figures = dict[str, str | float]


def measure(name: str, quantization: Quantization) -> Figures:
    """Measure a model by name; for a local one, the estimated and the actual memory, too.

    Raises:
        UnknownModel: there is no such model, or it cannot be loaded here.
        ModelFailed: it does not reply.
    """
    parsed, model = parse_name(name), chat_model(name, quantization=quantization)
    figures: Figures = {"model": name}
    if isinstance(model, LocalChat):
        figures |= _loaded(model)
    trial = try_out(model)
    figures |= {
        "first token s": trial.first_token_s,
        "tokens per s": trial.tokens_per_s,
        "context": trial.context or "not told",
        "keeps to a JSON schema": "yes" if trial.keeps_schema else "no",
    }
    return figures | _peak(parsed)


def make_synthetic_model(folder: Path, shape: Shape) -> str:
    """Write a model with random weights into a folder, unless there is one; returns its name."""
    if not (folder / "config.json").exists():
        readme = Path(__file__).parents[2] / "README.md"
        write_model(folder, shape, readme.read_text("utf-8").splitlines())
    return f"hf:{folder}"


def _loaded(model: LocalChat) -> Figures:
    need = model.weights.memory_need()
    started = time.perf_counter()
    loaded = model.weights.model()
    return {
        "quantization": resolve_quantization(model.quantization),
        "parameters": need.parameters,
        "weights GiB, told": round(need.weights / GIB, 3),
        "cache GiB, told": round(need.cache / GIB, 3),
        "load s": round(time.perf_counter() - started, 2),
        "weights GiB": round(loaded.get_memory_footprint() / GIB, 3),
        "device": str(loaded.device),
    }


def _peak(name: ModelName) -> Figures:
    import torch

    if name.kind != "local" or not torch.cuda.is_available():
        return {}
    return {"GPU": torch.cuda.get_device_name(), "peak GPU GiB": round(torch.cuda.max_memory_allocated() / GIB, 3)}
