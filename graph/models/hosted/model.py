"""Chat models over HTTP: OpenAI's own, and any server that speaks its protocol (vLLM, Ollama, llama.cpp)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graph.models.hosted.keys import NO_KEY, read_key
from graph.models.hosted.profile import OPENAI
from graph.models.names import ModelName, UnknownModel

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

TIMEOUT_SECONDS = 120.0
"""How long a server may be silent; a 7B model on a laptop needs half a minute to read 20 memories."""

RETRIES = 2


def hosted_model(name: ModelName, temperature: float) -> BaseChatModel:
    """The chat model behind an address.

    Raises:
        UnknownModel: OpenAI needs a key, and none is set.
    """
    from pydantic import SecretStr

    from graph.models.hosted.openai_chat import OpenAIChat, UnpooledClient

    model = OpenAIChat(
        model=name.model,
        base_url=name.address or OPENAI,
        api_key=SecretStr(_key(name)),
        temperature=temperature,
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
    if name.kind == "openai" and (model.profile or {}).get("temperature") is False:
        model.temperature = None  # models that reason refuse a request that names one
    return model


def _key(name: ModelName) -> str:
    if name.kind == "server":
        return read_key("MEMOIR_API_KEY") or NO_KEY
    openai_key = read_key("OPENAI_API_KEY")
    if not openai_key:
        raise UnknownModel(
            f"openai:{name.model} needs a key: set OPENAI_API_KEY in the environment or in the key file. "
            "Nothing was sent"
        )
    return openai_key
