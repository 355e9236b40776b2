"""What happens to each token of a reply: it becomes text, and follows a grammar."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import threading

    from llguidance import LLTokenizer
    from torch import Tensor

INCOMPLETE = "\N{REPLACEMENT CHARACTER}"
"""What a tokenizer decodes a part of a character to."""


class Stopped(Exception):  # the reply is not wanted any more; nobody sees it
    """The user cancelled a reply that is being generated."""


class ReplyText:
    """The text of a reply, decoded token by token and delivered in pieces of whole characters."""

    def __init__(self, decode: Callable[[list[int]], Any], deliver: Callable[[str], None]) -> None:
        self._decode, self._deliver = decode, deliver
        # A token's text may depend on the one before it: the last decoded tokens, and those decoded after them.
        self._before: list[int] = []
        self._new: list[int] = []

    def add(self, token: int) -> None:
        """Deliver the text that this token completes."""
        self._new.append(token)
        self._deliver_new(to_the_end=False)

    def end(self) -> None:
        """Deliver what waits for the rest of a character."""
        self._deliver_new(to_the_end=True)

    def _deliver_new(self, *, to_the_end: bool) -> None:
        known, text = self._decode(self._before), self._decode(self._before + self._new)
        if to_the_end or not text.endswith(INCOMPLETE):
            if piece := text[len(known) :]:
                self._deliver(piece)
            self._before, self._new = self._new, []


class JsonConstraint:
    """Allows only the tokens that continue a JSON text of a given schema; a logits processor of transformers.

    Raises:
        ValueError: nothing can satisfy the schema.
    """

    def __init__(self, vocabulary: LLTokenizer, schema: Mapping[str, Any]) -> None:
        from llguidance import LLMatcher

        grammar = LLMatcher.grammar_from_json_schema(
            dict(schema),
            overrides={"whitespace_flexible": False, "lenient": True, "json_allowed_escapes": '"\\nt'},
        )
        self._matcher = LLMatcher(vocabulary, grammar)
        if self._matcher.is_error():
            raise ValueError(f"the JSON schema of the reply cannot be kept: {self._matcher.get_error()}")

    @property
    def complete(self) -> bool:
        """Whether the JSON text is complete."""
        return self._matcher.is_stopped()

    def is_complete_with(self, token: int) -> bool:
        """Go on to the state after this token; returns whether the JSON text is complete."""
        self._matcher.consume_token(token)
        return self.complete

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Return the scores with those of forbidden tokens at minus infinity; shape (1, vocabulary)."""
        import numpy as np
        import torch

        bits = np.frombuffer(self._matcher.compute_bitmask(), dtype=np.uint8)  # bit n is token n
        allowed = np.zeros(scores.shape[-1], dtype=bool)  # a model may have more rows than its tokenizer has tokens
        known = np.unpackbits(bits, count=min(len(allowed), len(bits) * 8), bitorder="little")
        allowed[: len(known)] = known
        return scores.masked_fill(~torch.from_numpy(allowed).to(scores.device), float("-inf"))


@contextmanager
def stoppable(model: Any, stopped: threading.Event) -> Iterator[None]:  # noqa: ANN401  # each family has its class
    """Let the model raise `Stopped` before its next layer once the event is set, so that no prompt is read in vain."""
    import torch

    def check(*_: object) -> None:
        if stopped.is_set():
            raise Stopped

    blocks = [block for blocks in model.modules() if isinstance(blocks, torch.nn.ModuleList) for block in blocks]
    with ExitStack() as hooks:
        for block in blocks:
            hooks.enter_context(block.register_forward_pre_hook(check))
        yield
