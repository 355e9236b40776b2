"""Read what the scenes of a show say: relations, and where they answer the questions of fan quizzes.

The relations are a temporal knowledge graph (section 3.1.3, appendix D.1; quizzes: section 3.1.2, appendix C). A fact
holds from the day of the scene that states it. As LongDialQA's files do not say how long, one of `ONE_AT_A_TIME` holds
until another takes its place or ends it ("ex-wife" ends "wife"), and any other for good.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field, TypeAdapter, ValidationError

from eval.benchmarks.dialsim.generation.scenes import Scene, Show
from eval.making.generation import GenerationStopped, Part, Writer, leave_out_if
from eval.making.quads import Quad, folded
from eval.making.replies import Name, Phrase, bound
from graph.models.json_replies import StrictReply
from graph.understanding.sentences import shorten
from memory.search.tokens import FUNCTION_WORDS, words
from memory.types import Store

ATTRIBUTES = frozenset({"age", "date of birth", "hometown", "job", "major", "place of birth", "place of work"})
ONE_AT_A_TIME = frozenset(
    {"age", "boss", "boyfriend", "dating with", "fiance", "fiancee", "girlfriend", "husband", "job", "major"}
    | {"place of work", "wife"}
)
RELATIONS = (
    *("age", "alumni", "boss", "boyfriend", "brother", "client", "date of birth", "dating with", "ex-boyfriend"),
    *("ex-fiance", "ex-fiancee", "ex-girlfriend", "ex-husband", "ex-roommate", "ex-wife", "father", "fiance"),
    *("fiancee", "girlfriend", "hometown", "husband", "job", "major", "mother", "neighbor", "pet", "place of birth"),
    *("place of work", "roommate", "sister", "subordinate", "wife"),
)
"""All 32 of them (appendix D.1)."""


class Triple(StrictReply):
    """Somebody's relation to somebody or something."""

    head: Name
    relation: Annotated[Name, AfterValidator(str.lower)]
    tail: Phrase


class Triples(StrictReply):
    """The relations that a scene states (section 3.1.3)."""

    triples: Annotated[list[Triple], bound(maxItems=12)]


class SceneFacts(Part):
    """What one scene states."""

    facts: list[Triple]


def read_facts(scene: Scene, writer: Writer) -> SceneFacts:
    """Ask for the triples of a scene; those that it does not name, or that score low, are left out."""
    writer.begin("relations")
    data = {"day": scene.day, "scene": scene.script}
    facts = list[Triple]()
    with writer.leave_out():
        for fact in writer.ask(Triples, relations=list(RELATIONS), **data).triples:
            with writer.leave_out():
                _check(fact, scene, facts)
                writer.score("TripleScore", "scored too low", **data, triple=[fact.head, fact.relation, fact.tail])
                facts.append(fact)
    return SceneFacts(facts=facts)


def _check(fact: Triple, scene: Scene, others: Sequence[Triple]) -> None:
    """Refuse a fact that is none, that its scene does not name, or that is there already."""
    leave_out_if(fact.relation not in RELATIONS, "no relation of the paper")
    said = _as_words(scene.script)
    for name in (fact.head, fact.tail):
        is_named = not FUNCTION_WORDS.issuperset(words(name)) and _as_words(name) in said
        leave_out_if(not is_named, "not named in the scene")
    leave_out_if(folded(fact.head) == folded(fact.tail), "of itself")
    leave_out_if(fact in others, "the same twice")


def _as_words(text: str) -> str:
    """The words, without a possessive 's, with a space before and after each."""
    plain = " ".join(word.removesuffix("'s") for word in words(text))
    return f" {plain} "


def quads(sessions: Sequence[Scene], facts: Sequence[SceneFacts]) -> list[Quad]:
    """The facts of all sessions, from the day each is stated; their source is the session's place, from 0."""
    stated = [
        (scene, _quad(fact, scene, str(place)))
        for place, (scene, part) in enumerate(zip(sessions, facts, strict=True))
        for fact in part.facts
    ]

    def end(since: Scene, quad: Quad) -> datetime | None:
        later = (scene.date for scene, other in stated if scene.date > since.date and _ends(other, quad))
        return min(later, default=None)

    return [replace(quad, until=end(scene, quad)) for scene, quad in stated]


def _quad(fact: Triple, scene: Scene, place: str) -> Quad:
    store: Store = "profile" if fact.relation in ATTRIBUTES else "relationship"
    return Quad(fact.head, fact.relation, fact.tail, scene.date, None, place, scene.time, store, place)


def _ends(later: Quad, quad: Quad) -> bool:
    """Whether a later fact takes the place of a fact, or ends it."""
    is_same = folded(later.tail) == folded(quad.tail)
    if later.key == quad.key:
        return quad.relation in ONE_AT_A_TIME and not is_same
    return later.key == (quad.key[0], f"ex-{quad.relation}") and is_same


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
        quizzes = TypeAdapter(list[Quiz]).validate_json(file.read_bytes())
    except (OSError, ValidationError) as fault:
        why = fault.errors()[0] if isinstance(fault, ValidationError) else {"loc": (), "msg": str(fault)}
        place = ", ".join(map(str, why["loc"]))
        raise GenerationStopped(
            f'{file}{f", item {place}" if place else ""}: {why["msg"]}. Expected [{{"episode": "...", "question": '
            '"...", "options": ["...", ...], "answer": "one of them"}]'
        ) from fault
    episodes = {scene.episode for scene in show.scenes}
    for number, quiz in enumerate(quizzes):
        if quiz.episode not in episodes:
            known = ", ".join(sorted(episodes))
            raise GenerationStopped(f"{file}, item {number}: there is no episode {quiz.episode!r}; there are {known}")
        if quiz.answer not in quiz.options:
            raise GenerationStopped(f"{file}, item {number}: the answer is not among the options")
    return quizzes


def find_evidence(show: Show, quiz: Quiz, writer: Writer) -> QuizEvidence:
    """Ask which scenes of the episode answer a question."""
    writer.begin("evidence")
    scenes = {scene.number: scene for scene in show.scenes if scene.episode == quiz.episode}
    text = "\n\n".join(f"Scene {number}\n{scene.script}" for number, scene in sorted(scenes.items()))
    with writer.leave_out():
        reply = writer.ask(Evidence, scenes=text, question=quiz.question, answer=quiz.answer)
        named = sorted(set(reply.scenes) & set(scenes))
        is_answered = reply.answerable and named
        leave_out_if(not is_answered, f"“{shorten(quiz.question, 80)}” is not answered by its episode")
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
