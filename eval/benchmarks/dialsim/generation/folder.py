"""Put questions into the sessions of a show, and make its files as LongDialQA has them.

OUT/<show>_dialsim.json       the scenes with the main character, each with its questions
OUT/<show>_oracle_tkg.json    the days of evidence of questions from the graph
OUT/<show>_oracle_fan.json    the days of evidence of questions from quizzes

Each question gets the style of one character of its session, drawn at random; anybody else asks it as it is (section
3.1.5, appendix E). The authors looked at samples; here names and numbers must be kept, and the model scores whether it
still asks the same. They begin every question with "By the way,", which is left to the model.
"""

import json
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from eval.benchmarks.dialsim.generation.evidence import (
    Quiz,
    QuizEvidence,
    SceneFacts,
    answerability,
    dated,
    find_evidence,
    quads,
    read_facts,
    read_quizzes,
)
from eval.benchmarks.dialsim.generation.scenes import Scene, Show, read_show
from eval.benchmarks.dialsim.probes import MOST_OF_A_TYPE
from eval.making.generation import Generated, Generation, GenerationPlan, Part, Writer, leave_out_if
from eval.making.quads import Quad
from eval.making.questions import DONT_KNOW, MOMENT, questions
from eval.making.replies import Sentence
from eval.play.simulation.names import DEFAULT
from graph.models.json_replies import StrictReply
from memory.search.tokens import FUNCTION_WORDS

GRAPH, FAN = "hard_q", "easy_q"

_TYPES = {"one-hop": "one-hop", "two-hop": "two-hop", "before known": "one-hop_fu", "not known": "one-hop_unans"}
"""Kinds of questions from a graph, as types that the adapter tells apart: "fu" and "unans" have no answer."""

_DATED, _UNDATED, _UNANSWERABLE = "ans_w_time", "ans_wo_time", "dont_know_unans"

MOST_LINES = 8
"""Lines of a character that show how they speak."""

_MUST_STAY = re.compile(r"\b(?:[A-Z]\w*|\d+)")
"""Names, months and numbers: words with a capital letter, but for "who" and its like at the beginning."""


@dataclass(slots=True)
class Question:
    """A question asked in the session at `place`: `part` and `kind` say where in the file, `evidence` are days."""

    place: int
    part: str
    kind: str
    text: str
    options: Sequence[str]
    answer: str
    evidence: Sequence[str] = ()
    styles: dict[str, str] = field(default_factory=dict)


class Styled(StrictReply):
    """A question in somebody's style."""

    question: Sentence


class Style(Part):
    """The styles of a session's questions: by the question's words, by who asks."""

    styles: dict[str, dict[str, str]]


def from_graph(show: Show, known: Sequence[Quad], seed: int, most: int = MOST_OF_A_TYPE) -> Iterator[Question]:
    """Yield at most `most` questions for each session from what is stated in all of them (section 3.1.3)."""
    sessions = show.sessions
    times = [scene.time for scene in sessions]
    asked = set[tuple[int, str]]()
    for place in range(len(sessions)):
        for probe in questions(known, seed + place, most, times[place] + MOMENT):
            # What is true now is asked at a moment up to this session: in the last one before it.
            where = bisect_right(times, probe.asked_at) - 1
            if where < 0 or (where, probe.question) in asked or probe.gold.choice is None:
                continue
            asked.add((where, probe.question))
            days = [sessions[int(each)].day for each in probe.gold.sessions]
            answer = probe.choices[probe.gold.choice]
            yield Question(where, GRAPH, _TYPES[probe.ability], probe.question, probe.choices, answer, days)


def from_quizzes(quizzes: Sequence[Quiz], found: Sequence[QuizEvidence], show: Show, seed: int) -> Iterator[Question]:
    """Yield the quiz questions of each session: as they are in their own episode, with their day in later ones."""
    places = {scene: place for place, scene in enumerate(show.sessions)}
    of_type: defaultdict[tuple[int, str], list[Question]] = defaultdict(list)
    for quiz, answered in zip(quizzes, found, strict=True):
        evidence = [each for each in show.scenes if each.episode == quiz.episode and each.number in answered.scenes]
        for scene, is_answerable in answerability(evidence, answered.needs_all, show):
            if scene.episode == quiz.episode or scene.time >= max(each.time for each in evidence):
                question = _quiz_question(quiz, evidence, scene, is_answerable, places[scene])
                of_type[question.place, question.kind].append(question)
    for (place, kind), all_of_type in sorted(of_type.items()):
        chosen = Random(f"{seed} {place} {kind}").sample(all_of_type, min(len(all_of_type), MOST_OF_A_TYPE))
        yield from sorted(chosen, key=lambda question: question.text)


def _quiz_question(quiz: Quiz, evidence: Sequence[Scene], scene: Scene, is_answerable: bool, place: int) -> Question:
    is_later = scene.episode != quiz.episode
    options = [*(option for option in quiz.options if option != DONT_KNOW), DONT_KNOW]
    text = dated(quiz.question, evidence) if is_later else quiz.question
    if not is_answerable:
        return Question(place, FAN, _UNANSWERABLE, text, options, DONT_KNOW)
    days = list(dict.fromkeys(each.day for each in evidence))
    return Question(place, FAN, _DATED if is_later else _UNDATED, text, options, quiz.answer, days)


