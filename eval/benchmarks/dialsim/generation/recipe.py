"""Make the questions of a show from its script and quizzes of its fans, and its files as LongDialQA has them.

OUT/<show>_dialsim.json       the scenes with the main character, each with its questions
OUT/<show>_oracle_tkg.json    the days of evidence of questions from the graph
OUT/<show>_oracle_fan.json    the days of evidence of questions from quizzes

The relations that scenes state are a temporal knowledge graph (section 3.1.3, appendix D.1). A fact holds from the day
of the scene that states it. As LongDialQA's files do not say how long, a relation that one has to one at a time holds
until another takes its place or ends it ("ex-wife" ends "wife"), and any other for good.

Quiz questions (section 3.1.2, appendix C) are asked as they are in their own episode, with their day in later ones.

Each question gets the style of one character of its session, drawn at random; anybody else asks it as it is (section
3.1.5, appendix E). The authors looked at samples; here names and numbers must be kept, and the model scores whether it
still asks the same. They begin every question with "By the way,", which is left to the model.
"""

import json
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any

from eval.benchmarks.dialsim.adapter import MOST_OF_A_TYPE
from eval.benchmarks.dialsim.generation.script import Quiz, Scene, Show, read_quizzes, read_show
from eval.making.generation import Generation, Part, Writer, leave_out_if
from eval.making.quads import Quad, folded
from eval.making.questions import DONT_KNOW, MOMENT, questions
from eval.play.simulation.names import DEFAULT
from graph.understanding.sentences import shorten
from memory import read_table
from memory.search.tokens import FUNCTION_WORDS, words

RELATIONS: Mapping[str, str] = read_table(__file__, "relations.toml")
"""What is known of all 32 of them (appendix D.1)."""

GRAPH, FAN = "hard_q", "easy_q"

_TYPES = {"one-hop": "one-hop", "two-hop": "two-hop", "before known": "one-hop_fu", "not known": "one-hop_unans"}
"""Kinds of questions from a graph, as types that the adapter tells apart: "fu" and "unans" have no answer."""

_DATED, _UNDATED, _UNANSWERABLE = "ans_w_time", "ans_wo_time", "dont_know_unans"

Styles = dict[str, dict[str, str]]
"""The questions of a session in the style of one who asks: {"Who came?": {"Mo": "Now, who came?"}}."""

MOST_LINES = 8
"""Lines of a character that show how they speak: the last ones up to a session."""

_MUST_STAY = re.compile(r"\b(?:[A-Z]\w*|\d+)")
"""Names, months and numbers: words with a capital letter, but for "who" and its like at the beginning."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question asked in the session at `place`: `part` and `kind` say where in the file, `evidence` are days."""

    place: int
    part: str
    kind: str
    text: str
    options: Sequence[str]
    answer: str
    evidence: Sequence[str] = ()


def generate(generation: Generation, script: Path, quiz: Path | None) -> dict[str, int]:
    """Make the facts of sessions, evidence and styles that the folder lacks; return what the files hold, by kind.

    Raises `MemoirError` if the script or the quiz cannot be read, the folder was made by another plan, the model does
    not reply, or no question was made.
    """
    show = read_show(script)
    quizzes = read_quizzes(quiz, show) if quiz else []
    sessions, seed = show.sessions, generation.seed
    source = json.dumps([asdict(scene) | {"speakers": 0} for scene in show.scenes], default=str)
    source += json.dumps([each.model_dump() for each in quizzes])
    generation.options = {"source": sha256(source.encode()).hexdigest()}
    stated = generation.make("session", sessions, _read_facts)
    found = generation.make("question", quizzes, partial(_find_evidence, show))
    asked = [*_from_graph(show, _quads(sessions, stated), seed), *_from_quizzes(quizzes, found, show, seed)]
    generation.require(asked, "question")
    made = generation.make("style", range(len(sessions)), partial(_make_styles, asked, show, seed))
    styles = [part["styles"] for part in made]
    for name, content in _files(show, asked, styles).items():
        generation.write(f"{show.name}_{name}.json", content)
    of_part = Counter(question.part for question in asked)
    return {
        "relations": sum(len(part["facts"]) for part in stated),
        "questions from them": of_part[GRAPH],
        "questions from quizzes": of_part[FAN],
        "questions in a style": sum(question.text in styles[question.place] for question in asked),
    }


