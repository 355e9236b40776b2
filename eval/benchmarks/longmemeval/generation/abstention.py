"""Make a question with a false premise from one that can be answered (LongMemEval, section 3.2).

Its sessions are those of the question that it was made from, in which no turn answers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from eval.benchmarks.longmemeval.generation.check_prompts import PremiseScore
from eval.benchmarks.longmemeval.generation.checks import read
from eval.benchmarks.longmemeval.generation.draft import Draft, LeftOut, need
from eval.benchmarks.longmemeval.generation.question_prompts import FalsePremise
from eval.benchmarks.longmemeval.generation.questions import Asking, check_wording
from eval.making.prompting import one_line
from eval.metrics.answers import normalise

STEP = "abstention"


def make_abstention(drafts: Sequence[Draft], asking: Asking) -> Draft | None:
    """Return the first variant of a question that passes the checks, the questions in random order; None if none does.

    One for a user: with three questions of each type, these are 5 % of all (the paper: 30 of 500).

    Raises:
        Unreachable: the model does not reply.
    """
    writer = asking.writer
    writer.begin(STEP)
    possible = [draft for draft in drafts if draft.kind.has_premise]
    for draft in asking.draw(STEP).sample(possible, len(possible)):
        told = {"question": draft.question, "answer": draft.answer, "said": [each.text for each in draft.statements]}
        reply = writer.ask(FalsePremise, **told)
        if reply is None:
            continue
        sessions = [[turn | {"has_answer": False} for turn in session] for session in draft.sessions]
        question, answer = one_line(reply.question), one_line(reply.answer)
        variant = replace(draft, question=question, answer=answer, sessions=sessions)
        try:
            _check(variant, asking)
        except LeftOut as fault:
            asking.leave_out(variant, fault)
        else:
            asking.asked.add(normalise(variant.question))
            return variant
    return None


def _check(variant: Draft, asking: Asking) -> None:
    check_wording(variant, asking.asked)
    if read(variant, range(len(variant.sessions)), asking.writer) is not None:
        raise LeftOut("the chats answer it")
    said = [each.text for each in variant.statements]
    told = {"question": variant.question, "answer": variant.answer, "said": said}
    if need(asking.writer.ask(PremiseScore, **told)).score < asking.threshold:
        raise LeftOut("question below the threshold")
