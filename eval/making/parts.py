"""Make the parts of a benchmark (personas, questions) one after another by a chat model; what is finished is kept.

OUT/generation.json       how the parts are made; a folder is never mixed from two plans
OUT/personas/1.json       one part, written whole
OUT/personas/2.replies    the replies to a part that was interrupted
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from eval.making.writer import NotMade, Writer
from eval.runs.run import write_atomically
from eval.types import Watch
from graph.models.faults import Unreachable
from memory.errors import MemoirError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel  # noqa: TC004 (a second to import)


class GenerationStopped(MemoirError):
    """The files cannot be made, or not to the end; the message says which part and step, and what is kept."""


class Part(BaseModel):
    """A finished part, as its file has it; the number of replies to it, and what was left out by step and reason."""

    replies: int = 0
    left_out: dict[str, int] = {}


AnyPart = TypeVar("AnyPart", bound=Part)
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Plan:
    """How parts are made: by which model, by which draws, and the lowest score from 0 to 10 that is kept."""

    model: str
    seed: int = 0
    threshold: int = 6


@dataclass(frozen=True, slots=True)
class Generated:
    """What the files of a benchmark hold, by kind, what was left out, and why some parts could not be made."""

    counts: Mapping[str, int]
    replies: int
    left_out: Mapping[str, int]
    failed: Sequence[str]


@dataclass(slots=True)
class Generation:
    """One run that makes the parts of a benchmark in a folder, as far as it lacks them.

    `make` may be called for several kinds of parts; `account` and `nothing` speak of all of them.

    Raises:
        GenerationStopped: the folder was made by another plan.
    """

    folder: Path
    plan: Plan
    prompts: Mapping[str, str]
    model: BaseChatModel
    watch: Watch
    parts: list[Part] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        file, text = self.folder / "generation.json", json.dumps(asdict(self.plan))
        self.folder.mkdir(parents=True, exist_ok=True)
        if file.exists() and (before := file.read_text("utf-8")) != text:
            raise GenerationStopped(f"{self.folder} was made with {before}, not with {text}. Name a new folder")
        write_atomically(file, text.encode())

    def make(
        self,
        kind: str,
        items: Sequence[Item],
        shape: type[AnyPart],
        make: Callable[[Item, Sequence[AnyPart], Writer], AnyPart],
    ) -> Sequence[AnyPart]:
        """Make a part of each item; `make` gets the finished ones, too. Those that cannot be made are missing.

        Raises:
            GenerationStopped: a part is damaged, or the model does not reply.
        """
        place = self.folder / f"{kind}s"
        place.mkdir(exist_ok=True)
        files = {number: place / f"{number}.json" for number in range(1, len(items) + 1)}
        made = {number: _read(file, shape) for number, file in files.items() if file.exists()}
        for number, item in enumerate(items, start=1):
            if number in made:
                continue
            replies = place / f"{number}.replies"
            writer = Writer(self.model, self.prompts, self.plan.threshold, f"{kind} {number}", replies, self.watch)
            try:
                part = make(item, [made[each] for each in sorted(made)], writer)
            except NotMade as fault:
                self.failed.append(f"{writer.place}: {fault}")
            except Unreachable as fault:
                raise GenerationStopped(
                    f"{writer.place}: {fault}. The {len(made)} finished are kept, and the replies to this one; run the "
                    "same command again to go on"
                ) from fault
            else:
                part.replies, part.left_out = writer.replies, dict(writer.left_out)
                write_atomically(files[number], part.model_dump_json(indent=1).encode())
                made[number] = part
            replies.unlink(missing_ok=True)
        parts = [made[number] for number in sorted(made)]
        self.parts += parts
        return parts

    def account(self, counts: Mapping[str, int]) -> Generated:
        """The account of what was made, with what the files hold."""
        return Generated(counts, sum(part.replies for part in self.parts), self._left_out(), self.failed)

    def nothing(self, what: str) -> GenerationStopped:
        """The error that nothing came out that can be asked, with the reasons."""
        reasons = [f"{number} × {reason}" for reason, number in self._left_out().items()]
        return GenerationStopped(f"no {what} was made ({'; '.join([*self.failed, *reasons])}). Try a larger model")

    def _left_out(self) -> Mapping[str, int]:
        """What was left out over all parts, the most frequent first."""
        counts = Counter[str]()
        for part in self.parts:
            counts.update(part.left_out)
        return dict(counts.most_common())


def write_json(file: Path, value: Any) -> None:  # noqa: ANN401  # of whatever JSON has
    """Write a file of the benchmark."""
    write_atomically(file, json.dumps(value, ensure_ascii=False, indent=1).encode())


def _read(file: Path, shape: type[AnyPart]) -> AnyPart:
    try:
        return shape.model_validate_json(file.read_bytes())
    except ValidationError as fault:
        raise GenerationStopped(
            f"{file} is damaged ({fault.errors()[0]['msg']}). Delete it to make it again"
        ) from fault
