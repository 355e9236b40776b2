"""Ask a chat model for what one part of a benchmark is made of, and count what is left out."""

from __future__ import annotations

import asyncio
import json
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import Field

from eval.runs.run import drop_partial_line
from eval.types import Watch
from graph.models.calls import Completion, ModelFailed, Unreachable
from graph.models.json_replies import StrictReply, UnusableReply, ask_for_json, quoted

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel  # noqa: TC004 (a second to import)

MAX_TOKENS = 1024
"""Most tokens of a reply; an event of 300 words takes some 500, ten relationships 700."""

Item = TypeVar("Item")
Reply = TypeVar("Reply", bound=StrictReply)


def bound(**limits: int) -> Any:  # noqa: ANN401  # of what pydantic's functions return
    """Bounds in the schema alone: what a model without a grammar writes beyond them is not refused."""
    return Field(json_schema_extra=dict(limits))


Name = Annotated[str, bound(maxLength=40)]
Phrase = Annotated[str, bound(maxLength=120)]
Sentence = Annotated[str, bound(maxLength=400)]
Paragraph = Annotated[str, bound(maxLength=2500)]


class Score(StrictReply):
    """How good something is, from 0 to 10."""

    score: Annotated[int, Field(ge=0, le=10)]


class Question(StrictReply):
    """A question, and its answer."""

    question: Sentence
    answer: Sentence


class NotMade(Exception):  # the next part is made, not an error of the program
    """The model's replies do not make this part; the message says what was wrong."""


class LeftOut(Exception):  # the next item of the step is made, not an error of the program
    """An item of a step is not kept; the message says why."""


@dataclass(slots=True)
class Writer:
    """Asks a model for a part such as "persona 3" by instructions from `prompts`; counts what each step leaves out.

    Usable replies are added to a `file` of JSON lines. Of a part that was interrupted, the file answers what was asked
    before, so that only the rest is asked of the model. `replies` is their number, old and new.
    """

    model: BaseChatModel
    prompts: Mapping[str, str]
    threshold: int
    part: str
    file: Path
    watch: Watch
    step: str = ""
    replies: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    """By step and reason."""
    _kept: defaultdict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    """The replies of an interruption, by what was asked."""

    def __post_init__(self) -> None:
        drop_partial_line(self.file)
        for line in self.file.read_bytes().splitlines() if self.file.exists() else ():
            kept = json.loads(line)
            self._kept[kept["asked"]].append(kept["reply"])

    @property
    def place(self) -> str:
        """The part and the step, for progress and errors."""
        return f"{self.part}, {self.step}"

    def begin(self, step: str) -> None:
        """Begin a step of one reply."""
        self.step = step
        self.watch(self.place, 0, 1)

    def each(self, step: str, items: Sequence[Item]) -> Iterator[Item]:
        """Yield the items of a step, and report how many of them are done."""
        self.step = step
        for done, item in enumerate(items):
            self.watch(self.place, done, len(items))
            yield item
        self.watch(self.place, len(items), len(items))

    def ask(self, shape: type[Reply], name: str = "", /, **data: object) -> Reply:
        """Return a reply about the data to the prompt of a name, by default the shape's.

        Raises:
            LeftOut: two replies do not have the shape, or there is none.
            Unreachable: the model may reply another time.
        """
        text = prompt(self.prompts[name or shape.__name__], data)
        asked = sha256(text.encode()).hexdigest()
        if self._kept[asked]:
            self.replies += 1
            return shape.model_validate(self._kept[asked].pop(0))
        replies: list[Completion] = []
        try:
            reply = asyncio.run(ask_for_json(self.model, [("human", text)], shape, replies, max_tokens=MAX_TOKENS))
        except Unreachable:
            raise
        except (UnusableReply, ModelFailed) as fault:
            raise LeftOut("unusable reply") from fault
        finally:
            self.replies += len(replies)
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"asked": asked, "reply": reply.model_dump()}, ensure_ascii=False) + "\n")
        return reply

    def require(self, what: str, shape: type[Reply], /, **data: object) -> Reply:
        """Return a reply that the part cannot do without; `what` begins the message if there is none.

        Raises:
            NotMade: there is no usable reply.
            Unreachable: the model may reply another time.
        """
        try:
            return self.ask(shape, **data)
        except LeftOut as fault:
            raise NotMade(f"{what}{fault.__cause__}") from fault

    def score(self, name: str, too_low: str, /, **data: object) -> int:
        """Return the score from 0 to 10 that the model gives by the prompt of a name.

        Raises:
            LeftOut: it is below the threshold, for the reason `too_low`, or there is no usable reply.
            Unreachable: the model may reply another time.
        """
        score = self.ask(Score, name, **data).score
        if score < self.threshold:
            raise LeftOut(too_low)
        return score

    @contextmanager
    def leave_out(self) -> Iterator[None]:
        """Count an item that is left out within, and go on after it."""
        try:
            yield
        except LeftOut as fault:
            self.drop(str(fault))

    def drop(self, reason: str) -> None:
        """Count something that this step leaves out."""
        self.left_out[f"{self.step}: {reason}"] += 1


def read_prompts(module: str) -> dict[str, str]:
    """The instructions beside a module's file, by name: prompts.toml."""
    return tomllib.loads(Path(module).with_name("prompts.toml").read_text("utf-8"))


def prompt(instruction: str, data: Mapping[str, object]) -> str:
    """The data, a line each as JSON, then the instruction."""
    lines = (f"{name.replace('_', ' ').capitalize()}: {quoted(value)}" for name, value in data.items())
    return "\n".join(lines) + f"\n\n{instruction}"


def one_line(text: str) -> str:
    """The text without line breaks, and without spaces at its ends or twice."""
    return " ".join(text.split())
