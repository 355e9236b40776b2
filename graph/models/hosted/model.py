"""Chat models over HTTP: OpenAI's own, and any server that speaks its protocol (vLLM, Ollama, llama.cpp)."""

from typing import Any

import httpx
from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI
from pydantic import SecretStr
from typing_extensions import override

from graph.models.faults import UnknownModel
from graph.models.hosted.keys import NO_KEY, read_key
from graph.models.hosted.profile import FAILED, OPENAI

TIMEOUT_SECONDS = 120.0
"""How long a server may be silent; a 7B model on a laptop needs half a minute to read 20 memories."""

RETRIES = 2


class OpenAIChat(ChatOpenAI):
    """`ChatOpenAI` whose streamed pieces have a refusal in `additional_kwargs`, as its whole replies do.

    LangChain (langchain-openai 1.7.3) reads refusals from a whole reply, and from a stream only through
    `with_structured_output`, which is not used here (`graph.models.hosted.profile` says why).
    """

    @override
    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], *more: Any, **named: Any
    ) -> ChatGenerationChunk | None:
        made = super()._convert_chunk_to_generation_chunk(chunk, *more, **named)
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
        response = await client.send(request, **options)
        if response.status_code in FAILED and b'"response_format":' in request.content:  # another form is tried next
            response.headers["x-should-retry"] = "false"
        return response


def hosted_model(name: str, address: str) -> OpenAIChat:
    """The chat model of that name behind an address; behind OpenAI's where there is none.

    Raises:
        UnknownModel: OpenAI needs a key, and none is set.
    """
    key = read_key("MEMOIR_API_KEY", address) or NO_KEY if address else read_key("OPENAI_API_KEY")
    if not key:
        raise UnknownModel(
            f"openai:{name} needs a key: set OPENAI_API_KEY in the environment or in the key file, or type it under "
            "Model. Nothing was sent"
        )
    model = OpenAIChat(
        model=name,
        base_url=address or OPENAI,
        api_key=SecretStr(key),
        temperature=0,
        timeout=TIMEOUT_SECONDS,
        # LangChain would wait for each chunk by asyncio.wait_for, which loses a cancellation that meets a chunk (before
        # Python 3.12); graph.models.calls bounds the time of the whole reply.
        stream_chunk_timeout=None,
        max_retries=RETRIES,
        stream_usage=True,
        http_async_client=UnpooledClient(),
        # Set, or a name that resembles a newer one of OpenAI's would be asked in another protocol.
        use_responses_api=False,
    )
    if not address and (model.profile or {}).get("temperature") is False:
        model.temperature = None  # models that reason refuse a request that names one
    return model
