"""Ask a chat model for what one part of a benchmark is made of, and count what is left out."""

from __future__ import annotations

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from eval.making.prompting import Asked, prompt
from eval.types import Watch
from graph.models.calls import Completion, ModelFailed, Unreachable
from graph.models.json_replies import UnusableReply, ask_for_json

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

MAX_TOKENS = 1024
"""Most tokens of a reply; an event of 300 words takes some 500, ten relationships 700."""

Item = TypeVar("Item")
Reply = TypeVar("Reply", bound=Asked)


class Writer:
    """Asks a model for a part such as "persona 3"; `left_out` counts what was dropped, by step and reason.

    Usable replies are added to a file of JSON lines. Of a part that was interrupted, the file answers what was asked
    before, so that only the rest is asked of the model. `replies` is their number, old and new; `last_fault` says what
    was wrong with the last one that could not be used.
    """

    def __init__(self, model: BaseChatModel, part: str, file: Path, watch: Watch) -> None:
        self.step, self.last_fault = "", ""
        self.replies = 0
        self.left_out = Counter[str]()
        self._part = part
        self._file = file
        self._kept = _read(file)
        self._model = model
        self._watch = watch

    @property
    def place(self) -> str:
        """The part and the step, for progress and errors."""
        return f"{self._part}, {self.step}"

    def begin(self, step: str) -> None:
        """Begin a step of one reply."""
        self.step = step
        self._watch(self.place, 0, 1)

    def each(self, step: str, items: Sequence[Item]) -> Iterator[Item]:
        """Yield the items of a step, and report how many of them are done."""
        self.step = step
        for done, item in enumerate(items):
            self._watch(self.place, done, len(items))
            yield item
        self._watch(self.place, len(items), len(items))

    def ask(self, shape: type[Reply], **data: object) -> Reply | None:
        """Return a reply about the data; None, counted, if two replies do not have the shape, or there is none.

        Raises:
            Unreachable: the model may reply another time.
        """
        text = prompt(shape, data)
        asked = sha256(text.encode()).hexdigest()
        if self._kept[asked]:
            self.replies += 1
            return shape.model_validate(self._kept[asked].pop(0))
        replies: list[Completion] = []
        try:
            reply = asyncio.run(ask_for_json(self._model, [("human", text)], shape, replies, max_tokens=MAX_TOKENS))
        except Unreachable:
            raise
        except (UnusableReply, ModelFailed) as fault:
            self.last_fault = str(fault)
            self.drop("unusable reply")
            return None
        finally:
            self.replies += len(replies)
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"asked": asked, "reply": reply.model_dump()}, ensure_ascii=False) + "\n")
        return reply

    def drop(self, reason: str) -> None:
        """Count something that this step leaves out."""
        self.left_out[f"{self.step}: {reason}"] += 1


def _read(file: Path) -> defaultdict[str, list[Any]]:
    """The replies of a part that was interrupted, by what was asked; a line that is half written is cut off."""
    kept: defaultdict[str, list[Any]] = defaultdict(list)
    if not file.exists():
        return kept
    whole = [line for line in file.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    with file.open("r+b") as there:
        there.truncate(sum(map(len, whole)))
    for line in whole:
        reply = json.loads(line)
        kept[reply["asked"]].append(reply["reply"])
    return kept
