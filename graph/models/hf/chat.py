"""A chat model run by transformers.

It replaces the chat model of langchain-huggingface, whose generation runs in a thread that loses exceptions (the stream
then waits a minute and ends empty), continues after it was cancelled, counts no tokens, and tokenizes the template
twice, with a second token of beginning.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from graph.models.hf.replies import JsonConstraint, ReplyText, Stopped, stoppable
from graph.models.hf.weights import ModelWeights, shared_weights
from graph.models.local_model import ROLES, LocalModel, ReplyOptions
from graph.models.quantization import Quantization, resolve_quantization

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage
    from torch import Tensor


class HuggingFaceModel(LocalModel):
    """A chat model over `ModelWeights`."""

    quantization: Quantization = "auto"

    @property
    @override
    def weights(self) -> ModelWeights:
        return shared_weights(self.name, resolve_quantization(self.quantization))

    @property
    @override
    def on_cpu(self) -> bool:
        import torch

        return not torch.cuda.is_available()

    @property
    @override
    def free_bytes(self) -> int:
        import torch

        return super().free_bytes if self.on_cpu else int(torch.cuda.mem_get_info()[0])

    @override
    def _prompt(self, messages: Sequence[BaseMessage]) -> list[int]:
        from jinja2.exceptions import TemplateError

        tokenizer = self.weights.tokenizer()
        chat = [{"role": ROLES[m.type], "content": m.text} for m in messages]
        # A model that may think first would spend all tokens of a short answer on it.
        options: dict[str, Any] = {"add_generation_prompt": True, "enable_thinking": False, "return_dict": False}
        try:
            return list(tokenizer.apply_chat_template(chat, **options))
        except TemplateError:  # it takes no system messages, or its roles must alternate (Gemma)
            return list(tokenizer.apply_chat_template(_alternating(chat), **options))

    @override
    def _write(
        self, prompt: list[int], options: ReplyOptions, deliver: Callable[[str], None], stopped: threading.Event
    ) -> tuple[int, bool] | None:
        import torch

        model, tokenizer = self.weights.model(), self.weights.tokenizer()
        ids = torch.tensor([prompt], device=model.device)
        text = ReplyText(partial(tokenizer.decode, skip_special_tokens=True), deliver)
        json = JsonConstraint(self.weights.vocabulary(), options.json_schema) if options.json_schema else None

        def take_token(tokens: Tensor, *_: object, **__: object) -> bool:
            """Deliver what the newest token adds to the text; returns whether the reply is complete with it."""
            token = int(tokens[0, -1])
            text.add(token)
            return json is not None and json.is_complete_with(token)

        with stoppable(model, stopped):
            try:
                tokens = model.generate(
                    ids,
                    attention_mask=torch.ones_like(ids),
                    logits_processor=[json] if json else [],
                    stopping_criteria=[take_token],
                    max_new_tokens=options.max_tokens,
                    do_sample=self.temperature > 0,
                    temperature=self.temperature or None,
                    top_p=None,
                    top_k=None,
                    pad_token_id=tokenizer.pad_token_id or tokenizer.eos_token_id,
                )
            except Stopped:
                return None
        text.end()
        ended = (json is not None and json.complete) or _is_end(model, int(tokens[0, -1]))
        return int(tokens.shape[1]) - len(prompt), ended


def _alternating(chat: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """The same messages in turns of user and assistant: system text is the user's, and neighbours become one."""
    turns = groupby(chat, key=lambda message: "user" if message["role"] == "system" else message["role"])
    return [{"role": role, "content": "\n\n".join(m["content"] for m in messages)} for role, messages in turns]


def _is_end(model: Any, token: int) -> bool:  # noqa: ANN401  # each family has a class of its own
    """Whether this token ends a reply."""
    ends = model.generation_config.eos_token_id
    return token in ends if isinstance(ends, list) else token == ends
