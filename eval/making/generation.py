"""Make the parts of a benchmark (personas, questions) step by step with a chat model; what is finished is kept.

OUT/generation.json       how the parts are made; a folder is never mixed from two plans
OUT/personas/1.json       one part, written whole
OUT/personas/2.replies    the replies to a part that was interrupted

A benchmark's recipe makes a part by asking a `Writer` and checking the replies. What fails a check raises `LeftOut`:
within `leave_out` it is counted, and the next item is made; elsewhere the part cannot be made. If the model cannot be
reached (`ModelUnavailable`), the run ends, and the same command goes on later.

What the model is asked, and the form of its reply, is in the prompts.toml beside a recipe:

    [Events]
    reply = { events = ["sentence", 10] }      a list of at most 10 sentences
    text = '''Write what an assistant remembers of this child...'''

A form is a name of `TYPES`, a range of integers ("0..10"), [form of the items, most items] or { field = form }.
"""

import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import GenericAlias
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, Field, create_model

from eval.metrics.answers import normalise
from eval.runs.run import drop_partial_line, write_atomically
from eval.types import ChatModel, Watch
from graph.models.calls import Completion, ModelFailed, ModelUnavailable
from graph.models.json_replies import StrictReply, UnusableReply, ask_for_json, quoted
from memory import read_table
from memory.errors import MemoirError

MAX_TOKENS = 1024
"""Most tokens of a reply; an event of 300 words takes some 500, ten relationships 700."""


class LeftOut(Exception):  # the next item or part is made, not an error of the program
    """An item, or a whole part, is not kept; the message says why."""


def leave_out_if(is_unusable: bool, reason: str) -> None:
    """Raise `LeftOut` for a reason, if it applies."""
    if is_unusable:
        raise LeftOut(reason)


def check_question(question: str, answer: str, asked: set[str]) -> None:
    """Leave out a question that is empty, or that was asked before; from now on, it was."""
    leave_out_if(not normalise(question) or not normalise(answer), "empty")
    leave_out_if(normalise(question) in asked, "asked before")
    asked.add(normalise(question))


# --- prompts


ONE_LINE = AfterValidator(lambda text: " ".join(text.split()))
"""Drops line breaks, and spaces at the ends of a text or twice."""

LONGEST = {"name": 40, "phrase": 120, "sentence": 400, "paragraph": 2500}
"""Most characters of texts, in the schema alone: what a model without a grammar writes beyond is not refused."""

TYPES: Mapping[str, Any] = {"bool": bool, "int": int} | {
    name: Annotated[str, ONE_LINE, Field(json_schema_extra={"maxLength": most})] for name, most in LONGEST.items()
}


@dataclass(frozen=True, slots=True)
class Prompt:
    """An instruction, and the form of the reply to it."""

    text: str
    reply: type[StrictReply]

    def fill(self, data: Mapping[str, object]) -> str:
        """The data, a line each as JSON, then the instruction."""
        lines = (f"{name.replace('_', ' ').capitalize()}: {quoted(value)}" for name, value in data.items())
        return "\n".join(lines) + f"\n\n{self.text}"


def read_prompts(module: str) -> dict[str, Prompt]:
    """The prompts beside a module's file, by name. Its text `form`, if any, replaces {form} in others."""
    file = read_table(module, "prompts.toml")
    form = file.pop("form", "")
    return {
        name: Prompt(each["text"].replace("{form}", form), _shape(name, each["reply"])) for name, each in file.items()
    }


def _shape(name: str, form: Mapping[str, Any]) -> type[StrictReply]:
    fields: dict[str, Any] = {field: _field(field, each) for field, each in form.items()}
    return create_model(name, __base__=StrictReply, **fields)


def _field(name: str, form: Any) -> tuple[Any, Any]:  # noqa: ANN401  # as TOML has it
    """The type of a form, and its limits."""
    if isinstance(form, Mapping):
        return _shape(name, form), ...
    if isinstance(form, list):
        item, most = form
        return GenericAlias(list, (_field(name, item)[0],)), Field(json_schema_extra={"maxItems": most})
    least, is_range, most = form.partition("..")
    return (int, Field(ge=int(least), le=int(most))) if is_range else (TYPES[form], ...)


# --- parts


Part = dict[str, Any]
"""A finished part as in its file: `replies` to it, what was `left_out` by step and reason, and what its recipe made."""

Item = TypeVar("Item")


