"""An HTTP client that the event loops of several threads may share."""

from __future__ import annotations

from typing import Any

import httpx
from typing_extensions import override


class UnpooledClient(httpx.AsyncClient):
    """An HTTP client that opens a connection for each request and keeps none.

    A connection belongs to the event loop that opened it, and httpx's list of them to one thread: two that change it at
    once lose a request by "list.remove(x): x not in list" (httpcore 1.0.9).
    """

    def __init__(self) -> None:
        self._tls = httpx.create_ssl_context()  # takes 20 ms, so it is shared
        super().__init__(verify=self._tls)

    @override
    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        # Not closed: once its response is, it has no connection.
        client = httpx.AsyncClient(verify=self._tls, limits=httpx.Limits(max_keepalive_connections=0))
        return await client.send(request, **options)
