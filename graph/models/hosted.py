"""Chat models over HTTP: OpenAI's own, and any server that speaks its protocol (vLLM, Ollama, llama.cpp)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graph.models.keys import NO_KEY, key
from graph.models.names import Name, UnknownModel

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

OPENAI = "https://api.openai.com/v1"
"""Fixed, so that OPENAI_BASE_URL cannot make "openai:..." mean another service than its name says."""

TIMEOUT_SECONDS = 120.0
"""How long a reply may keep silent; a 7B model on a laptop needs half a minute to read 20 memories."""

RETRIES = 2

ASKED_SECONDS = 3.0
"""How long a server may take to list its models; it is asked once, before the first prompt."""


def hosted_model(name: Name, temperature: float) -> BaseChatModel:
    """The chat model behind an address.

    Raises:
        UnknownModel: OpenAI wants a key, and none is set.
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


def context_told(model: BaseChatModel) -> int | None:
    """Tokens of the model's context: as its server tells (`max_model_len` of vLLM), or as is known of OpenAI's own.

    None where nobody says.
    """
    known = (model.profile or {}).get("max_input_tokens")
    place, name = str(getattr(model, "openai_api_base", "")), str(getattr(model, "model_name", ""))
    if place == OPENAI:
        return known
    if place not in _CONTEXTS:
        client = getattr(model, "root_client", None)
        listed = _listed(client) if client is not None else {}
        if listed is None:  # not there just now; ask again next time
            return None
        _CONTEXTS[place] = listed
    return _CONTEXTS[place].get(name)


_CONTEXTS: dict[str, dict[str, int]] = {}
"""What servers said of their models' contexts, by address."""


def _listed(client: Any) -> dict[str, int] | None:  # noqa: ANN401  # the client of a library that loads late
    """Context lengths by model; None where the server cannot be reached."""
    from openai import APIConnectionError, OpenAIError

    try:
        rows = client.with_options(timeout=ASKED_SECONDS, max_retries=0).models.list().data
        told = {row.id: (row.model_extra or {}).get("max_model_len") for row in rows}
    except APIConnectionError:
        return None
    except (OpenAIError, ValueError, TypeError, AttributeError):  # no such list, or none as OpenAI has it
        return {}
    return {str(name): length for name, length in told.items() if isinstance(length, int) and length > 0}


def _key(name: Name) -> str:
    if name.kind == "server":
        return key("MEMOIR_API_KEY") or NO_KEY
    found = key("OPENAI_API_KEY")
    if not found:
        raise UnknownModel(
            f"openai:{name.model} needs a key: set OPENAI_API_KEY in the environment or in the file of keys. "
            "Nothing was sent"
        )
    return found
