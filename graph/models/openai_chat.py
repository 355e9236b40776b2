"""LangChain's chat model for OpenAI's protocol, and the one thing that its stream leaves out: that a model declines."""

from __future__ import annotations

from typing import Any

from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI


class OpenAIChat(ChatOpenAI):
    """`ChatOpenAI` whose streamed pieces hold a refusal as its whole replies do, in `additional_kwargs`."""

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
