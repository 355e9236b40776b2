"""Chat models over HTTP: OpenAI's own, and any server that speaks its protocol (vLLM, Ollama, llama.cpp)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graph.models.keys import NO_KEY, read_key
from graph.models.names import ModelName, UnknownModel

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

OPENAI = "https://api.openai.com/v1"
"""Fixed, so that OPENAI_BASE_URL cannot make "openai:..." mean another service than its name says."""

TIMEOUT_SECONDS = 120.0
"""How long a server may be silent; a 7B model on a laptop needs half a minute to read 20 memories."""

RETRIES = 2

LIST_TIMEOUT_SECONDS = 3.0
"""How long a server may take to list its models; it is asked once, before the first prompt."""


def hosted_model(name: ModelName, temperature: float) -> BaseChatModel:
    """The chat model behind an address.

    Raises:
        UnknownModel: OpenAI needs a key, and none is set.
    """
    import httpx
    from pydantic import SecretStr

    from graph.models.openai_chat import OpenAIChat

    model = OpenAIChat(
        model=name.model,
        base_url=name.address or OPENAI,
        api_key=SecretStr(_key(name)),
        temperature=temperature,
        timeout=TIMEOUT_SECONDS,
        max_retries=RETRIES,
        stream_usage=True,
        # A connection belongs to the event loop that opened it, and the same model is asked from several.
        http_async_client=httpx.AsyncClient(limits=httpx.Limits(max_keepalive_connections=0)),
        # Set, or a name that resembles a newer one of OpenAI's would be asked in another protocol.
        use_responses_api=False,
    )
    if name.kind == "openai" and (model.profile or {}).get("temperature") is False:
        model.temperature = None  # models that reason refuse a request that names one
    return model


def context_length(model: BaseChatModel) -> int | None:
    """The model's context in tokens: from its server (vLLM's `max_model_len`) or LangChain's profile of it.

    None where it is unknown.
    """
    max_tokens = (model.profile or {}).get("max_input_tokens")
    address, name = str(getattr(model, "openai_api_base", "")), str(getattr(model, "model_name", ""))
    if address == OPENAI:
        return max_tokens
    if address not in _CONTEXTS:
        client = getattr(model, "root_client", None)
        contexts = _list_contexts(client) if client is not None else {}
        if contexts is None:  # unreachable at the moment; ask again next time
            return None
        _CONTEXTS[address] = contexts
    return _CONTEXTS[address].get(name)


_CONTEXTS: dict[str, dict[str, int]] = {}
"""Context lengths by address and model, as the servers reported them."""


def _list_contexts(client: Any) -> dict[str, int] | None:  # noqa: ANN401  # the client of a library that loads late
    """Context lengths by model; None where the server cannot be reached."""
    from openai import APIConnectionError, OpenAIError

    try:
        rows = client.with_options(timeout=LIST_TIMEOUT_SECONDS, max_retries=0).models.list().data
        lengths = {row.id: (row.model_extra or {}).get("max_model_len") for row in rows}
    except APIConnectionError:
        return None
    except (OpenAIError, ValueError, TypeError, AttributeError):  # no such list, or not in OpenAI's format
        return {}
    return {str(name): length for name, length in lengths.items() if isinstance(length, int) and length > 0}


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
