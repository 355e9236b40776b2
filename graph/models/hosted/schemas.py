"""Hand the JSON schema of a reply to a server, in a form that it takes.

The library's own way is `with_structured_output(schema, method="json_schema", include_raw=True)`. Its request is the
same as the first form here, but (langchain-openai 1.7, openai 2) it goes through `chat.completions.stream`, which
raises where a reply was cut at its most tokens and where a stream is empty, hides that a connection ended early, and
knows no second form; llama-cpp-python needs that one and ends a prompt that is too long with an empty stream. The reply
would have to be parsed here in any case: not every server keeps to a schema, and some write around the JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graph.models.limits import change_parts

if TYPE_CHECKING:
    from langchain_openai.chat_models.base import BaseChatOpenAI

FORMS: Sequence[str] = ("json_schema", "json_object", "")
"""In the order in which they are tried: OpenAI's; that of llama.cpp and llama-cpp-python; none."""

REFUSALS = (400, 422, 500, 501)
"""HTTP status of a server that does not take a form (llama-cpp-python: 500), or that fails for any other reason."""

FAILED = (500, 501)
"""Those with which a server that took the form before does not refuse it, but has failed."""

_ACCEPTED: dict[tuple[str | None, str], str] = {}
"""The form that a server took last, by address and model."""


def forms(model: BaseChatOpenAI) -> Sequence[str]:
    """The forms to try, beginning with the one that this server took before."""
    accepted = _ACCEPTED.get((model.openai_api_base, model.model_name), FORMS[0])
    return FORMS[FORMS.index(accepted) :]


def refusals(model: BaseChatOpenAI, form: str) -> Sequence[int]:
    """The status that says that the server may not take a form."""
    took = form == _ACCEPTED.get((model.openai_api_base, model.model_name))
    return [status for status in REFUSALS if form and not (took and status in FAILED)]


def remember_form(model: BaseChatOpenAI, form: str) -> None:
    """Begin with this form from now on."""
    _ACCEPTED[model.openai_api_base, model.model_name] = form


def response_format(form: str, schema: Mapping[str, Any], *, openai: bool) -> dict[str, Any]:
    """The fields of a request that ask for a reply of this schema."""
    if form == "json_schema":
        named = {"name": "reply", "strict": True, "schema": without_lengths(schema) if openai else schema}
        return {"response_format": {"type": "json_schema", "json_schema": named}}
    return {"response_format": {"type": "json_object", "schema": schema}} if form else {}


def without_lengths(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema without bounds on strings, which OpenAI's strict mode refuses."""
    changed = change_parts(schema, without_lengths)
    return {word: value for word, value in changed.items() if word not in ("minLength", "maxLength")}
