"""Try out and measure a chat model: how fast it answers, its memory, and whether it keeps to a schema."""

import asyncio
import time
from collections.abc import Sequence

import psutil  # type: ignore[import-untyped]
from langchain_core.language_models import BaseChatModel
from pydantic import Field

from graph.models.calls import ModelFailed, complete, stream_reply
from graph.models.json_replies import StrictReply
from graph.models.local_model import LocalModel, Messages
from graph.models.registry import Quantization, chat_model
from graph.models.tokens import context_length, count_tokens
from memory import read_table

GIB = 2**30

PROMPTS = read_table(__file__)

LONG_PROMPT = "What did I buy first?\n" + "\n".join(
    f"{day} May 2024: I bought {thing} at the market in Leeds, and my sister Ada came along."
    for day, thing in enumerate(PROMPTS["bought"] * 4, start=1)
)
"""Some 600 tokens, as a question with its memories has."""


class _Place(StrictReply):
    place: str = Field(max_length=40)
    year: int = Field(ge=0, le=9999)


Figures = dict[str, str | float]


def measure(name: str, quantization: Quantization) -> Figures:
    """Measure a model by name; for a local one, the time to load it and its memory, too.

    Raises:
        UnknownModel: there is no such model, or it cannot be loaded here.
        ModelFailed: it does not reply.
    """
    model = chat_model(name, quantization=quantization)
    figures: Figures = {"model": name}
    before = _resident_gib()
    if isinstance(model, LocalModel):
        figures |= _load_twice(model)
    figures |= try_out(model, PROMPTS["born"])
    long = [("human", LONG_PROMPT)]
    figures[f"first token s, {count_tokens(model, long)} prompt tokens"], _ = _ask(model, long, max_tokens=8)
    if isinstance(model, LocalModel):
        figures |= {"memory GiB, before": before, "memory GiB, after": _resident_gib()}
        import torch

        if torch.cuda.is_available():
            peak = round(torch.cuda.max_memory_allocated() / GIB, 3)
            figures |= {"GPU": torch.cuda.get_device_name(), "peak GPU GiB": peak}
    return figures


def try_out(model: BaseChatModel, born: Sequence[tuple[str, str, int]] = PROMPTS["born"][:1]) -> Figures:
    """Ask a model once for its speed, and once about each of these people for a reply of a given schema.

    The seconds are those until the first piece of a reply (with loading, for a local model).

    Raises:
        ModelFailed: it does not reply.
    """
    first, rate = _ask(model, [("human", PROMPTS["speed"])])
    kept = sum(_keeps_schema(model, *each) for each in born)
    context, of_all = context_length(model) or "not stated", f"{kept} of {len(born)}"
    return {"first token s": first, "tokens per s": rate, "context": context, "keeps to a JSON schema": of_all}


def _ask(model: BaseChatModel, talk: Messages, max_tokens: int | None = None) -> tuple[float, float]:
    """Seconds to the first piece of the reply, and tokens a second after it; pieces, if the model reports no tokens."""
    arrivals: list[float] = []
    started = time.perf_counter()
    reply = asyncio.run(
        stream_reply(model, talk, max_tokens=max_tokens, on_piece=lambda piece: arrivals.append(time.perf_counter()))
    )
    ended = time.perf_counter()
    # A reply may come in one piece: a local model delivers whole words, and noise has none.
    seconds = ended - (arrivals[0] if len(arrivals) > 1 else started)
    return round(arrivals[0] - started, 3), round((reply.tokens_out or len(arrivals)) / seconds, 1)


def _keeps_schema(model: BaseChatModel, name: str, place: str, year: int) -> bool:
    prompt = PROMPTS["schema"].format(name=name, place=place, year=year)
    try:
        _Place.model_validate_json(complete(model, prompt, schema=_Place.model_json_schema()).text)
    except (ModelFailed, ValueError):
        return False
    return True


def _load_twice(model: LocalModel) -> Figures:
    need, seconds = model.weights.memory_need(), []
    for _ in range(2):  # the first may convert the file, or read it from the disk
        model.weights.unload()
        started = time.perf_counter()
        model.weights.model()
        seconds.append(round(time.perf_counter() - started, 2))
    return {
        "quantization": model.weights.precision,
        "parameters": need.parameters,
        "weights GiB, expected": round(need.weights / GIB, 3),
        "cache GiB, expected": round(need.cache / GIB, 3),
        "load s": seconds[0],
        "load s, again": seconds[1],
    }


def _resident_gib() -> float:
    return round(float(psutil.Process().memory_info().rss) / GIB, 3)
