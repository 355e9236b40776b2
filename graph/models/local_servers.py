"""Ask servers for their chat models, those that run on this machine and others."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import httpx

from memory.errors import MemoirError

PORTS = (11434, 1234, 8080, 8000)
"""The usual ports of Ollama, LM Studio, llama.cpp and vLLM."""

PATIENCE, FAR = 0.5, 10.0
"""Seconds that a server of this machine may take to name its models, and one that the user names."""


async def find_models(ports: Iterable[int] = PORTS) -> list[str]:
    """The names of the models that servers at these ports of this machine offer, in the order of the ports."""
    addresses = [f"http://127.0.0.1:{port}/v1" for port in ports]
    async with httpx.AsyncClient(timeout=PATIENCE, trust_env=False) as client:
        found = await asyncio.gather(*(_models(client, address) for address in addresses))
    return [f"{address}#{model}" for address, models in zip(addresses, found, strict=True) for model in models]


def full_address(typed: str) -> str:
    """An address as it is asked: with a scheme and a path, for one that was typed without."""
    address = typed.strip().rstrip("/")
    address = address if "://" in address else f"http://{address}"
    return address if address.count("/") > 2 else f"{address}/v1"


async def models_at(address: str, key: str = "") -> list[str]:
    """The names of the models of a server, which may want a key.

    Raises:
        MemoirError: no server of chat models answers there.
    """
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with httpx.AsyncClient(timeout=FAR, headers=headers) as client:
        models = await _models(client, address)
    if not models:
        raise MemoirError(f"No server at {address} offers chat models. Is it running, and does it want a key?")
    return models


async def _models(client: httpx.AsyncClient, address: str) -> list[str]:
    try:
        reply = (await client.get(f"{address}/models")).json()
        return [str(model["id"]) for model in reply["data"]]
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, TypeError, KeyError):  # nobody is there, or somebody else
        return []