def _files(show: Show, asked: Iterable[Question], styles: Sequence[Styles]) -> dict[str, dict[str, Any]]:
    """The show as LongDialQA has it, and its days of evidence by part, by the ends of their files' names."""
    data: dict[str, Any] = {}
    days: dict[str, dict[str, Any]] = {GRAPH: {}, FAN: {}}
    for scene in show.sessions:
        of_episode = data.setdefault(scene.episode, {})
        of_episode[str(scene.number)] = {"date": scene.day, "script": scene.script, GRAPH: {}, FAN: {}}
    for question in asked:
        scene = show.sessions[question.place]
        episode, number = scene.episode, str(scene.number)
        worded = {DEFAULT: question.text} | styles[question.place].get(question.text, {})
        item = {"questions": worded, "options": list(question.options), "answer": question.answer}
        data[episode][number][question.part].setdefault(question.kind, []).append(item)
        of_scene = days[question.part].setdefault(episode, {}).setdefault(number, {})
        of_scene.setdefault(question.kind, []).append(list(question.evidence))
    return {"dialsim": data, "oracle_tkg": days[GRAPH], "oracle_fan": days[FAN]}


# --- questions from what the scenes state


def _read_facts(scene: Scene, writer: Writer) -> Part:
    """Ask for the triples of a scene; those that it does not name, or that score low, are left out."""
    writer.begin("relations")
    data, facts = {"day": scene.day, "scene": scene.script}, list[dict[str, str]]()
    said = _as_words(scene.script)
    with writer.leave_out():
        for triple in writer.ask("Triples", relations=list(RELATIONS), **data).triples:
            fact = triple.model_dump() | {"relation": triple.relation.lower()}
            with writer.leave_out():
                leave_out_if(fact["relation"] not in RELATIONS, "no relation of the paper")
                for name in (fact["head"], fact["tail"]):
                    is_named = not FUNCTION_WORDS.issuperset(words(name)) and _as_words(name) in said
                    leave_out_if(not is_named, "not named in the scene")
                leave_out_if(folded(fact["head"]) == folded(fact["tail"]), "of itself")
                leave_out_if(fact in facts, "the same twice")
                writer.score("TripleScore", "scored too low", **data, triple=list(fact.values()))
                facts.append(fact)
    return {"facts": facts}


def _as_words(text: str) -> str:
    """The words, without a possessive 's, with a space before and after each."""
    plain = " ".join(word.removesuffix("'s") for word in words(text))
    return f" {plain} "


def _quads(sessions: Sequence[Scene], stated: Sequence[Part]) -> list[Quad]:
    """The facts of all sessions, from the day each is stated; their source is the session's place, from 0."""
    known = [
        Quad(
            **fact,
            since=scene.date,
            source=str(place),
            said=scene.time,
            store="profile" if "attribute" in RELATIONS[fact["relation"]] else "relationship",
            session=str(place),
        )
        for place, (scene, part) in enumerate(zip(sessions, stated, strict=True))
        for fact in part["facts"]
    ]
    # Sessions are in the order of time: the first that ends a fact is the first in the list.
    return [replace(quad, until=next((other.since for other in known if _ends(other, quad)), None)) for quad in known]


def _ends(other: Quad, quad: Quad) -> bool:
    """Whether another fact is later and takes the place of a fact, or ends it."""
    if not other.since or not quad.since or other.since <= quad.since:
        return False
    is_same = folded(other.tail) == folded(quad.tail)
    if other.key == quad.key:
        return "one at a time" in RELATIONS[quad.relation] and not is_same
    return other.key == (quad.key[0], f"ex-{quad.relation}") and is_same


def _from_graph(show: Show, known: Sequence[Quad], seed: int) -> Iterator[Question]:
    """Yield questions for each session from what is stated in all of them (section 3.1.3)."""
    sessions = show.sessions
    times = [scene.time for scene in sessions]
    asked = set[tuple[int, str]]()
    for place in range(len(sessions)):
        for probe in questions(known, seed + place, MOST_OF_A_TYPE, times[place] + MOMENT):
            # What is true now is asked at a moment up to this session: in the last one before it.
            where = bisect_right(times, probe.asked_at) - 1
            if where < 0 or (where, probe.question) in asked:
                continue
            asked.add((where, probe.question))
            days = [sessions[int(each)].day for each in probe.gold.sessions]
            kind, (answer, *_) = _TYPES[probe.ability], probe.gold.answers
            yield Question(where, GRAPH, kind, probe.question, probe.choices, answer, days)


