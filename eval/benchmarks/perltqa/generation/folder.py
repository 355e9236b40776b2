"""Make the two files of a benchmark of personas, as the adapter reads them.

OUT/perltmem_generated.json    the banks of all personas
OUT/perltqa_generated.json     their questions
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.benchmarks.perltqa.adapter import BANK, QUESTIONS
from eval.benchmarks.perltqa.generation.bank import Bank, make_bank
from eval.benchmarks.perltqa.generation.questions import Questions, make_questions
from eval.benchmarks.perltqa.generation.seeds import draw_seed
from eval.making import parts
from eval.making.parts import Generated, Generation, Part, write_json
from eval.making.writer import Writer, read_prompts
from eval.types import Watch

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


@dataclass(frozen=True, slots=True)
class Plan(parts.Plan):
    """Events for each relationship, and questions for each memory."""

    events: int = 3
    questions: int = 3


class Persona(Part):
    """A persona's memories, and questions about them."""

    name: str
    bank: Bank
    questions: Questions


def generate(folder: Path, personas: int, plan: Plan, model: BaseChatModel, watch: Watch) -> Generated:
    """Make the personas that the folder lacks, then the benchmark's two files.

    Raises:
        GenerationStopped: the folder was made by another plan, the model does not reply, or no question was made.
    """

    def make(number: int, before: Sequence[Persona], writer: Writer) -> Persona:
        taken = [persona.name for persona in before]
        name, bank = make_bank(draw_seed(plan.seed, number), taken, plan.events, writer)
        return Persona(name=name, bank=bank, questions=make_questions(name, bank, plan.questions, writer))

    generation = Generation(folder, plan, read_prompts(__file__), model, watch)
    made = generation.make("persona", range(1, personas + 1), Persona, make)
    asked = [persona for persona in made if any(persona.questions.values())]
    if not asked:
        raise generation.nothing("question")
    write_json(folder / f"{BANK}_generated.json", {persona.name: persona.bank for persona in made})
    write_json(folder / f"{QUESTIONS}_generated.json", [{persona.name: persona.questions} for persona in asked])
    counts = {
        "personas": len(made),
        "memories": sum(len(section) for persona in made for section in persona.bank.values()),
        "questions": sum(_number(group) for persona in made for group in persona.questions.values()),
    }
    return generation.account(counts)


def _number(group: list[Any]) -> int:
    """The number of questions in a section, of which all but the profile group them by memory."""
    return sum(1 if "Question" in item else sum(map(len, item.values())) for item in group)
