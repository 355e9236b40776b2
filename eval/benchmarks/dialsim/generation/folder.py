"""Make the files of a show as LongDialQA has them.

OUT/<show>_dialsim.json       the scenes with the main character, each with its questions
OUT/<show>_oracle_tkg.json    the days of evidence of questions from the graph
OUT/<show>_oracle_fan.json    the days of evidence of questions from quizzes
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from eval.benchmarks.dialsim.generation.asked import GRAPH, Question, as_files, from_graph, from_quizzes
from eval.benchmarks.dialsim.generation.quizzes import QuizEvidence, find_evidence, read_quizzes
from eval.benchmarks.dialsim.generation.relations import SceneFacts, quads, read_facts
from eval.benchmarks.dialsim.generation.scenes import read_show
from eval.benchmarks.dialsim.generation.styles import Style, restyle
from eval.making.parts import Generated, Made, Part, make_parts, write_json
from eval.making.parts import Plan as AnyPlan
from eval.making.writer import Writer
from eval.types import Watch

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


@dataclass(frozen=True, slots=True)
class Plan(AnyPlan):
    """How the questions are made; `source` is the SHA-256 of the script and the quiz."""

    source: str = ""


def generate(
    folder: Path, script: Path, quiz: Path | None, plan: Plan, model: BaseChatModel, watch: Watch
) -> Generated:
    """Make what the folder lacks: facts of each session, evidence of each quiz question, styles; then the files.

    Raises:
        GenerationStopped: the script or the quiz cannot be read, the folder was made by another plan, the model does
            not reply, or no question was made.
    """
    show = read_show(script)
    quizzes = read_quizzes(quiz, show) if quiz else []
    source = json.dumps([asdict(scene) | {"speakers": 0} for scene in show.scenes], default=str)
    source += json.dumps([each.model_dump() for each in quizzes])
    plan = replace(plan, source=sha256(source.encode()).hexdigest())
    sessions = show.sessions

    def make_facts(number: int, before: Sequence[SceneFacts], writer: Writer) -> SceneFacts:
        return read_facts(sessions[number - 1], plan.threshold, writer)

    def make_evidence(number: int, before: Sequence[QuizEvidence], writer: Writer) -> QuizEvidence:
        return find_evidence(quizzes[number - 1], show, writer)

    def make_style(number: int, before: Sequence[Style], writer: Writer) -> Style:
        own = [question for question in asked if question.place == number - 1]
        return restyle(number - 1, own, show, plan.seed, plan.threshold, writer)

    facts = make_parts(folder, "session", len(sessions), plan, SceneFacts, make_facts, model, watch)
    found = make_parts(folder, "question", len(quizzes), plan, QuizEvidence, make_evidence, model, watch)
    asked = [
        *from_graph(show, quads(sessions, facts.parts), plan.seed),
        *from_quizzes(quizzes, found.parts, show, plan.seed),
    ]
    parts: list[Part] = [*facts.parts, *found.parts]
    if not asked:
        raise Made(parts, ()).nothing("question")
    styles = make_parts(folder, "style", len(sessions), plan, Style, make_style, model, watch)
    for question in asked:
        question.styles |= styles.parts[question.place].styles.get(question.text, {})
    data, days = as_files(show, asked)
    write_json(folder / f"{show.name}_dialsim.json", data)
    for part, each in days.items():
        write_json(folder / f"{show.name}_oracle_{part}.json", each)
    return Made([*parts, *styles.parts], ()).generated(_counts(asked, parts))


def _counts(asked: Sequence[Question], parts: Sequence[Part]) -> dict[str, int]:
    of_part = Counter(question.part for question in asked)
    return {
        "relations": sum(len(part.facts) for part in parts if isinstance(part, SceneFacts)),
        "questions from them": of_part[GRAPH],
        "questions from quizzes": len(asked) - of_part[GRAPH],
        "questions in a style": sum(bool(question.styles) for question in asked),
    }
