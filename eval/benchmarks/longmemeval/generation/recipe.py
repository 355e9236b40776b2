"""Make users with questions about them, and the file of the questions with their evidence, as the adapter reads it.

OUT/longmemeval_oracle.json    the questions, each with its evidence sessions alone
OUT/doubtful.json              what was left out, with the reason, for a person to look at

Each user is invented for one attribute (section 3.2, appendix A.1). `attributes.json` has the paper's five categories
and as many attributes as it, 164, in our own wording and groups. Each answer is taken apart into dated statements
(appendix A.2). Those of knowledge updates and temporal reasoning have days of their own; the others are said on
different days shortly before the question, as the paper draws dates where they do not matter.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

from eval.benchmarks.longmemeval.generation import sessions
from eval.benchmarks.longmemeval.generation.sessions import Draft, Evidence, Kind, draw_moment, weekday_and_date
from eval.benchmarks.reading import short_digest
from eval.making.generation import Generation, Part, Writer, check_question, leave_out_if
from eval.metrics.answers import normalise
from memory.errors import MemoirError
from memory.search.tokens import words

FIRST_DAY, DAYS = date(2023, 1, 1), 365
"""When questions are asked."""

BRIEF = 30
"""A background has more words than this; 150 are asked for."""

RECENT = 10
"""Days before the question on which statements without a day of their own are said; more than a question has."""


ONTOLOGY = tuple(
    (category, group, name)
    for category, groups in json.loads(Path(__file__).with_name("attributes.json").read_text("utf-8")).items()
    for group, names in groups.items()
    for name in names
)
"""What may be asked about a user: belongings, among these animals, and among these "dogs"."""


def draw_attribute(seed: int, number: int) -> tuple[str, str, str]:
    """The attribute of that number, from 1, in an order that the seed shuffles; none comes twice."""
    return Random(seed).sample(ONTOLOGY, len(ONTOLOGY))[number - 1]


def generate(generation: Generation, attributes: int) -> dict[str, int]:
    """Make the users that the folder lacks, one for each attribute, then the files; return what these hold, by kind.

    Raises `MemoirError` if there are not so many attributes, the folder was made by another plan, the model does not
    reply, or no question was made.
    """
    if attributes > len(ONTOLOGY):
        raise MemoirError(f"there are {len(ONTOLOGY)} attributes, and {attributes} are asked for")
    users = generation.make("user", range(1, attributes + 1), _make_user)
    doubtful = [each for user in users for each in user["doubtful"]]
    generation.write("doubtful.json", doubtful)
    questions = [question for user in users for question in user["questions"]]
    generation.require(questions, "question")
    generation.write("longmemeval_oracle.json", questions)
    return {
        "users": len(users),
        "questions": len(questions),
        "evidence sessions": sum(len(question["haystack_sessions"]) for question in questions),
        "doubtful questions": len(doubtful),
    }


def _make_user(number: int, writer: Writer) -> Part:
    plan = writer.generation
    key, (category, group, attribute) = f"{plan.seed} {number}", draw_attribute(plan.seed, number)
    today = FIRST_DAY + timedelta(days=Random(key).randrange(DAYS))
    writer.begin("background")
    told = {"category": category, "group": group, "attribute": attribute}
    missing = f"no background for {attribute!r}: "
    background = str(writer.require("Background", missing, **told, today=weekday_and_date(today)).background)
    length = len(words(background))
    leave_out_if(length <= BRIEF, f"{missing}it has {length} words")
    maker = QuestionMaker(key, {"background": background, "today": weekday_and_date(today)}, today, writer)
    drafts = [draft for kind in sessions.KINDS for draft in maker.make_questions(kind, plan.options["questions"])]
    variant = maker.make_abstention(drafts)
    # What sessions of an attribute have in common in their names: `compile` does not mix them.
    family, records, places = short_digest(category, attribute), list[dict[str, Any]](), count(1)
    for draft in [*drafts, *([variant] if variant else [])]:
        mark = "_abs" if draft is variant else ""
        question_id = short_digest(plan.name, plan.seed, attribute, draft.kind.name, draft.question) + mark
        names = [f"answer_{family}{mark}_{next(places)}" for _ in draft.evidence]
        records.append(draft.as_record(question_id, names))
    made = {"attribute": attribute, "background": background}
    return made | {"questions": records, "doubtful": maker.doubtful}


@dataclass(slots=True)
class QuestionMaker:
    """Makes all questions about a user; every step is told what is `known`, `asked` and `doubtful` grow with each."""

    key: str
    known: dict[str, object]
    today: date
    writer: Writer
    asked: set[str] = field(default_factory=set)
    doubtful: list[dict[str, Any]] = field(default_factory=list)

    def make_questions(self, kind: Kind, most: int) -> Iterator[Draft]:
        """Yield up to `most` questions of a type that pass all checks."""
        self.writer.begin(kind.name)
        questions = []
        with self.writer.leave_out():
            questions = self.writer.ask(kind.questions, **self.known, number_of_questions=most).questions
        for number, each in enumerate(self.writer.each(kind.name, questions[:most])):
            draw = self._draw(kind.name, number)
            draft = Draft(kind, each.question, each.answer, draw_moment(self.today, draw))
            with self._leave_out(draft):
                self._check_wording(draft)
                draft.evidence = self._take_apart(draft, draw)
                statements = [f"{each.said_at:%Y-%m-%d}: {each.statement}" for each in draft.evidence]
                told = self.known | draft.prompt_data | {"statements": statements, "type": kind.name}
                self.writer.score("QuestionScore", "question below the threshold", **told)
                for evidence in draft.evidence:
                    sessions.write_session(draft, evidence, draw, self.writer)
                sessions.check_answer(draft, self.writer)
                yield draft

    def make_abstention(self, drafts: Sequence[Draft]) -> Draft | None:
        """Return a question with a false premise, made from one that can be answered; None if none passes the checks.

        The questions are tried in random order. The variant's sessions are those of its question, and no turn answers
        it. One for a user: with three questions of each type, these are 5 % of all (the paper: 30 of 500).
        """
        self.writer.begin("abstention")
        possible = [draft for draft in drafts if draft.kind.has_premise]
        for draft in self._draw("abstention").sample(possible, len(possible)):
            with self.writer.leave_out():
                said = [each.statement for each in draft.evidence]
                reply = self.writer.ask("FalsePremise", **draft.prompt_data, said=said)
                unmarked = [[turn | {"has_answer": False} for turn in each.turns] for each in draft.evidence]
                evidence = [replace(each, turns=turns) for each, turns in zip(draft.evidence, unmarked, strict=True)]
                variant = replace(draft, question=reply.question, answer=reply.answer, evidence=evidence)
                with self._leave_out(variant):
                    self._check_wording(variant)
                    leave_out_if(sessions.read(variant, evidence, self.writer) is not None, "the chats answer it")
                    told = variant.prompt_data | {"said": said}
                    self.writer.score("PremiseScore", "question below the threshold", **told)
                    return variant
        return None

    def _leave_out(self, draft: Draft) -> AbstractContextManager[None]:
        """Count a question that is not kept, and list it for a person."""
        return self.writer.leave_out(lambda reason: self.doubtful.append(draft.for_review(reason)))

    def _draw(self, *parts: object) -> Random:
        """Random choices that do not depend on what became of other questions."""
        return Random(f"{self.key} {parts}")

    def _check_wording(self, draft: Draft) -> None:
        check_question(draft.question, draft.answer, self.asked)
        # Questions over several statements may name what they compare.
        is_single = draft.kind.least == draft.kind.most
        leave_out_if(is_single and sessions.contains(draft.question, draft.answer), "the question contains its answer")

    def _take_apart(self, draft: Draft, draw: Random) -> list[Evidence]:
        """The dated statements from which the answer follows."""
        kind = draft.kind
        bounds = {"told_by": f"the {kind.speaker}", "at_least": kind.least, "at_most": kind.most}
        told = self.known | draft.prompt_data | bounds
        if kind.is_dated:
            dated = self.writer.ask("DatedStatements", **told).statements
            texts = [each.statement for each in dated]
            days = sessions.read_days([each.day for each in dated], self.today)
        else:
            texts = self.writer.ask("Statements", **told).statements
            ago = draw.sample(range(1, RECENT + 1), len(texts)) if len(texts) <= kind.most else []
            days = [self.today - timedelta(days=each) for each in ago]
        distinct = set(map(normalise, texts))
        leave_out_if(not kind.least <= len(texts) <= kind.most, "too few or too many statements")
        leave_out_if("" in distinct or len(distinct) < len(texts), "a statement is empty, or comes twice")
        leave_out_if(kind.is_update and days != sorted(days), "the update is dated before what it updates")
        if kind.is_quoted:
            leave_out_if(not sessions.contains(texts[0], draft.answer), "the answer is not in its statement")
        return [Evidence(text, draw_moment(day, draw)) for text, day in zip(texts, days, strict=True)]
