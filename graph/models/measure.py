"""What a chat model costs: how long it takes to load, how much memory it holds, and how fast it answers."""

from __future__ import annotations

import time
from pathlib import Path

from graph.models import Name, Quantization, chat_model, parse
from graph.models.local import LocalChat
from graph.models.probing import probe
from graph.models.quantization import resolved
from graph.models.synthetic import Shape, make

GIB = 2**30

Figures = dict[str, str | float]


def measure(name: str, quantization: Quantization) -> Figures:
    """Figures of a model by name; of a local one also what it was said to need, and what it took.

    Raises:
        UnknownModel: there is none of that name, or it cannot be loaded here.
        ModelFailed: it does not reply.
    """
    named, model = parse(name), chat_model(name, quantization=quantization)
    figures: Figures = {"model": name}
    if isinstance(model, LocalChat):
        figures |= _loaded(model)
    tried = probe(model)
    figures |= {
        "first token s": tried.first_token_s,
        "tokens per s": tried.tokens_per_s,
        "context": tried.context or "not told",
        "keeps to a JSON schema": "yes" if tried.keeps_schema else "no",
    }
    return figures | _peak(named)


def make_up(folder: Path, shape: Shape) -> str:
    """Write a model with random weights into a folder, unless it holds one; its name."""
    if not (folder / "config.json").exists():
        readme = Path(__file__).parents[2] / "README.md"
        make(folder, shape, readme.read_text("utf-8").splitlines())
    return f"hf:{folder}"


def _loaded(model: LocalChat) -> Figures:
    need = model.weights.need()
    started = time.perf_counter()
    held = model.weights.model()
    return {
        "quantization": resolved(model.quantization),
        "parameters": need.parameters,
        "weights GiB, told": round(need.weights / GIB, 3),
        "cache GiB, told": round(need.cache / GIB, 3),
        "load s": round(time.perf_counter() - started, 2),
        "weights GiB": round(held.get_memory_footprint() / GIB, 3),
        "device": str(held.device),
    }


def _peak(named: Name) -> Figures:
    import torch

    if named.kind != "local" or not torch.cuda.is_available():
        return {}
    return {"GPU": torch.cuda.get_device_name(), "peak GPU GiB": round(torch.cuda.max_memory_allocated() / GIB, 3)}
