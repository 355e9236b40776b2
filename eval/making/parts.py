"""Make the parts of a benchmark (personas, questions) one after another by a chat model; what is finished is kept.

OUT/generation.json       how the parts are made; a folder is never mixed from two plans
OUT/personas/1.json       one part, written whole
OUT/personas/2.replies    the replies to a part that was interrupted
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pydantic import BaseModel, ValidationError

from eval.making.writer import Writer
from eval.runs.run import write_atomically
from eval.types import Watch
from graph.models.faults import Unreachable
from memory.errors import MemoirError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


class GenerationStopped(MemoirError):
    """The files cannot be made, or not to the end; the message says which part and step, and what is kept."""


class NotMade(Exception):  # the next part is made, not an error of the program
    """The model's replies do not make this part; the message says what was wrong."""


class Part(BaseModel):
    """A finished part, as its file has it; the number of replies to it, and what was left out by step and reason."""

    replies: int = 0
    left_out: dict[str, int] = {}


AnyPart = TypeVar("AnyPart", bound=Part)


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


@dataclass(frozen=True, slots=True)
class Made(Generic[AnyPart]):
    """The parts of a folder in their order, and why some could not be made."""

    parts: Sequence[AnyPart]
    failed: Sequence[str]

    @property
    def left_out(self) -> Mapping[str, int]:
        """What was left out over all parts, the most frequent first."""
        counts = Counter[str]()
        for part in self.parts:
            counts.update(part.left_out)
        return dict(counts.most_common())

    def generated(self, counts: Mapping[str, int]) -> Generated:
        """The account of these parts, with what their files hold."""
        return Generated(counts, sum(part.replies for part in self.parts), self.left_out, self.failed)

    def nothing(self, what: str) -> GenerationStopped:
        """The error that nothing came out that can be asked, with the reasons."""
        reasons = [f"{number} × {reason}" for reason, number in self.left_out.items()]
        return GenerationStopped(f"no {what} was made ({'; '.join([*self.failed, *reasons])}). Try a larger model")


def make_parts(
    folder: Path,
    kind: str,
    number: int,
    plan: Plan,
    shape: type[AnyPart],
    make: Callable[[int, Sequence[AnyPart], Writer], AnyPart],
    model: BaseChatModel,
    watch: Watch,
) -> Made[AnyPart]:
    """Make those of the parts 1 to `number` that the folder lacks; `make` gets a part's number and those before it.

    Raises:
        GenerationStopped: the folder was made by another plan, a part is damaged, or the model does not reply.
    """
    _keep_plan(folder, plan)
    place = folder / f"{kind}s"
    place.mkdir(exist_ok=True)
    made = {n: _read(file, shape) for n in range(1, number + 1) if (file := place / f"{n}.json").exists()}
    failed = []
    for n in range(1, number + 1):
        if n in made:
            continue
        replies = place / f"{n}.replies"
        writer = Writer(model, f"{kind} {n}", replies, watch)
        try:
            part = make(n, [made[before] for before in sorted(made)], writer)
        except NotMade as fault:
            failed.append(f"{writer.place}: {fault}")
        except Unreachable as fault:
            raise GenerationStopped(
                f"{writer.place}: {fault}. The {len(made)} finished are kept, and the replies to this one; run the "
                "same command again to go on"
            ) from fault
        else:
            part.replies, part.left_out = writer.replies, dict(writer.left_out)
            write_atomically(place / f"{n}.json", part.model_dump_json(indent=1).encode())
            made[n] = part
        replies.unlink(missing_ok=True)
    return Made([made[n] for n in sorted(made)], failed)


def write_json(file: Path, value: Any) -> None:  # noqa: ANN401  # of whatever JSON has
    """Write a file of the benchmark."""
    write_atomically(file, json.dumps(value, ensure_ascii=False, indent=1).encode())


def _keep_plan(folder: Path, plan: Plan) -> None:
    """Remember how the folder is made; a folder made in another way is refused."""
    file, text = folder / "generation.json", json.dumps(asdict(plan))
    folder.mkdir(parents=True, exist_ok=True)
    if file.exists() and (before := file.read_text("utf-8")) != text:
        raise GenerationStopped(f"{folder} was made with {before}, not with {text}. Name a new folder")
    write_atomically(file, text.encode())


def _read(file: Path, shape: type[AnyPart]) -> AnyPart:
    try:
        return shape.model_validate_json(file.read_bytes())
    except ValidationError as fault:
        raise GenerationStopped(
            f"{file} is damaged ({fault.errors()[0]['msg']}). Delete it to make it again"
        ) from fault
