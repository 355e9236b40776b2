"""Make the files of a show as LongDialQA has them.

OUT/<show>_dialsim.json       the scenes with the main character, each with its questions
OUT/<show>_oracle_tkg.json    the days of evidence of questions from the graph
OUT/<show>_oracle_fan.json    the days of evidence of questions from quizzes
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from eval.benchmarks.dialsim.generation.questions import GRAPH, Style, as_files, from_graph, from_quizzes, restyle
from eval.benchmarks.dialsim.generation.quizzes import QuizEvidence, find_evidence, read_quizzes
from eval.benchmarks.dialsim.generation.relations import SceneFacts, quads, read_facts
from eval.benchmarks.dialsim.generation.scenes import read_show
from eval.making import parts
from eval.making.parts import Generated, Generation, write_json
from eval.making.writer import read_prompts
from eval.types import Watch

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


@dataclass(frozen=True, slots=True)
class Plan(parts.Plan):
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
    generation = Generation(folder, plan, read_prompts(__file__), model, watch)
    facts = generation.make("session", sessions, SceneFacts, lambda scene, _, writer: read_facts(scene, writer))
    found = generation.make(
        "question", quizzes, QuizEvidence, lambda quiz, _, writer: find_evidence(quiz, show, writer)
    )
    asked = [*from_graph(show, quads(sessions, facts), plan.seed), *from_quizzes(quizzes, found, show, plan.seed)]
    if not asked:
        raise generation.nothing("question")
    of_session = [[question for question in asked if question.place == place] for place in range(len(sessions))]
    styles = generation.make(
        "style",
        list(enumerate(of_session)),
        Style,
        lambda item, _, writer: restyle(*item, show, plan.seed, writer),
    )
    for question in asked:
        question.styles |= styles[question.place].styles.get(question.text, {})
    data, days = as_files(show, asked)
    write_json(folder / f"{show.name}_dialsim.json", data)
    for part, each in days.items():
        write_json(folder / f"{show.name}_oracle_{part}.json", each)
    of_part = Counter(question.part for question in asked)
    counts = {
        "relations": sum(len(part.facts) for part in facts),
        "questions from them": of_part[GRAPH],
        "questions from quizzes": len(asked) - of_part[GRAPH],
        "questions in a style": sum(bool(question.styles) for question in asked),
    }
    return generation.account(counts)
