"""Make the file of questions with their evidence, as the adapter reads it.

OUT/longmemeval_oracle.json    the questions, each with its evidence sessions alone
OUT/doubtful.json              what was left out, with the reason, for a person to look at
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from eval.benchmarks.longmemeval.generation.attributes import ontology
from eval.benchmarks.longmemeval.generation.user import Plan, User, make_user
from eval.making.parts import Generated, GenerationStopped, make_parts, write_json
from eval.making.writer import Writer
from eval.types import Watch

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

QUESTIONS = "longmemeval_oracle.json"
DOUBTFUL = "doubtful.json"


def generate(folder: Path, attributes: int, plan: Plan, model: BaseChatModel, watch: Watch) -> Generated:
    """Make the users that the folder lacks, one for each attribute, then the files.

    Raises:
        GenerationStopped: there are not so many attributes, the folder was made by another plan, the model does not
            reply, or no question was made.
    """
    if attributes > len(ontology()):
        raise GenerationStopped(f"there are {len(ontology())} attributes, and {attributes} are asked for")

    def make(number: int, before: Sequence[User], writer: Writer) -> User:
        return make_user(plan, number, writer)

    made = make_parts(folder, "user", attributes, plan, User, make, model, watch)
    write_json(folder / DOUBTFUL, [each for user in made.parts for each in user.doubtful])
    questions = [question for user in made.parts for question in user.questions]
    if not questions:
        raise made.nothing("question")
    write_json(folder / QUESTIONS, questions)
    counts = {
        "users": len(made.parts),
        "questions": len(questions),
        "evidence sessions": sum(len(question["haystack_sessions"]) for question in questions),
        "doubtful questions": sum(len(user.doubtful) for user in made.parts),
    }
    return made.generated(counts)