@dataclass(slots=True)
class Generation:
    """One run that makes the parts of a benchmark in a folder, as far as it lacks them.

    The plan: the model's `name`, the `seed` of all draws, the lowest score from 0 to 10 that is kept, and `options` of
    the benchmark, such as how many questions are made of a memory.

    `make` may be called for several kinds of parts; all of them, and why some could not be made, are kept here.
    """

    folder: Path
    prompts: Mapping[str, Prompt]
    model: ChatModel
    watch: Watch
    name: str
    seed: int
    threshold: int
    options: dict[str, Any]
    parts: list[Part] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)

    def make(self, kind: str, items: Sequence[Item], make: "Callable[[Item, Writer], Part]") -> list[Part]:
        """Make a part of each item. Those that cannot be made are missing.

        Raises `MemoirError` if the folder was made by another plan, a part is damaged, or the model does not reply.
        """
        place, file = self.folder / f"{kind}s", self.folder / "generation.json"
        text = json.dumps({"model": self.name, "seed": self.seed, "threshold": self.threshold} | self.options)
        if file.exists() and (before := file.read_text("utf-8")) != text:
            raise MemoirError(f"{self.folder} was made with {before}, not with {text}. Name a new folder")
        place.mkdir(parents=True, exist_ok=True)
        self.write_text("generation.json", text)
        files = {number: place / f"{number}.json" for number in range(1, len(items) + 1)}
        made = {number: _read(file) for number, file in files.items() if file.exists()}
        for number, item in enumerate(items, start=1):
            if number in made:
                continue
            finished = [part for _, part in sorted(made.items())]
            writer = Writer(self, f"{kind} {number}", finished, place / f"{number}.replies")
            try:
                part = make(item, writer)
            except LeftOut as fault:
                self.failed.append(f"{writer.place}: {fault}{_in_brackets(writer.left_out)}")
            except ModelUnavailable as fault:
                raise MemoirError(
                    f"{writer.place}: {fault}. The {len(made)} finished are kept, and the replies to this one; run the "
                    "same command again to go on"
                ) from fault
            else:
                made[number] = {"replies": writer.replies, "left_out": dict(writer.left_out)} | part
                self.write(f"{kind}s/{number}.json", made[number])
            writer.file.unlink(missing_ok=True)
        parts = [part for _, part in sorted(made.items())]
        self.parts += parts
        return parts

    def write(self, name: str, value: object) -> None:
        """Write a file of the benchmark as JSON."""
        self.write_text(name, json.dumps(value, ensure_ascii=False, indent=1))

    def write_text(self, name: str, text: str) -> None:
        """Write a file of the benchmark."""
        write_atomically(self.folder / name, text.encode())

    def require(self, made: object, what: str) -> None:
        """Raise `MemoirError` with the reasons if nothing was made that can be asked."""
        if not made:
            raise MemoirError(f"no {what} was made{_in_brackets(self.left_out(), self.failed)}. Try a larger model")

    def left_out(self) -> Mapping[str, int]:
        """What was left out over all parts, the most frequent first."""
        return dict(sum((Counter(part["left_out"]) for part in self.parts), Counter[str]()).most_common())


def _read(file: Path) -> Part:
    try:
        return dict(json.loads(file.read_bytes()))
    except (ValueError, TypeError) as fault:
        raise MemoirError(f"{file} is damaged ({fault}). Delete it to make it again") from fault


def _in_brackets(left_out: Mapping[str, int], failed: Sequence[str] = ()) -> str:
    reasons = [*failed, *(f"{number} × {reason}" for reason, number in left_out.items())]
    return f" ({'; '.join(reasons)})" if reasons else ""


# --- how a part is made


@dataclass(slots=True)
class Writer:
    """Asks the model for a part such as "persona 3"; counts what each step leaves out.

    `finished` are the other parts of its kind. Usable replies are added to a `file` of JSON lines. Of a part that was
    interrupted, the file answers what was asked before, so that only the rest is asked of the model. `replies` is their
    number, old and new.
    """

    generation: Generation
    part: str
    finished: Sequence[Part]
    file: Path
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
        self.generation.watch(self.place, 0, 1)

    def each(self, step: str, items: Sequence[Item]) -> Iterator[Item]:
        """Yield the items of a step, and report how many of them are done."""
        self.step = step
        for done, item in enumerate(items):
            self.generation.watch(self.place, done, len(items))
            yield item
        self.generation.watch(self.place, len(items), len(items))

    def ask(self, name: str, **data: object) -> Any:  # noqa: ANN401  # of the form that the prompt says
        """Return the reply about the data to the prompt of a name, with the fields of its form.

        Raises:
            LeftOut: two replies do not have the form, or there is none.
            ModelUnavailable: the model may reply another time.
        """
        prompt = self.generation.prompts[name]
        text = prompt.fill(data)
        asked = sha256(text.encode()).hexdigest()
        if self._kept[asked]:
            self.replies += 1
            return prompt.reply.model_validate(self._kept[asked].pop(0))
        replies: list[Completion] = []
        request = ask_for_json(self.generation.model, [("human", text)], prompt.reply, replies, max_tokens=MAX_TOKENS)
        try:
            reply = asyncio.run(request)
        except ModelUnavailable:
            raise
        except (UnusableReply, ModelFailed) as fault:
            raise LeftOut("unusable reply") from fault
        finally:
            self.replies += len(replies)
        with self.file.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"asked": asked, "reply": reply.model_dump()}, ensure_ascii=False) + "\n")
        return reply

    def require(self, name: str, missing: str, **data: object) -> Any:  # noqa: ANN401  # as `ask`
        """Return a reply that the part cannot do without; `missing` begins the message if there is none."""
        try:
            return self.ask(name, **data)
        except LeftOut as fault:
            raise LeftOut(f"{missing}{fault.__cause__}") from fault

    def score(self, name: str, too_low: str, **data: object) -> int:
        """Return the score from 0 to 10 that the model gives by the prompt of a name.

        Raises `LeftOut` if it is below the threshold, for the reason `too_low`, or there is no usable reply.
        """
        score = int(self.ask(name, **data).score)
        leave_out_if(score < self.generation.threshold, too_low)
        return score

    @contextmanager
    def leave_out(self, note: Callable[[str], None] = lambda reason: None) -> Iterator[None]:
        """Count an item that is left out within, `note` the reason, and go on after it."""
        try:
            yield
        except LeftOut as fault:
            self.left_out[f"{self.step}: {fault}"] += 1
            note(str(fault))
