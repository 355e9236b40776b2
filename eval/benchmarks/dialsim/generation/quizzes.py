"""Questions of fan quizzes, and in which sessions they can be answered (section 3.1.2, appendix C)."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from eval.benchmarks.dialsim.generation.scenes import Scene, Show
from eval.making.parts import GenerationStopped, Part
from eval.making.writer import LeftOut, Writer, bound
from graph.models.json_replies import StrictReply
from graph.understanding.sentences import shorten


class Quiz(BaseModel):
    """A quiz question about an episode, with four choices, one of them the answer."""

    episode: str
    question: str = Field(min_length=1)
    options: list[str] = Field(min_length=2)
    answer: str


class Evidence(StrictReply):
    """Where an episode answers a quiz question (appendix C)."""

    answerable: bool
    scenes: Annotated[list[int], bound(maxItems=20)]
    needs_all: bool


class QuizEvidence(Part):
    """The numbers of the scenes that answer a question, and whether all of them are needed; none, if it is left out."""

    scenes: list[int]
    needs_all: bool = False


def read_quizzes(file: Path, show: Show) -> list[Quiz]:
    """Read a JSON list of quiz questions.

    Raises:
        GenerationStopped: it is no such list, or a question's episode or answer is not there.
    """
    try:
        found = TypeAdapter(list[Quiz]).validate_json(file.read_bytes())
    except (OSError, ValidationError) as fault:
        why = fault.errors()[0] if isinstance(fault, ValidationError) else {"loc": (), "msg": str(fault)}
        place = ", ".join(map(str, why["loc"]))
        raise GenerationStopped(
            f'{file}{f", item {place}" if place else ""}: {why["msg"]}. Expected [{{"episode": "...", "question": '
            '"...", "options": ["...", ...], "answer": "one of them"}]'
        ) from fault
    episodes = {scene.episode for scene in show.scenes}
    for number, quiz in enumerate(found):
        if quiz.episode not in episodes:
            known = ", ".join(sorted(episodes))
            raise GenerationStopped(f"{file}, item {number}: there is no episode {quiz.episode!r}; there are {known}")
        if quiz.answer not in quiz.options:
            raise GenerationStopped(f"{file}, item {number}: the answer is not among the options")
    return found


def find_evidence(quiz: Quiz, show: Show, writer: Writer) -> QuizEvidence:
    """Ask which scenes of the episode answer a question."""
    writer.begin("evidence")
    scenes = {scene.number: scene for scene in show.scenes if scene.episode == quiz.episode}
    text = "\n\n".join(f"Scene {number}\n{scene.script}" for number, scene in sorted(scenes.items()))
    with writer.leave_out():
        reply = writer.ask(Evidence, scenes=text, question=quiz.question, answer=quiz.answer)
        named = sorted(set(reply.scenes) & set(scenes))
        if not reply.answerable or not named:
            raise LeftOut(f"“{shorten(quiz.question, 80)}” is not answered by its episode")
        return QuizEvidence(scenes=named, needs_all=reply.needs_all and len(named) > 1)
    return QuizEvidence(scenes=[])


def answerability(evidence: Sequence[Scene], needs_all: bool, show: Show) -> Iterator[tuple[Scene, bool]]:
    """Yield the sessions in which a question is asked, and whether the main character can answer it there.

    They can after the first scene of evidence that they are in, or, if it takes all scenes, after the last, if they are
    in all. They cannot if they are in none. Where that is unclear it is not asked.
    """
    seen = [scene for scene in evidence if show.main in scene.speakers]
    if not evidence or (needs_all and 0 < len(seen) < len(evidence)):
        return
    times = [scene.time for scene in seen]
    after = (max if needs_all else min)(times) if times else None
    yield from ((scene, bool(seen)) for scene in show.sessions if after is None or scene.time > after)


def dated(question: str, evidence: Sequence[Scene]) -> str:
    """The question with the latest day of its evidence, so that it takes long-term memory."""
    day = max(evidence, key=lambda scene: scene.date).day
    return f"{question.rstrip(' ?.')} on {day}?"
