"""LangChain's chat model for OpenAI's protocol, with refusals in the stream.

LangChain (langchain-openai 1.7.3) reads them from a whole reply, and from a stream only through
`with_structured_output`, which is not used here (`graph.models.hosted.schemas` says why).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langchain_openai import ChatOpenAI

if TYPE_CHECKING:
    from langchain_core.outputs import ChatGenerationChunk


class OpenAIChat(ChatOpenAI):
    """`ChatOpenAI` whose streamed pieces have a refusal in `additional_kwargs`, as its whole replies do."""

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
