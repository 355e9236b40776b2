"""Make questions about a user, and take their answers apart into dated statements (LongMemEval, section 3.2, A.2).

Statements of knowledge updates and temporal reasoning have days of their own; the others are said on different days
shortly before the question, as the paper draws dates where they do not matter.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta
from random import Random
from typing import Annotated, Any

from eval.benchmarks.longmemeval.generation.sessions import (
    Draft,
    Evidence,
    Kind,
    check_answer,
    read,
    weekday_and_date,
    write_session,
)
from eval.making.writer import LeftOut, Phrase, Question, Sentence, Writer, bound, one_line
from eval.metrics.answers import normalise
from graph.models.json_replies import StrictReply
from memory.search.tokens import content_terms, terms

RECENT = 10
"""Days before the question on which statements without a day of their own are said; more than a question has."""

LONGEST = timedelta(days=366)
"""How long before its question a statement may be dated."""


class Questions(StrictReply):
    """Questions of one type about a user."""

    questions: Annotated[list[Question], bound(maxItems=6)]


class Statements(StrictReply):
    """What must have been said for an answer to follow."""

    statements: Annotated[list[Sentence], bound(maxItems=6)]


class DatedStatement(StrictReply):
    """A statement, and the day on which it was said, as 2023-05-24."""

    day: Phrase
    statement: Sentence


class DatedStatements(StrictReply):
    """What must have been said for an answer to follow, and when."""

    statements: Annotated[list[DatedStatement], bound(maxItems=6)]


@dataclass(slots=True)
class Asking:
    """What all questions about a user share; `asked` and `doubtful` grow with each."""

    key: str
    background: str
    today: date
    writer: Writer
    asked: set[str] = field(default_factory=set)
    doubtful: list[dict[str, Any]] = field(default_factory=list)

    @property
    def known(self) -> dict[str, object]:
        """What every step is told."""
        return {"background": self.background, "today": weekday_and_date(self.today)}

    def draw(self, *parts: object) -> Random:
        """Random choices that do not depend on what became of other questions."""
        return Random(f"{self.key} {parts}")

    def leave_out(self, draft: Draft, fault: LeftOut) -> None:
        """Count a question that is not kept, and list it for a person."""
        self.writer.drop(str(fault))
        self.doubtful.append(draft.for_review(str(fault)))


def make_questions(kind: Kind, most: int, asking: Asking) -> Iterator[Draft]:
    """Yield up to `most` questions of a type that pass all checks.

    Raises:
        Unreachable: the model does not reply.
    """
    writer, questions = asking.writer, list[Question]()
    writer.begin(kind.name)
    with writer.leave_out():
        reply = writer.ask(Questions, kind.questions, **asking.known, number_of_questions=most)
        questions = reply.questions[:most]
    for number, each in enumerate(writer.each(kind.name, questions)):
        draw = asking.draw(kind.name, number)
        draft = Draft(kind, one_line(each.question), one_line(each.answer), draw_moment(asking.today, draw))
        try:
            _check_wording(draft, asking.asked)
            asking.asked.add(normalise(draft.question))
            draft.evidence = _state(draft, asking, draw)
            statements = [f"{each.said_at:%Y-%m-%d}: {each.statement}" for each in draft.evidence]
            told = asking.known | draft.prompt_data | {"statements": statements, "type": kind.name}
            writer.score("QuestionScore", "question below the threshold", **told)
            for evidence in draft.evidence:
                write_session(draft, evidence, draw, writer)
            check_answer(draft, writer)
        except LeftOut as fault:
            asking.leave_out(draft, fault)
        else:
            yield draft


def make_abstention(drafts: Sequence[Draft], asking: Asking) -> Draft | None:
    """Return a question with a false premise, made from one that can be answered; None if none passes the checks.

    The questions are tried in random order. The variant's sessions are those of its question, and no turn answers it.
    One for a user: with three questions of each type, these are 5 % of all (the paper: 30 of 500).

    Raises:
        Unreachable: the model does not reply.
    """
    writer = asking.writer
    writer.begin("abstention")
    possible = [draft for draft in drafts if draft.kind.has_premise]
    for draft in asking.draw("abstention").sample(possible, len(possible)):
        with writer.leave_out():
            said = [each.statement for each in draft.evidence]
            reply = writer.ask(Question, "FalsePremise", **draft.prompt_data, said=said)
            unmarked = [[turn | {"has_answer": False} for turn in each.turns] for each in draft.evidence]
            evidence = [replace(each, turns=turns) for each, turns in zip(draft.evidence, unmarked, strict=True)]
            variant = replace(
                draft, question=one_line(reply.question), answer=one_line(reply.answer), evidence=evidence
            )
            try:
                _check_wording(variant, asking.asked)
                if read(variant, evidence, writer) is not None:
                    raise LeftOut("the chats answer it")
                writer.score("PremiseScore", "question below the threshold", **variant.prompt_data, said=said)
            except LeftOut as fault:
                asking.leave_out(variant, fault)
            else:
                return variant
    return None


def _check_wording(draft: Draft, asked: set[str]) -> None:
    """Refuse a question that is empty, was asked before, or contains its answer."""
    if not normalise(draft.question) or not normalise(draft.answer):
        raise LeftOut("empty")
    if normalise(draft.question) in asked:
        raise LeftOut("asked before")
    # Questions over several statements may name what they compare.
    if draft.kind.least == draft.kind.most and _contains(draft.question, draft.answer):
        raise LeftOut("the question contains its answer")


def _state(draft: Draft, asking: Asking, draw: Random) -> list[Evidence]:
    kind = draft.kind
    bounds = {"told_by": f"the {kind.speaker}", "at_least": kind.least, "at_most": kind.most}
    told = asking.known | draft.prompt_data | bounds
    if kind.is_dated:
        dated = asking.writer.ask(DatedStatements, **told).statements
        texts = [one_line(each.statement) for each in dated]
        days = read_days([each.day for each in dated], asking.today)
    else:
        texts = [one_line(text) for text in asking.writer.ask(Statements, **told).statements]
        ago = draw.sample(range(1, RECENT + 1), len(texts)) if len(texts) <= kind.most else []
        days = [asking.today - timedelta(days=each) for each in ago]
    if not kind.least <= len(texts) <= kind.most:
        raise LeftOut("too few or too many statements")
    if not all(map(normalise, texts)) or len(set(map(normalise, texts))) < len(texts):
        raise LeftOut("a statement is empty, or comes twice")
    if kind.is_update and days != sorted(days):
        raise LeftOut("the update is dated before what it updates")
    if kind.is_quoted and not _contains(texts[0], draft.answer):
        raise LeftOut("the answer is not in its statement")
    return [Evidence(text, draw_moment(day, draw)) for text, day in zip(texts, days, strict=True)]


def _contains(text: str, answer: str) -> bool:
    """Whether a text has all terms of an answer."""
    return set(content_terms(answer)) <= set(terms(text))


def draw_moment(day: date, draw: Random) -> datetime:
    """A moment of a day when people are awake."""
    return datetime.combine(day, time(draw.randint(7, 22), draw.randrange(60)))


def read_days(texts: Sequence[str], today: date) -> list[date]:
    """The days that a model gave.

    Raises:
        LeftOut: one cannot be read, is not in the year before today, or comes twice.
    """
    days = [day for text in texts if (day := parse_day(text))]
    if len(days) < len(texts):
        raise LeftOut("a day that cannot be read")
    if not all(today - LONGEST <= day < today for day in days):
        raise LeftOut("a day that is not in the year before the question")
    if len(set(days)) < len(days):
        raise LeftOut("two statements of one day")
    return days


def parse_day(text: str) -> date | None:
    """A day as YYYY-MM-DD; None if it is written in another way, or there is no such day."""
    try:
        day = date.fromisoformat(text.strip())
    except ValueError:
        return None
    return day if str(day) == text.strip() else None