def restyle(place: int, asked: Sequence[Question], show: Show, seed: int, writer: Writer) -> Style:
    """Ask for each question of a session in a character's style; a question without one keeps its words."""
    others = sorted(show.sessions[place].speakers - {show.main})
    part = Style(styles={})
    for question in writer.each("style", asked if others else ()):
        who = Random(f"{seed} {place} {question.text}").choice(others)
        with writer.leave_out():
            told = {"character": who, "lines": _lines(show, place, who), "question": question.text}
            styled = writer.ask(Styled, **told).question
            leave_out_if(not keeps(question.text, styled), "a name or a number is lost")
            writer.score("StyleScore", "scored too low", question=question.text, the_same_in_a_style=styled)
            part.styles[question.text] = {who: styled}
    return part


def keeps(question: str, styled: str) -> bool:
    """Whether a question in a style has all names and numbers of the question."""
    said = {word.casefold() for word in re.findall(r"\w+", styled)}
    found = [(match.start(), match[0].casefold()) for match in _MUST_STAY.finditer(question)]
    must_stay = {word for start, word in found if start or word not in FUNCTION_WORDS}
    return bool(styled) and must_stay <= said


def _lines(show: Show, place: int, who: str) -> list[str]:
    """The last lines of a character up to a session."""
    spoken = [
        line.removeprefix(f"{who}: ")
        for scene in show.sessions[: place + 1]
        for line in scene.script.splitlines()
        if line.startswith(f"{who}: ")
    ]
    return spoken[-MOST_LINES:]


def as_files(show: Show, asked: Iterable[Question]) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """The show as LongDialQA has it, and its days of evidence by part ("tkg", "fan")."""
    data: dict[str, Any] = {}
    days: dict[str, dict[str, Any]] = {"tkg": {}, "fan": {}}
    numbered = [(scene.episode, str(scene.number)) for scene in show.sessions]
    for scene, (episode, number) in zip(show.sessions, numbered, strict=True):
        data.setdefault(episode, {})[number] = {"date": scene.day, "script": scene.script, GRAPH: {}, FAN: {}}
    for question in asked:
        episode, number = numbered[question.place]
        worded = {"questions": {DEFAULT: question.text} | question.styles}
        item = worded | {"options": list(question.options), "answer": question.answer}
        data[episode][number][question.part].setdefault(question.kind, []).append(item)
        of_part = days["tkg" if question.part == GRAPH else "fan"].setdefault(episode, {}).setdefault(number, {})
        of_part.setdefault(question.kind, []).append(list(question.evidence))
    return data, days


@dataclass(frozen=True, slots=True)
class Plan(GenerationPlan):
    """How the questions are made; `source` is the SHA-256 of the script and the quiz."""

    source: str = ""


def generate(generation: Generation[Plan], script: Path, quiz: Path | None) -> Generated:
    """Make what the folder lacks: facts of each session, evidence of each quiz question, styles; then the files.

    Raises:
        GenerationStopped: the script or the quiz cannot be read, the folder was made by another plan, the model does
            not reply, or no question was made.
    """
    show = read_show(script)
    quizzes = read_quizzes(quiz, show) if quiz else []
    sessions, seed = show.sessions, generation.plan.seed
    generation.plan = replace(generation.plan, source=_digest(show, quizzes))
    facts = generation.make("session", sessions, SceneFacts, read_facts)
    found = generation.make("question", quizzes, QuizEvidence, partial(find_evidence, show))
    asked = [*from_graph(show, quads(sessions, facts), seed), *from_quizzes(quizzes, found, show, seed)]
    if not asked:
        raise generation.nothing("question")

    def make_style(place: int, writer: Writer) -> Style:
        return restyle(place, [question for question in asked if question.place == place], show, seed, writer)

    styles = generation.make("style", range(len(sessions)), Style, make_style)
    for question in asked:
        question.styles |= styles[question.place].styles.get(question.text, {})
    data, days = as_files(show, asked)
    generation.write(f"{show.name}_dialsim.json", data)
    for part, each in days.items():
        generation.write(f"{show.name}_oracle_{part}.json", each)
    of_part = Counter(question.part for question in asked)
    counts = {
        "relations": sum(len(part.facts) for part in facts),
        "questions from them": of_part[GRAPH],
        "questions from quizzes": of_part[FAN],
        "questions in a style": sum(bool(question.styles) for question in asked),
    }
    return generation.account(counts)


def _digest(show: Show, quizzes: Sequence[Quiz]) -> str:
    """The SHA-256 of a script and a quiz."""
    source = json.dumps([asdict(scene) | {"speakers": 0} for scene in show.scenes], default=str)
    return sha256((source + json.dumps([each.model_dump() for each in quizzes])).encode()).hexdigest()
