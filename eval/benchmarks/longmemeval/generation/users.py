"""Make users with questions about them, and the file of the questions with their evidence, as the adapter reads it.

OUT/longmemeval_oracle.json    the questions, each with its evidence sessions alone
OUT/doubtful.json              what was left out, with the reason, for a person to look at

Each user is invented for one attribute (section 3.2, appendix A.1). `attributes.json` has the paper's five categories
and as many attributes as it, 164, in our own wording and groups.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from hashlib import sha256
from itertools import count
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from eval.benchmarks.longmemeval.generation.questions import Asking, make_abstention, make_questions
from eval.benchmarks.longmemeval.generation.sessions import KINDS, Draft, weekday_and_date
from eval.making import parts
from eval.making.parts import Generated, Generation, GenerationStopped, Part, write_json
from eval.making.writer import NotMade, Paragraph, Writer, one_line, read_prompts
from eval.types import Watch
from graph.models.json_replies import StrictReply
from memory.search.tokens import words

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

FIRST_DAY, DAYS = date(2023, 1, 1), 365
"""When questions are asked."""

BRIEF = 30
"""A background has more words than this; 150 are asked for."""


class Background(StrictReply):
    """What is known about a user in one respect."""

    background: Paragraph


@dataclass(frozen=True, slots=True)
class Attribute:
    """What is asked about a user: "dogs", of the belongings, in the group of animals."""

    category: str
    group: str
    name: str

    @property
    def digest(self) -> str:
        """What the ids of its sessions have in common: no filler of a question is about the question's attribute."""
        return sha256(f"{self.category}\0{self.name}".encode()).hexdigest()[:8]


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


def generate(folder: Path, attributes: int, plan: Plan, model: BaseChatModel, watch: Watch) -> Generated:
    """Make the users that the folder lacks, one for each attribute, then the files.

    Raises:
        GenerationStopped: there are not so many attributes, the folder was made by another plan, the model does not
            reply, or no question was made.
    """
    if attributes > len(ontology()):
        raise GenerationStopped(f"there are {len(ontology())} attributes, and {attributes} are asked for")
    generation = Generation(folder, plan, load_prompts(), model, watch)
    numbers = range(1, attributes + 1)
    users = generation.make("user", numbers, User, lambda number, _, writer: _make_user(plan, number, writer))
    doubtful = [each for user in users for each in user.doubtful]
    write_json(folder / "doubtful.json", doubtful)
    questions = [question for user in users for question in user.questions]
    if not questions:
        raise generation.nothing("question")
    write_json(folder / "longmemeval_oracle.json", questions)
    counts = {
        "users": len(users),
        "questions": len(questions),
        "evidence sessions": sum(len(question["haystack_sessions"]) for question in questions),
        "doubtful questions": len(doubtful),
    }
    return generation.account(counts)


def load_prompts() -> dict[str, str]:
    """The prompts by name; those for questions end in the same form."""
    texts = read_prompts(__file__)
    form = texts.pop("form")
    return {name: text.replace("{form}", form) for name, text in texts.items()}


def draw_attribute(seed: int, number: int) -> Attribute:
    """The attribute of that number, from 1, in an order that the seed shuffles; none comes twice."""
    return Random(seed).sample(ontology(), len(ontology()))[number - 1]


@cache
def ontology() -> tuple[Attribute, ...]:
    """All attributes."""
    categories = json.loads(Path(__file__).with_name("attributes.json").read_text("utf-8"))
    return tuple(
        Attribute(category, group, name)
        for category, groups in categories.items()
        for group, names in groups.items()
        for name in names
    )


def _make_user(plan: Plan, number: int, writer: Writer) -> User:
    attribute, key = draw_attribute(plan.seed, number), f"{plan.seed} {number}"
    today = FIRST_DAY + timedelta(days=Random(key).randrange(DAYS))
    asking = Asking(key, _background(attribute, today, writer), today, writer)
    drafts = [draft for kind in KINDS for draft in make_questions(kind, plan.questions, asking)]
    variant = make_abstention(drafts, asking)
    records = list(_records(plan, attribute, drafts, variant))
    return User(attribute=attribute.name, background=asking.background, questions=records, doubtful=asking.doubtful)


def _background(attribute: Attribute, today: date, writer: Writer) -> str:
    writer.begin("background")
    told = {"category": attribute.category, "group": attribute.group, "attribute": attribute.name}
    missing = f"no background for {attribute.name!r}: "
    background = one_line(writer.require(missing, Background, **told, today=weekday_and_date(today)).background)
    if len(words(background)) <= BRIEF:
        raise NotMade(f"{missing}it has {len(words(background))} words")
    return background


def _records(
    plan: Plan, attribute: Attribute, drafts: Sequence[Draft], variant: Draft | None
) -> Iterator[dict[str, Any]]:
    """The questions with ids; sessions of an attribute have names of one family, which `compile` does not mix."""
    number = count(1)
    for draft in [*drafts, *([variant] if variant else [])]:
        mark = "_abs" if draft is variant else ""
        names = [f"answer_{attribute.digest}{mark}_{next(number)}" for _ in draft.evidence]
        made_of = "\0".join((plan.model, str(plan.seed), attribute.name, draft.kind.name, draft.question))
        yield draft.as_record(sha256(made_of.encode()).hexdigest()[:8] + mark, names)
