"""Find the chat models of servers, on this machine and others, and those in files on this computer."""

import asyncio
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

import httpx
import psutil  # type: ignore[import-untyped]

from memory import read_table
from memory.errors import MemoirError

_TABLE = read_table(__file__)
PORTS: Sequence[int] = _TABLE["ports"]

PATIENCE, FAR = 0.5, 10.0
"""Seconds that a server of this machine may take to name its models, and one that the user names."""

DEPTH, MOST = 4, 30
"""So many folders deep is looked, and so many files are offered."""


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


def find_files(home: Path | None = None) -> list[str]:
    """The GGUF files in the usual folders of the user."""
    folders = [(home or Path.home()) / folder for folder in _TABLE["folders"]]
    patterns = ("*/" * depth + "*.gguf" for depth in range(DEPTH + 1))
    found = (path for pattern in patterns for folder in folders for path in sorted(folder.glob(pattern)))
    return list(map(str, islice((path for path in found if path.is_file()), MOST)))


def say_what_fits(total: int | None = None) -> str:
    """Say which model to download for a computer with so many bytes of memory, or for this one."""
    size = (psutil.virtual_memory().total if total is None else total) / 2**30
    for least, model, download in _TABLE["fitting"]:
        if size >= least:
            return f"With {size:.0f} GiB of memory, this computer can run {model} (Q4_K_M, a download of {download} GB)"
    return f"With {size:.0f} GiB of memory, this computer is too small for a model that is good to talk with"
