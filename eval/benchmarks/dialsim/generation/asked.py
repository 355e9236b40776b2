"""Put questions into the sessions of a show, in the layout of LongDialQA's files."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from eval.benchmarks.dialsim.generation.quizzes import Quiz, QuizEvidence, answerability, dated, evidence_of
from eval.benchmarks.dialsim.generation.scenes import Scene, Show
from eval.benchmarks.dialsim.probes import MOST_OF_A_TYPE
from eval.making.quads import Quad
from eval.making.questions import DONT_KNOW, MOMENT, questions
from eval.play.simulation.names import DEFAULT

GRAPH, FAN = "hard_q", "easy_q"

_TYPES = {"one-hop": "one-hop", "two-hop": "two-hop", "before known": "one-hop_fu", "not known": "one-hop_unans"}
"""Kinds of questions from a graph, as types that the adapter tells apart: "fu" and "unans" have no answer."""

_DATED, _UNDATED, _UNANSWERABLE = "ans_w_time", "ans_wo_time", "dont_know_unans"


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
        evidence = evidence_of(quiz, answered, show)
        for scene, is_answerable in answerability(evidence, answered.needs_all, show):
            question = _quiz_question(quiz, evidence, scene, is_answerable, places[scene])
            if question:
                of_type[question.place, question.kind].append(question)
    for (place, kind), all_of_type in sorted(of_type.items()):
        chosen = Random(f"{seed} {place} {kind}").sample(all_of_type, min(len(all_of_type), MOST_OF_A_TYPE))
        yield from sorted(chosen, key=lambda question: question.text)


def _quiz_question(
    quiz: Quiz, evidence: Sequence[Scene], scene: Scene, is_answerable: bool, place: int
) -> Question | None:
    is_later = scene.episode != quiz.episode
    if is_later and scene.time < max(each.time for each in evidence):
        return None
    options = [*(option for option in quiz.options if option != DONT_KNOW), DONT_KNOW]
    text = dated(quiz.question, evidence) if is_later else quiz.question
    if not is_answerable:
        return Question(place, FAN, _UNANSWERABLE, text, options, DONT_KNOW)
    days = list(dict.fromkeys(each.day for each in evidence))
    return Question(place, FAN, _DATED if is_later else _UNDATED, text, options, quiz.answer, days)


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
