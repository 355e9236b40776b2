"""Make the files of a benchmark, one persona after another; what is finished is kept.

OUT/generation.json            how it is made: model, seed and bounds
OUT/personas/1.json            one persona, written whole: name, bank, questions, replies, what was left out
OUT/perltmem_generated.json    the banks and the questions of all personas, as the adapter reads them
OUT/perltqa_generated.json
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from eval.benchmarks.perltqa.adapter import BANK, QUESTIONS
from eval.benchmarks.perltqa.generation.bank import Bank, NoPersona, make_bank
from eval.benchmarks.perltqa.generation.questions import Questions, make_questions
from eval.benchmarks.perltqa.generation.seeds import draw_seed
from eval.benchmarks.perltqa.generation.writer import Writer
from eval.runs.run import write_atomically
from eval.types import Watch
from graph.models.faults import Unreachable
from memory.errors import MemoirError

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


class GenerationStopped(MemoirError):
    """The files cannot be made, or not to the end; the message says which persona and step, and what is kept."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The model's name, the seed of what is drawn, events for each relationship, questions for each memory, and the
    lowest score that is kept."""

    model: str
    seed: int = 0
    events: int = 3
    questions: int = 3
    threshold: int = 6


class Persona(BaseModel):
    """A finished persona, as its file has it."""

    name: str
    bank: Bank
    questions: Questions
    replies: int
    left_out: dict[str, int]


@dataclass(frozen=True, slots=True)
class Generated:
    """What the files hold, what was left out over all personas, and why some could not be made."""

    personas: int
    memories: int
    questions: int
    replies: int
    left_out: dict[str, int]
    failed: tuple[str, ...]


def generate(folder: Path, personas: int, plan: Plan, model: BaseChatModel, watch: Watch) -> Generated:
    """Make the personas that the folder lacks, then the benchmark's two files.

    Raises:
        GenerationStopped: the folder was made by another plan, the model does not reply, or no question was made.
    """
    _keep_plan(folder, plan)
    files = {number: folder / "personas" / f"{number}.json" for number in range(1, personas + 1)}
    made = {number: _read(file) for number, file in files.items() if file.exists()}
    failed = []
    for number, file in files.items():
        if number in made:
            continue
        writer = Writer(model, number, watch)
        try:
            made[number] = _make(plan, number, [persona.name for persona in made.values()], writer)
        except NoPersona as fault:
            failed.append(f"{writer.place}: {fault}")
            continue
        except Unreachable as fault:
            raise GenerationStopped(
                f"{writer.place}: {fault}. The {len(made)} finished are kept; run the same command again to go on"
            ) from fault
        write_atomically(file, made[number].model_dump_json(indent=1).encode())
    _write_benchmark(folder, [made[number] for number in sorted(made)], failed)
    return _count(made.values(), failed)


def _keep_plan(folder: Path, plan: Plan) -> None:
    """Remember how the folder is made; a folder made in another way is refused."""
    file, text = folder / "generation.json", json.dumps(asdict(plan))
    (folder / "personas").mkdir(parents=True, exist_ok=True)
    if file.exists() and (before := file.read_text("utf-8")) != text:
        raise GenerationStopped(f"{folder} was made with {before}, not with {text}. Name a new folder")
    write_atomically(file, text.encode())


def _make(plan: Plan, number: int, taken: list[str], writer: Writer) -> Persona:
    name, bank = make_bank(draw_seed(plan.seed, number), taken, plan.events, plan.threshold, writer)
    questions = make_questions(name, bank, plan.questions, plan.threshold, writer)
    return Persona(name=name, bank=bank, questions=questions, replies=writer.replies, left_out=writer.left_out)


def _read(file: Path) -> Persona:
    try:
        return Persona.model_validate_json(file.read_bytes())
    except ValidationError as fault:
        raise GenerationStopped(
            f"{file} is damaged ({fault.errors()[0]['msg']}). Delete it to make it again"
        ) from fault


def _write_benchmark(folder: Path, personas: list[Persona], failed: list[str]) -> None:
    asked = [persona for persona in personas if any(persona.questions.values())]
    if not asked:
        left_out = [f"{number} × {reason}" for reason, number in _count(personas, failed).left_out.items()]
        raise GenerationStopped(f"no question was made ({'; '.join([*failed, *left_out])}). Try a larger model")
    values: dict[str, Any] = {
        BANK: {persona.name: persona.bank for persona in personas},
        QUESTIONS: [{persona.name: persona.questions} for persona in asked],
    }
    for name, value in values.items():
        write_atomically(folder / f"{name}_generated.json", json.dumps(value, ensure_ascii=False, indent=1).encode())


def _count(personas: Iterable[Persona], failed: list[str]) -> Generated:
    made, left_out = list(personas), Counter[str]()
    for persona in made:
        left_out.update(persona.left_out)
    memories = sum(len(section) for persona in made for section in persona.bank.values())
    questions = sum(_number(group) for persona in made for group in persona.questions.values())
    replies = sum(persona.replies for persona in made)
    return Generated(len(made), memories, questions, replies, dict(left_out.most_common()), tuple(failed))


def _number(group: list[Any]) -> int:
    """The number of questions in a section, of which all but the profile group them by memory."""
    return sum(1 if "Question" in item else sum(map(len, item.values())) for item in group)