# --- questions from quizzes


def _find_evidence(show: Show, quiz: Quiz, writer: Writer) -> Part:
    """Ask for the scenes of the episode that answer a question, and whether all are needed; none if it is left out."""
    writer.begin("evidence")
    scenes = {scene.number: scene for scene in show.scenes if scene.episode == quiz.episode}
    text = "\n\n".join(f"Scene {number}\n{scene.script}" for number, scene in sorted(scenes.items()))
    with writer.leave_out():
        reply = writer.ask("Evidence", scenes=text, question=quiz.question, answer=quiz.answer)
        named = sorted(set(reply.scenes) & set(scenes))
        is_answered = reply.answerable and named
        leave_out_if(not is_answered, f"“{shorten(quiz.question, 80)}” is not answered by its episode")
        return {"scenes": named, "needs_all": reply.needs_all and len(named) > 1}
    return {"scenes": [], "needs_all": False}


def _from_quizzes(quizzes: Sequence[Quiz], found: Sequence[Part], show: Show, seed: int) -> Iterator[Question]:
    """Yield the quiz questions of each session, at most so many of a type."""
    places = {scene: place for place, scene in enumerate(show.sessions)}
    of_type: defaultdict[tuple[int, str], list[Question]] = defaultdict(list)
    for quiz, answered in zip(quizzes, found, strict=True):
        evidence = [each for each in show.scenes if each.episode == quiz.episode and each.number in answered["scenes"]]
        for scene, is_answerable in answerability(evidence, answered["needs_all"], show):
            if scene.episode == quiz.episode or scene.time >= max(each.time for each in evidence):
                question = _quiz_question(quiz, evidence, scene, is_answerable, places[scene])
                of_type[question.place, question.kind].append(question)
    for (place, kind), all_of_type in sorted(of_type.items()):
        chosen = Random(f"{seed} {place} {kind}").sample(all_of_type, min(len(all_of_type), MOST_OF_A_TYPE))
        yield from sorted(chosen, key=lambda question: question.text)


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


def _quiz_question(quiz: Quiz, evidence: Sequence[Scene], scene: Scene, is_answerable: bool, place: int) -> Question:
    is_later = scene.episode != quiz.episode
    options = [*(option for option in quiz.options if option != DONT_KNOW), DONT_KNOW]
    text = dated(quiz.question, evidence) if is_later else quiz.question
    if not is_answerable:
        return Question(place, FAN, _UNANSWERABLE, text, options, DONT_KNOW)
    days = list(dict.fromkeys(each.day for each in evidence))
    return Question(place, FAN, _DATED if is_later else _UNDATED, text, options, quiz.answer, days)


def dated(question: str, evidence: Sequence[Scene]) -> str:
    """The question with the latest day of its evidence, so that it takes long-term memory."""
    day = max(evidence, key=lambda scene: scene.date).day
    return f"{question.rstrip(' ?.')} on {day}?"


# --- their styles


def _make_styles(asked: Sequence[Question], show: Show, seed: int, place: int, writer: Writer) -> Part:
    """Ask for each question of a session in a character's style, by its words; one without a style keeps its words."""
    others, styles = sorted(show.sessions[place].speakers - {show.main}), Styles()
    own = [question for question in asked if question.place == place] if others else []
    spoken = "\n".join(scene.script for scene in show.sessions[: place + 1]).splitlines()
    for question in writer.each("style", own):
        who = Random(f"{seed} {place} {question.text}").choice(others)
        with writer.leave_out():
            lines = [line.removeprefix(f"{who}: ") for line in spoken if line.startswith(f"{who}: ")][-MOST_LINES:]
            told = {"character": who, "lines": lines, "question": question.text}
            styled = writer.ask("Styled", **told).question
            leave_out_if(not keeps(question.text, styled), "a name or a number is lost")
            writer.score("StyleScore", "scored too low", question=question.text, the_same_in_a_style=styled)
            styles[question.text] = {who: styled}
    return {"styles": styles}


def keeps(question: str, styled: str) -> bool:
    """Whether a question in a style has all names and numbers of the question."""
    said = {word.casefold() for word in re.findall(r"\w+", styled)}
    found = [(match.start(), match[0].casefold()) for match in _MUST_STAY.finditer(question)]
    must_stay = {word for start, word in found if start or word not in FUNCTION_WORDS}
    return bool(styled) and must_stay <= said
