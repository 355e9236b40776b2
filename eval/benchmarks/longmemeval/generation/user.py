"""Make a user's background for one attribute, and the questions about it (LongMemEval, section 3.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from random import Random
from typing import Any

from eval.benchmarks.longmemeval.generation.abstention import make_abstention
from eval.benchmarks.longmemeval.generation.attributes import Attribute, draw_attribute
from eval.benchmarks.longmemeval.generation.dating import draw_day
from eval.benchmarks.longmemeval.generation.draft import Draft
from eval.benchmarks.longmemeval.generation.kinds import KINDS
from eval.benchmarks.longmemeval.generation.question_prompts import Background
from eval.benchmarks.longmemeval.generation.questions import Asking, make_questions
from eval.making import parts
from eval.making.parts import NotMade, Part
from eval.making.prompting import one_line
from eval.making.writer import Writer
from memory.search.tokens import words

BRIEF = 30
"""A background has more words than this; 150 are asked for."""


@dataclass(frozen=True, slots=True)
class Plan(parts.Plan):
    """Questions of each type for an attribute."""

    questions: int = 1


class User(Part):
    """A user, the questions about them as in the file, and those that were left out, for a person to look at."""

    attribute: str
    background: str
    questions: list[dict[str, Any]]
    doubtful: list[dict[str, Any]]


def make_user(plan: Plan, number: int, writer: Writer) -> User:
    """Return the user of that number.

    Raises:
        NotMade: there is no background.
        Unreachable: the model does not reply.
    """
    attribute, key = draw_attribute(plan.seed, number), f"{plan.seed} {number}"
    today = draw_day(Random(key))
    asking = Asking(key, _background(attribute, today, writer), today, plan.threshold, writer)
    drafts = [draft for kind in KINDS for draft in make_questions(kind, plan.questions, asking)]
    variant = make_abstention(drafts, asking)
    records = list(_records(plan, attribute, drafts, variant))
    return User(attribute=attribute.name, background=asking.background, questions=records, doubtful=asking.doubtful)


def _background(attribute: Attribute, today: date, writer: Writer) -> str:
    writer.begin("background")
    told = {"category": attribute.category, "group": attribute.group, "attribute": attribute.name}
    reply = writer.ask(Background, **told, today=f"{today:%A, %Y-%m-%d}")
    if reply is None:
        raise NotMade(f"no background for {attribute.name!r}: {writer.last_fault}")
    background = one_line(reply.background)
    if len(words(background)) <= BRIEF:
        raise NotMade(f"no background for {attribute.name!r}: it has {len(words(background))} words")
    return background


def _records(
    plan: Plan, attribute: Attribute, drafts: Sequence[Draft], variant: Draft | None
) -> Iterator[dict[str, Any]]:
    """The questions with ids; sessions of an attribute have names of one family, which `compile` does not mix."""
    number = 0
    for draft in [*drafts, *([variant] if variant else [])]:
        mark = "_abs" if draft is variant else ""
        last = number + len(draft.sessions)
        names = [f"answer_{attribute.digest}{mark}_{n}" for n in range(number + 1, last + 1)]
        number = last
        made_of = "\0".join((plan.model, str(plan.seed), attribute.name, draft.kind.name, draft.question))
        yield draft.as_record(sha256(made_of.encode()).hexdigest()[:8] + mark, names)
