"""The chat model over a GGUF file."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from graph.models.calls import ModelFailed
from graph.models.gguf.grammar import grammar
from graph.models.gguf.weights import GgufWeights, shared_weights
from graph.models.local_model import ROLES, LocalModel, ReplyOptions

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

CHUNK = 256
"""Tokens of a prompt that are read at once; OpenVINO cannot be stopped within them."""


class GgufChat(LocalModel):
    """A chat model over a GGUF file; `name` is its path."""

    @property
    @override
    def weights(self) -> GgufWeights:
        return shared_weights(Path(self.name).expanduser().absolute())

    @override
    def _prompt(self, messages: Sequence[BaseMessage]) -> list[int]:
        tokenizer = self.weights.model().get_tokenizer()
        chat = [{"role": ROLES[m.type], "content": self._without_marks(m.text)} for m in messages]
        # A model that can reason first would do so for minutes on a CPU.
        try:
            prompt = tokenizer.apply_chat_template(chat, True, extra_context={"enable_thinking": False})
        except RuntimeError as fault:
            raise ModelFailed(f"The chat template of {self.name} refused the messages: {str(fault)[:200]}") from fault
        ids: list[int] = tokenizer.encode(prompt, add_special_tokens=False).input_ids.data[0].tolist()
        return ids

    def _without_marks(self, text: str) -> str:
        """The text with a space in each mark of the template, such as <|im_end|>: no message can end its turn."""
        marks = self.weights.header.control_tokens
        if not any(mark in text for mark in marks):
            return text
        return re.sub("|".join(map(re.escape, marks)), lambda mark: f"{mark[0][0]} {mark[0][1:]}", text)

    @override
    def _write(
        self, prompt: list[int], options: ReplyOptions, deliver: Callable[[str], None], stopped: threading.Event
    ) -> tuple[int, bool] | None:
        pipeline = self.weights.model()
        config = self._config(pipeline, options)
        if not _read_prompt(self.weights, pipeline, prompt, stopped):
            return None
        return _generate(pipeline, prompt, config, deliver, stopped)

    def _config(self, pipeline: Any, options: ReplyOptions) -> Any:  # noqa: ANN401
        from openvino_genai import StructuredOutputConfig

        config = pipeline.get_generation_config()
        config.max_new_tokens = options.max_tokens
        config.do_sample = self.temperature > 0
        if self.temperature > 0:
            config.temperature = self.temperature
        if options.json_schema is not None:
            config.structured_output_config = StructuredOutputConfig(grammar=grammar(options.json_schema))
        return config


def _read_prompt(weights: GgufWeights, pipeline: Any, ids: list[int], stopped: threading.Event) -> bool:  # noqa: ANN401
    """Read the prompt chunk by chunk into the key-value cache, which the generation then starts from.

    What the last prompt began with, too, is there already. False if it was stopped.
    """
    last, weights.last_prompt = weights.last_prompt, ids
    known = next((n for n, (a, b) in enumerate(zip(ids, last, strict=False)) if a != b), min(len(ids), len(last)))
    config = pipeline.get_generation_config()
    config.max_new_tokens = 1
    for end in range(known + CHUNK, len(ids), CHUNK):
        pipeline.generate(_inputs(ids[:end]), config)
        if stopped.is_set():
            weights.last_prompt = ids[:end]
            return False
    return True


def _generate(
    pipeline: Any,  # noqa: ANN401
    ids: list[int],
    config: Any,  # noqa: ANN401
    deliver: Callable[[str], None],
    stopped: threading.Event,
) -> tuple[int, bool]:
    from openvino_genai import GenerationFinishReason, StreamingStatus

    def hear(piece: str) -> StreamingStatus:
        if stopped.is_set():
            return StreamingStatus.CANCEL
        deliver(piece)
        return StreamingStatus.RUNNING

    reply = pipeline.generate(_inputs(ids), config, hear)
    return len(reply.tokens[0]), reply.finish_reasons[0] != GenerationFinishReason.LENGTH


def _inputs(ids: list[int]) -> Any:  # noqa: ANN401
    import numpy as np
    from openvino import Tensor

    return Tensor(np.array([ids], np.int64))
