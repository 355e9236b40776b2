"""A real MCP client: the official SDK, over streamable HTTP."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import httpx
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

if TYPE_CHECKING:
    from mcp.types import CallToolResult, Tool


class Tools:
    """The tools of an app, called one by one as an assistant would."""

    def __init__(self, url: str, headers: dict[str, str] | None = None) -> None:
        self.url = f"{url}gradio_api/mcp/"
        self.headers = headers or {}

    def listed(self) -> dict[str, Tool]:
        """The tools there are, by name."""
        return asyncio.run(self._listed())

    def call(self, name: str, **arguments: Any) -> Any:
        """What a tool answers, read as JSON."""
        done = self.tried(name, **arguments)
        assert not done.isError, done.content
        return json.loads(done.content[0].text)

    def refused(self, name: str, **arguments: Any) -> str:
        """Why a tool refuses."""
        done = self.tried(name, **arguments)
        assert done.isError
        return done.content[0].text

    def tried(self, name: str, **arguments: Any) -> CallToolResult:
        """Whatever a tool answers."""
        return asyncio.run(self._call(name, arguments))

    async def _listed(self) -> dict[str, Tool]:
        async with (
            httpx.AsyncClient(headers=self.headers, timeout=120) as http,
            streamable_http_client(self.url, http_client=http) as (incoming, outgoing, _),
            ClientSession(incoming, outgoing) as session,
        ):
            await session.initialize()
            return {tool.name: tool for tool in (await session.list_tools()).tools}

    async def _call(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        async with (
            httpx.AsyncClient(headers=self.headers, timeout=120) as http,
            streamable_http_client(self.url, http_client=http) as (incoming, outgoing, _),
            ClientSession(incoming, outgoing) as session,
        ):
            await session.initialize()
            return await session.call_tool(name, arguments)
