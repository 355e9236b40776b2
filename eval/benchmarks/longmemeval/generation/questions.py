"""Make questions of one type about a user, and take their answers apart into statements (LongMemEval, section 3.2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from random import Random
from typing import Any

from eval.benchmarks.longmemeval.generation.check_prompts import QuestionScore
from eval.benchmarks.longmemeval.generation.checks import check_answer
from eval.benchmarks.longmemeval.generation.dating import draw_moment, read_days, recent_days
from eval.benchmarks.longmemeval.generation.draft import UNUSABLE, Draft, LeftOut, Statement, need
from eval.benchmarks.longmemeval.generation.kinds import Kind
from eval.benchmarks.longmemeval.generation.question_prompts import DatedStatements, Statements
from eval.benchmarks.longmemeval.generation.sessions import add_session
from eval.making.prompting import one_line
from eval.making.writer import Writer
from eval.metrics.answers import normalise
from memory.search.tokens import content_terms, terms


@dataclass(slots=True)
class Asking:
    """What all questions about a user share; `asked` and `doubtful` grow with each."""

    key: str
    background: str
    today: date
    threshold: int
    writer: Writer
    asked: set[str] = field(default_factory=set)
    doubtful: list[dict[str, Any]] = field(default_factory=list)

    @property
    def known(self) -> dict[str, object]:
        """What every step is told."""
        return {"background": self.background, "today": f"{self.today:%A, %Y-%m-%d}"}

    def draw(self, *parts: object) -> Random:
        """Random choices that do not depend on what became of other questions."""
        return Random(f"{self.key} {parts}")

    def leave_out(self, draft: Draft, fault: LeftOut) -> None:
        """Count a question that is not kept, and list it for a person."""
        reason = str(fault)
        if reason != UNUSABLE:  # the writer has counted it
            self.writer.drop(reason)
        self.doubtful.append(draft.for_review(reason))


def make_questions(kind: Kind, most: int, asking: Asking) -> Iterator[Draft]:
    """Yield up to `most` questions of a type that pass all checks.

    Raises:
        Unreachable: the model does not reply.
    """
    writer = asking.writer
    writer.begin(kind.name)
    reply = writer.ask(kind.questions, **asking.known, number_of_questions=most)
    for number, each in enumerate(writer.each(kind.name, reply.questions[:most] if reply else [])):
        draw = asking.draw(kind.name, number)
        draft = Draft(kind, one_line(each.question), one_line(each.answer), draw_moment(asking.today, draw))
        try:
            check_wording(draft, asking.asked)
            asking.asked.add(normalise(draft.question))
            draft.statements = _state(draft, asking, draw)
            _score(draft, asking)
            for statement in draft.statements:
                add_session(draft, statement, asking.threshold, draw, writer)
            check_answer(draft, writer)
        except LeftOut as fault:
            asking.leave_out(draft, fault)
        else:
            yield draft


def check_wording(draft: Draft, asked: set[str]) -> None:
    """Refuse a question that is empty, was asked before, or contains its answer."""
    if not normalise(draft.question) or not normalise(draft.answer):
        raise LeftOut("empty")
    if normalise(draft.question) in asked:
        raise LeftOut("asked before")
    # Questions over several statements may name what they compare.
    if draft.kind.least == draft.kind.most and _contains(draft.question, draft.answer):
        raise LeftOut("the question contains its answer")


def _state(draft: Draft, asking: Asking, draw: Random) -> list[Statement]:
    kind = draft.kind
    told = asking.known | {
        "question": draft.question,
        "answer": draft.answer,
        "told_by": f"the {kind.speaker}",
        "at_least": kind.least,
        "at_most": kind.most,
    }
    if kind.is_dated:
        dated = need(asking.writer.ask(DatedStatements, **told)).statements
        texts = [one_line(each.statement) for each in dated]
        days = read_days([each.day for each in dated], asking.today)
    else:
        texts = [one_line(text) for text in need(asking.writer.ask(Statements, **told)).statements]
        days = recent_days(len(texts), asking.today, draw) if len(texts) <= kind.most else []
    if not kind.least <= len(texts) <= kind.most:
        raise LeftOut("too few or too many statements")
    if not all(map(normalise, texts)) or len(set(map(normalise, texts))) < len(texts):
        raise LeftOut("a statement is empty, or comes twice")
    if kind.is_update and days != sorted(days):
        raise LeftOut("the update is dated before what it updates")
    if kind.is_quoted and not _contains(texts[0], draft.answer):
        raise LeftOut("the answer is not in its statement")
    return [Statement(text, draw_moment(day, draw)) for text, day in zip(texts, days, strict=True)]


def _score(draft: Draft, asking: Asking) -> None:
    told = asking.known | {
        "question": draft.question,
        "answer": draft.answer,
        "statements": [f"{each.said_at:%Y-%m-%d}: {each.text}" for each in draft.statements],
        "type": draft.kind.name,
    }
    if need(asking.writer.ask(QuestionScore, **told)).score < asking.threshold:
        raise LeftOut("question below the threshold")


def _contains(text: str, answer: str) -> bool:
    """Whether a text has all terms of an answer."""
    return set(content_terms(answer)) <= set(terms(text))
