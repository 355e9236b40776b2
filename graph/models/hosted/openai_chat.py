"""LangChain's chat model for OpenAI's protocol, and an HTTP client for it, each with what theirs lack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
from langchain_openai import ChatOpenAI
from typing_extensions import override

if TYPE_CHECKING:
    from langchain_core.outputs import ChatGenerationChunk


class OpenAIChat(ChatOpenAI):
    """`ChatOpenAI` whose streamed pieces have a refusal in `additional_kwargs`, as its whole replies do.

    LangChain (langchain-openai 1.7.3) reads refusals from a whole reply, and from a stream only through
    `with_structured_output`, which is not used here (`graph.models.hosted.schemas` says why).
    """

    def _convert_chunk_to_generation_chunk(
        self,
        chunk: dict[str, Any],
        default_chunk_class: type[Any],
        base_generation_info: dict[str, Any] | None,
    ) -> ChatGenerationChunk | None:
        made = super()._convert_chunk_to_generation_chunk(chunk, default_chunk_class, base_generation_info)
        choices = chunk.get("choices") or [{}]
        refusal = (choices[0].get("delta") or {}).get("refusal")
        if made is not None and refusal:
            made.message.additional_kwargs["refusal"] = refusal
        return made


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
