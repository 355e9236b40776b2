"""Find the servers of chat models that run on this machine."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import httpx

PORTS = (11434, 1234, 8080, 8000)
"""The usual ports of Ollama, LM Studio, llama.cpp and vLLM."""

PATIENCE = 0.5
"""Seconds that a server may take to name its models."""


async def find_models(ports: Iterable[int] = PORTS) -> list[str]:
    """The names of the models that servers at these ports of this machine offer, in the order of the ports."""
    async with httpx.AsyncClient(timeout=PATIENCE, trust_env=False) as client:
        found = await asyncio.gather(*(_models_at(client, port) for port in ports))
    return [name for names in found for name in names]


async def _models_at(client: httpx.AsyncClient, port: int) -> list[str]:
    address = f"http://127.0.0.1:{port}/v1"
    try:
        reply = (await client.get(f"{address}/models")).json()
        return [f"{address}#{model['id']}" for model in reply["data"]]
    except (httpx.HTTPError, ValueError, TypeError, KeyError):  # nobody is there, or somebody else
        return []
